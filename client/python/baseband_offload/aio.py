"""The client of a Baseband Offload server for asyncio."""

from __future__ import annotations

import asyncio
import time
from typing import Any, AsyncIterable, AsyncIterator, Callable, Iterable, Optional, Sequence, TypeVar, Union

import grpc
import numpy as np
import numpy.typing as npt

from . import _messages
from ._arrays import Array
from ._async_methods import AsyncMethods
from ._channels import SERVICE
from ._checks import check_many, check_positive, typed
from ._request import Request
from .client import Client
from .downconvert import Channel, Downconverted, Piece
from .errors import BasebandError, ResourceExhausted, make_error
from .minimize import Axis, Functional, Minimum, Progress, minimize_request
from .options import CallOptions, Tls
from .signal_stream import SignalStream
from .submit import Answer, SubmitStream, taken

T = TypeVar("T")
_DEFAULT = CallOptions()


class AsyncClient(AsyncMethods):
    """`Client` for asyncio: the same methods, awaited. Parameters and results are documented there.

    A call whose task is cancelled is cancelled at the server, too.

    Examples
    --------
    >>> import asyncio
    >>> import numpy as np
    >>> import baseband_offload as bo
    >>> async def main():
    ...     async with bo.AsyncClient(target) as client:
    ...         llrs = np.full((4, 648), 40, np.int8)
    ...         calls = [client.decode(llrs, bo.WifiCode("1/2", 648)) for _ in range(10)]
    ...         return sum(int(decoded.parity_ok.sum()) for decoded in await asyncio.gather(*calls))
    >>> asyncio.run(main())
    40
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
        self._client = Client(
            target,
            connections=connections,
            max_attempts=max_attempts,
            initial_backoff=initial_backoff,
            max_backoff=max_backoff,
            retry_buffer_bytes=retry_buffer_bytes,
            tls=tls,
            token=token,
        )
        self._calls = self._client._calls

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self) -> None:
        await asyncio.to_thread(self._client.close)

    @typed
    async def connect(self, timeout: float = 60.0) -> None:
        await asyncio.to_thread(self._client.connect, timeout)

    @typed
    async def call(self, request: Request[T], options: CallOptions = _DEFAULT) -> T:
        message = b"".join(request.parts())
        deadline = time.monotonic() + options.timeout
        attempts = 0
        while True:
            attempts += 1
            try:
                return request.result(await self._attempt(SERVICE + request.rpc, message, deadline, options))
            except BasebandError as failure:
                delay = self._calls.delay(failure, attempts, deadline)
                if delay is None:
                    raise
                may_be_away = bool(delay) and failure.retry_after is None
            await asyncio.sleep(delay)
            if may_be_away:  # as long again while it is
                left = min(delay, deadline - time.monotonic())
                await asyncio.to_thread(self._calls.channels.wait_for_any, left)

    async def _attempt(self, method: str, message: bytes, deadline: float, options: CallOptions) -> bytes:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def end() -> None:
            if not done.done():
                done.set_result(None)

        def tell(_: Any) -> None:  # on a thread of gRPC's
            try:
                loop.call_soon_threadsafe(end)
            except RuntimeError:
                pass  # the loop is closed: nobody waits

        channels = self._calls.channels
        channel = channels.acquire()
        left = max(0.0, deadline - time.monotonic())
        try:
            call = channel.method("unary_unary", method).future(
                message,
                timeout=left,
                metadata=channels.metadata(options, left, len(message)),
                wait_for_ready=options.wait_for_ready,
            )
            call.add_done_callback(tell)
            try:
                await done
            except asyncio.CancelledError:
                call.cancel()
                raise
            return call.result()  # type: ignore[no-any-return]
        except (grpc.RpcError, grpc.FutureCancelledError, ValueError) as error:
            raise channels.error(error) from None
        finally:
            channels.release(channel)

    # ---- streams and searches

    @typed
    async def downconvert_stream(
        self,
        pieces: Union[Iterable[Union[Array, Piece]], AsyncIterable[Union[Array, Piece]]],
        sample_rate_hz: float,
        channels: Sequence[Channel],
        *,
        scale: float = 0.0,
        max_in_flight: int = 4,
        timeout: Optional[float] = None,
        response_timeout: float = 60.0,
        priority: str = "normal",
        wait_for_ready: bool = False,
    ) -> AsyncIterator[Downconverted]:
        check_many("pieces", pieces, np.ndarray, Piece)
        call = CallOptions(wait_for_ready=wait_for_ready, priority=priority)
        stream = SignalStream(
            self._calls.channels, call, timeout, response_timeout, max_in_flight, sample_rate_hz, channels, scale
        )
        try:
            async for piece in _each(pieces):
                stream.write(piece)
                if stream.in_flight >= max_in_flight:
                    yield await asyncio.to_thread(stream.read)
            while stream.in_flight:
                yield await asyncio.to_thread(stream.read)
            await asyncio.to_thread(stream.finish)
        finally:
            stream.cancel()

    @typed
    async def minimize(
        self,
        functional: Functional,
        axes: Sequence[Axis],
        *,
        goal: str = "minimum",
        precision: str = "float64",
        method: str = "fast",
        nan_policy: str = "skip",
        top: int = 1,
        separation: Sequence[int] = (),
        profile_bins: int = 0,
        profile_axis: int = 0,
        refinement: str = "none",
        zoom_levels: int = 0,
        first_point: int = 0,
        num_points: int = 0,
        progress: Optional[Callable[[Progress], Optional[bool]]] = None,
        progress_interval: float = 0.25,
        options: CallOptions = _DEFAULT,
    ) -> Minimum:
        request = minimize_request(
            functional,
            axes,
            goal=goal,
            precision=precision,
            method=method,
            nan_policy=nan_policy,
            top=top,
            separation=separation,
            profile_bins=profile_bins,
            profile_axis=profile_axis,
            refinement=refinement,
            zoom_levels=zoom_levels,
            first_point=first_point,
            num_points=num_points,
            progress_interval=0.0 if progress is None else progress_interval,
        )
        steps = self.search(request, options)
        try:
            async for found in steps:
                if isinstance(found, Minimum):
                    return found
                if progress is not None and progress(found) is False:
                    raise make_error("CANCELLED", "progress returned False")
        finally:
            await steps.aclose()  # type: ignore[attr-defined]
        raise make_error("INTERNAL", "the server ended the search without an answer")

    @typed
    async def search(
        self, request: Request[Union[Progress, Minimum]], options: CallOptions = _DEFAULT
    ) -> AsyncIterator[Union[Progress, Minimum]]:
        steps = self._client._start_search(request, options)
        try:
            while (found := await asyncio.to_thread(steps.next)) is not None:
                yield found
        finally:
            steps.cancel()

    # ---- many in flight

    @typed
    async def submit(
        self,
        requests: Union[Iterable[Request[T]], AsyncIterable[Request[T]]],
        *,
        in_flight: int = 64,
        timeout: Optional[float] = None,
        priority: str = "normal",
        response_timeout: float = 60.0,
        wait_for_ready: bool = False,
    ) -> AsyncIterator[Answer[T]]:
        check_positive("in_flight", in_flight)
        check_many("requests", requests, Request)
        stream = self._client.open_submit_stream(
            response_timeout=response_timeout, wait_for_ready=wait_for_ready, priority=priority
        )
        done: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        due = index = 0
        try:
            async for request in _each(requests):
                while due >= in_flight or not done.empty():
                    yield taken(*await done.get())
                    due -= 1
                try:
                    future = await _submit(stream, request, timeout)
                except BasebandError as error:
                    yield Answer(index, error, None)
                else:
                    due += 1
                    future.add_done_callback(
                        lambda found, index=index: loop.call_soon_threadsafe(done.put_nowait, (index, found))
                    )
                index += 1
            while due:
                yield taken(*await done.get())
                due -= 1
            await asyncio.to_thread(stream.finish)
        finally:
            stream.cancel()

    # ---- the server

    @typed
    async def get_capabilities(self, options: CallOptions = _DEFAULT) -> dict[str, Any]:
        request = Request("GetCapabilities", b"", (), lambda answer: _messages.to_dict(answer.message))
        return await self.call(request, options)

    @typed
    async def constellation(self, name: str, options: CallOptions = _DEFAULT) -> npt.NDArray[np.complex64]:
        return await asyncio.to_thread(self._client.constellation, name, options)

    @typed
    async def check_health(self, service: str = "", options: CallOptions = _DEFAULT) -> str:
        return await asyncio.to_thread(self._client.check_health, service, options)


async def _each(items: Union[Iterable[T], AsyncIterable[T]]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


async def _submit(stream: SubmitStream, request: Request[Any], timeout: Optional[float]) -> Any:
    """Without a thread, unless credits have to be waited for."""
    try:
        return stream.submit(request, timeout=timeout, wait_for_credits=False)
    except ResourceExhausted:
        return await asyncio.to_thread(stream.submit, request, timeout=timeout)
