"""How a unary call is made, and made again."""

from __future__ import annotations

import time
from typing import Optional, Sequence, Union, cast

import grpc

from ._arrays import Bytes
from ._channels import Channels
from .errors import BasebandError
from .options import CallOptions, ClientOptions


class Calls:
    """The connections of a client. Thread-safe."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self.channels = Channels(options)

    def unary(self, method: str, parts: Sequence[Bytes], options: CallOptions) -> bytes:
        """The bytes of the response, after as many attempts as it takes."""
        message = b"".join(parts)
        deadline = time.monotonic() + options.timeout
        attempts = 0
        while True:
            attempts += 1
            failure = self.attempt(method, message, deadline, options)
            if isinstance(failure, bytes):
                return failure
            delay = self.delay(failure, attempts, deadline)
            if delay is None:
                raise failure
            if delay:
                time.sleep(delay)
                if failure.retry_after is None:  # it may be away: as long again while it is
                    self.channels.wait_for_any(min(delay, deadline - time.monotonic()))

    def attempt(
        self, method: str, message: bytes, deadline: float, options: CallOptions
    ) -> Union[bytes, BasebandError]:
        channel = self.channels.acquire()
        left = max(0.0, deadline - time.monotonic())
        try:
            return cast(
                bytes,
                channel.method("unary_unary", method)(
                    message,
                    timeout=left,
                    metadata=self.channels.metadata(options, left, len(message)),
                    wait_for_ready=options.wait_for_ready,
                ),
            )
        except (grpc.RpcError, ValueError) as error:
            return self.channels.error(error)
        finally:
            self.channels.release(channel)

    def delay(self, failure: BasebandError, attempts: int, deadline: float) -> Optional[float]:
        """Seconds until the next attempt; None: there is none."""
        delay = self.options.retry_delay(failure, attempts)
        return delay if delay is not None and time.monotonic() + delay < deadline else None
