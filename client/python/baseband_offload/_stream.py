"""One call with messages in both directions, as bytes."""

from __future__ import annotations

import queue
import threading
from typing import Any, Callable, Iterator, Optional

import grpc

from ._channels import SERVICE, Channel, Channels
from .errors import BasebandError, make_error
from .options import CallOptions


class Stream:
    """Messages go out in the order of `write`, and come in on a thread of their own.

    `on_message` gets each one, `on_end` once how the call ended (None: OK), and nothing after it.
    """

    def __init__(
        self,
        channels: Channels,
        rpc: str,
        options: CallOptions,
        timeout: Optional[float],
        on_message: Callable[[bytes], None],
        on_end: Callable[[Optional[BasebandError]], None],
    ) -> None:
        self._channels = channels
        self._channel: Channel = channels.acquire()
        self._outgoing: queue.SimpleQueue[Optional[bytes]] = queue.SimpleQueue()
        self._on_message, self._on_end = on_message, on_end
        self._cancelled: Optional[BasebandError] = None
        try:
            self._call: Any = self._channel.method("stream_stream", SERVICE + rpc)(
                self._messages(),
                timeout=timeout,
                metadata=channels.metadata(options, timeout),
                wait_for_ready=options.wait_for_ready,
            )
        except ValueError as failure:
            channels.release(self._channel)
            raise channels.error(failure) from None
        self._reader = threading.Thread(target=self._read, name=f"baseband {rpc}", daemon=True)

    def start(self) -> None:
        """Apart from the constructor, so that its caller has `self` when the first message comes."""
        self._reader.start()

    def _messages(self) -> Iterator[bytes]:
        while (message := self._outgoing.get()) is not None:
            yield message

    def write(self, message: bytes) -> None:
        self._outgoing.put(message)

    def half_close(self) -> None:
        self._outgoing.put(None)

    def cancel(self, reason: BasebandError) -> None:
        """It ends with `reason`, unless it is over."""
        self._cancelled = self._cancelled or reason
        self._call.cancel()

    def _read(self) -> None:
        error: Optional[BasebandError] = None
        try:
            for message in self._call:
                self._on_message(message)
        except grpc.RpcError as failure:
            error = self._cancelled or self._channels.error(failure)
        except Exception as failure:  # of a message that cannot be read
            self._call.cancel()
            unread = failure if isinstance(failure, BasebandError) else None
            error = self._cancelled or unread or make_error("INTERNAL", f"the answer cannot be read: {failure!r}")
        self._outgoing.put(None)  # gRPC's thread for them ends
        self._channels.release(self._channel)
        self._on_end(error)
