"""The client of a Baseband Offload server."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Optional, Sequence, TypeVar, Union, cast

import numpy as np
import numpy.typing as npt

from . import _messages
from ._arrays import Array
from ._calls import Calls
from ._channels import SERVICE
from ._checks import check_many, check_positive, typed
from ._coding import CodingMethods
from ._request import Answer as _Answer
from ._request import Request, field_head
from ._searching import SearchMethods
from ._signals import SignalMethods
from .downconvert import Channel, Downconverted, Piece
from .options import CallOptions, ClientOptions, Tls
from .signal_stream import SignalStream
from .submit import Answer, SubmitStream, run

T = TypeVar("T")
_DEFAULT = CallOptions()


class Client(CodingMethods, SignalMethods, SearchMethods):
    """A client of one server, or of several. Thread-safe.

    It does not connect yet: calls do so by themselves. UNAVAILABLE is tried again, and of unary calls
    RESOURCE_EXHAUSTED with a pause, too; every call may be repeated without harm. Errors of arguments
    are TypeError and ValueError, all others a `BasebandError` with the server's code and text.

    Parameters
    ----------
    target : str
        One server: ``HOST:PORT``, ``unix:PATH``. Several: ``10.0.0.1:50151,10.0.0.2:50151``, or
        ``dns:///NAME:PORT`` for all addresses that NAME has: calls go in turn to those that say that
        they serve, further attempts to the next; a stream stays where it began.
    connections : int
        To each server, 1 .. 64; a call takes the one with the fewest calls in flight.
    max_attempts : int
        Per call, the first one included, 1 .. 5; 1 turns retries off.
    initial_backoff, max_backoff : float
        Seconds. The second attempt is made at once; the third after `initial_backoff`, each further
        one after twice the pause before, at most `max_backoff`, and as long again while there is no
        connection.
    retry_buffer_bytes : int
        A search that is larger is not tried again.
    tls : Tls, optional
        Without it in clear text. For TCP targets; a Unix socket needs none.
    token : str
        Goes with every call as ``authorization: Bearer TOKEN``. Only with TLS, to a Unix socket or to
        a literal loopback address.

    Examples
    --------
    >>> import baseband_offload as bo
    >>> with bo.Client(target, connections=1) as client:
    ...     client.check_health()
    'serving'
    """

    def __init__(
        self,
        target: str = "127.0.0.1:50151",
        *,
        connections: int = 4,
        max_attempts: int = 4,
        initial_backoff: float = 0.2,
        max_backoff: float = 2.0,
        retry_buffer_bytes: int = 256 << 20,
        tls: Optional[Tls] = None,
        token: str = "",
    ) -> None:
        self._calls = Calls(
            ClientOptions(
                target, connections, max_attempts, initial_backoff, max_backoff, retry_buffer_bytes, tls, token
            )
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends all connections; what is in flight is Cancelled, and so is every call made afterwards."""
        self._calls.channels.close()

    @typed
    def connect(self, timeout: float = 60.0) -> None:
        """Connects to a server, and waits for it: DeadlineExceeded after `timeout` seconds."""
        self._calls.channels.connect(timeout)

    # ---- operations

    @typed
    def call(self, request: Request[T], options: CallOptions = _DEFAULT) -> T:
        """Sends `request`, made by `encode_request` and so on, or by `join`, and waits for its result."""
        return request.result(self._calls.unary(SERVICE + request.rpc, request.parts(), options))

    @typed
    def downconvert_stream(
        self,
        pieces: Iterable[Union[Array, Piece]],
        sample_rate_hz: float,
        channels: Sequence[Channel],
        *,
        scale: float = 0.0,
        max_in_flight: int = 4,
        timeout: Optional[float] = None,
        response_timeout: float = 60.0,
        priority: str = "normal",
        wait_for_ready: bool = False,
    ) -> Iterator[Downconverted]:
        """Down-conversion of a signal without end: the server keeps what the filters need.

        Parameters
        ----------
        pieces : iterable of ndarray or Piece
            Samples as `downconvert` takes them, all of one dtype; read as the results are taken, up to
            `max_in_flight` ahead.
        sample_rate_hz, channels, scale
            As `downconvert` has them.
        max_in_flight : int
            Pieces on their way, 1 .. 64.
        timeout : float, optional
            Seconds for the whole stream.
        response_timeout : float
            The longest wait for a result that is due, seconds.
        priority, wait_for_ready
            As `CallOptions` has them.

        Yields
        ------
        Downconverted
            One for each piece, in order. Leaving the loop ends the stream. A stream that lost its
            server is Unavailable, for its past is gone: begin a new one at `next_sample`.

        Examples
        --------
        >>> import numpy as np
        >>> import baseband_offload as bo
        >>> client = bo.Client(target)
        >>> pieces = (np.zeros(1000, np.complex64) for _ in range(5))
        >>> channel = bo.Channel(1e6, down=10, pass_edge_hz=1e5)
        >>> [found.next_sample for found in client.downconvert_stream(pieces, 4e6, [channel])]
        [1000, 2000, 3000, 4000, 5000]
        """
        check_many("pieces", pieces, np.ndarray, Piece)
        options = CallOptions(wait_for_ready=wait_for_ready, priority=priority)
        stream = SignalStream(
            self._calls.channels, options, timeout, response_timeout, max_in_flight, sample_rate_hz, channels, scale
        )
        return _downconvert(stream, pieces)

    # ---- many in flight

    @typed
    def submit(
        self,
        requests: Iterable[Request[T]],
        *,
        in_flight: int = 64,
        timeout: Optional[float] = None,
        priority: str = "normal",
        response_timeout: float = 60.0,
        wait_for_ready: bool = False,
    ) -> Iterator[Answer[T]]:
        """Many requests on one stream; their answers as they come.

        Parameters
        ----------
        requests : iterable of Request
            Of any unary operations; read as the answers are taken.
        in_flight : int
            At a time, besides what the server allows.
        timeout : float, optional
            Seconds for each request.
        priority, response_timeout, wait_for_ready
            As `open_submit_stream` has them.

        Yields
        ------
        Answer
            Its `index` is the request's; its ``result()`` raises the error of one that has none, and
            the others go on. Leaving the loop cancels what is in flight.

        Examples
        --------
        >>> import numpy as np
        >>> import baseband_offload as bo
        >>> client = bo.Client(target)
        >>> code = bo.WifiCode("1/2", 648)
        >>> frames = [np.full((2, 648), 40, np.int8) for _ in range(100)]
        >>> answers = client.submit(bo.decode_request(llrs, code) for llrs in frames)
        >>> sum(answer.result().parity_ok.sum() for answer in answers)
        200
        """
        check_positive("in_flight", in_flight)
        check_many("requests", requests, Request)
        stream = self.open_submit_stream(
            response_timeout=response_timeout, wait_for_ready=wait_for_ready, priority=priority
        )
        return cast(Iterator[Answer[T]], run(stream, iter(requests), in_flight, timeout))

    @typed
    def open_submit_stream(
        self, *, response_timeout: float = 60.0, wait_for_ready: bool = False, priority: str = "normal"
    ) -> SubmitStream:
        """A stream to which requests are submitted one by one.

        Parameters
        ----------
        response_timeout : float
            The longest time without any response while some are due, seconds; then the requests go
            to another server, or are Unavailable.
        wait_for_ready : bool
            As `CallOptions` has it, within `response_timeout`.
        priority : {"normal", "high", "low"}
            Of requests that name none.
        """
        return SubmitStream(self._calls.channels, self._calls.options, response_timeout, wait_for_ready, priority)

    # ---- the server

    @typed
    def get_capabilities(self, options: CallOptions = _DEFAULT) -> dict[str, Any]:
        """What the server can do: the fields of GetCapabilitiesResponse by name.

        Examples
        --------
        >>> import baseband_offload as bo
        >>> bo.Client(target).get_capabilities()["devices"][0]["kind"]
        'cpu'
        """
        request = Request("GetCapabilities", b"", (), lambda answer: _messages.to_dict(answer.message))
        return request.result(self._calls.unary(SERVICE + request.rpc, [], options))

    @typed
    def constellation(self, name: str, options: CallOptions = _DEFAULT) -> npt.NDArray[np.complex64]:
        """The points of a constellation; a point's index is its label.

        Examples
        --------
        >>> import baseband_offload as bo
        >>> bo.Client(target).constellation("8PSK").size
        8
        """
        header = _messages.message("GetCapabilitiesRequest", points_of=[name]).SerializeToString()
        answer = _Answer("GetCapabilitiesResponse", self._calls.unary(SERVICE + "GetCapabilities", [header], options))
        return np.array(answer.message.carrier.points[0].points, np.float32).view(np.complex64)

    @typed
    def check_health(self, service: str = "", options: CallOptions = _DEFAULT) -> str:
        """"serving", "not_serving" or "unknown", of one service, or of the whole server."""
        name = service.encode()
        request = field_head(1, len(name)) + name if name else b""
        data = self._calls.unary("/grpc.health.v1.Health/Check", [request], options)
        return {b"\x08\x01": "serving", b"\x08\x02": "not_serving"}.get(bytes(data[:2]), "unknown")


def _downconvert(stream: SignalStream, pieces: Iterable[Union[Array, Piece]]) -> Iterator[Downconverted]:
    try:
        for piece in pieces:
            stream.write(piece)
            if stream.in_flight >= stream.max_in_flight:
                yield stream.read()
        while stream.in_flight:
            yield stream.read()
        stream.finish()
    finally:
        stream.cancel()
