"""A signal without end, on its way to the server and back."""

from __future__ import annotations

import queue
from typing import Any, Optional, Sequence, Union

from ._arrays import Array
from ._channels import Channels
from ._checks import check_positive, check_whole
from ._request import Request
from ._stream import Stream
from .downconvert import Channel, Downconverted, Piece, Setup
from .errors import BasebandError, make_error
from .options import CallOptions


class SignalStream:
    """One DownconvertStream call. At most one thread writes and one reads at a time.

    Results are taken from the connection as they come, whether anybody reads them or not: the server
    never waits for a slow reader here. `max_in_flight` bounds how many there are.
    """

    def __init__(
        self,
        channels: Channels,
        options: CallOptions,
        timeout: Optional[float],
        response_timeout: float,
        max_in_flight: int,
        sample_rate_hz: float,
        of_signal: Sequence[Channel],
        scale: float,
    ) -> None:
        check_whole("max_in_flight", max_in_flight, 1, 64)
        check_positive("timeout", timeout)
        check_positive("response_timeout", response_timeout)
        self.max_in_flight = max_in_flight
        self._channels, self._options, self._timeout = channels, options, timeout
        self._response_timeout = response_timeout
        self._signal = (sample_rate_hz, of_signal, scale)
        self._setup: Optional[Setup] = None
        self._stream: Optional[Stream] = None
        self._arrived: queue.SimpleQueue[Union[bytes, BasebandError, None]] = queue.SimpleQueue()
        self._sent: list[Request[Downconverted]] = []

    @property
    def in_flight(self) -> int:
        return len(self._sent)

    def write(self, piece: Union[Array, Piece]) -> None:
        """Sends a piece; does not wait."""
        samples, retunes, fields = (piece, (), {}) if not isinstance(piece, Piece) else _parts(piece)
        is_first = self._setup is None
        if self._setup is None:
            self._setup = Setup(samples, *self._signal)
        request = self._setup.request(samples, retunes, is_first, **fields)
        if self._stream is None:
            put = self._arrived.put
            self._stream = Stream(self._channels, "DownconvertStream", self._options, self._timeout, put, put)
            self._stream.start()
        self._stream.write(b"".join(request.parts()))
        self._sent.append(request)

    def read(self) -> Downconverted:
        """The result of the oldest piece without one; waits for it."""
        found = self._next()
        if isinstance(found, bytes):
            return self._sent.pop(0).result(found)
        raise found or make_error("INTERNAL", f"the server ended the stream before {self.in_flight} results")

    def _next(self) -> Union[bytes, BasebandError, None]:
        try:
            return self._arrived.get(timeout=self._response_timeout)
        except queue.Empty:
            error = make_error("DEADLINE_EXCEEDED", f"no response within {self._response_timeout:g} s")
            if self._stream is not None:
                self._stream.cancel(error)
            return error

    def finish(self) -> None:
        """Nothing more is written; waits for the end, and raises what it ended with."""
        if self._stream is None:
            return
        self._stream.half_close()
        end = self._next()
        if isinstance(end, BasebandError):
            raise end

    def cancel(self) -> None:
        if self._stream is not None:
            self._stream.cancel(make_error("CANCELLED"))


def _parts(piece: Piece) -> tuple[Array, Sequence[Any], dict[str, Any]]:
    fields = {} if piece.first_sample is None else {"first_sample": piece.first_sample}
    return piece.samples, piece.retunes, fields
