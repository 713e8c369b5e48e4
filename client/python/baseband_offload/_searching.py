"""The client's methods for searches."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Optional, Sequence, Union

import grpc

from ._calls import Calls
from ._channels import SERVICE, Channels
from ._checks import typed
from ._request import Request
from .errors import make_error
from .minimize import Axis, Functional, Minimum, Progress, minimize_request
from .options import CallOptions

_DEFAULT = CallOptions()


class Search:
    """A search that runs. `results` are read by one thread; `cancel` may come from another, and ends it."""

    def __init__(
        self, channels: Channels, request: Request[Union[Progress, Minimum]], options: CallOptions
    ) -> None:
        self._channels, self._request = channels, request
        self._channel = channels.acquire()
        self._is_cancelled = False
        message = b"".join(request.parts())
        try:
            self._call: Any = self._channel.method("unary_stream", SERVICE + "Minimize")(
                message,
                timeout=options.timeout,
                metadata=channels.metadata(options, options.timeout, len(message)),
                wait_for_ready=options.wait_for_ready,
            )
        except ValueError as error:
            channels.release(self._channel)
            raise channels.error(error) from None
        self.results = self._read()

    def _read(self) -> Iterator[Union[Progress, Minimum]]:
        try:
            for data in self._call:
                yield self._request.result(data)
        except grpc.RpcError as error:
            raise self._channels.error(error, self._is_cancelled) from None

    def next(self) -> Union[Progress, Minimum, None]:
        """The next of the results; None: that was the last one."""
        return next(self.results, None)

    def cancel(self) -> None:
        self._is_cancelled = True
        self._call.cancel()
        self._channels.release(self._channel)


class SearchMethods:
    """Of `Client`, which has the connections."""

    _calls: Calls

    @typed
    def minimize(
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
        """The least, or greatest, value of a functional on a grid.

        Parameters
        ----------
        functional : str, Expression, Schwefel, Sinusoids, Chirp or DelayDoppler
            A str is an Expression without scalars and arrays.
        axes : sequence of Axis
            1 .. 4; points are numbered with the last axis fastest.
        goal : {"minimum", "maximum"}
        precision : {"float64", "float32"}
            Of the grid; what is refined is always float64.
        method : {"fast", "hoisted", "literal"}
            How a functional of signals is evaluated.
        nan_policy : {"skip", "fail"}
            What a point without a value does; "fail" ends the search: OutOfRange.
        top : int
            So many of the best points, 1 .. 64, each outside the boxes of the better ones.
        separation : sequence of int
            Two points share a box if they are fewer steps apart on every axis; 1 each if empty.
        profile_bins, profile_axis : int
            The best value in each of so many parts of that axis; 0: no profile.
        refinement : {"none", "zoom", "parabola", "brent", "newton"}
            How the best point is moved off the grid.
        zoom_levels : int
            1 .. 16; 0: 3.
        first_point, num_points : int
            Search only these; 0 points: to the end.
        progress : callable, optional
            Called with a `Progress` now and then; where it returns False, the search is cancelled,
            and minimize raises Cancelled.
        progress_interval : float
            Seconds, 0.01 .. 60.
        options : CallOptions

        Returns
        -------
        Minimum

        Examples
        --------
        >>> import numpy as np
        >>> import baseband_offload as bo
        >>> client = bo.Client(target)
        >>> axes = [bo.Axis.linspace(-2, 2, 401, "x"), bo.Axis.linspace(-2, 2, 401, "y")]
        >>> found = client.minimize("(1 - x)^2 + 100 * (y - x^2)^2", axes, refinement="newton")
        >>> found.point.round(6)
        array([1., 1.])
        >>> n = np.arange(2000)
        >>> signal = np.cos(2 * np.pi * 0.0934 * n) + np.random.default_rng(1).standard_normal(n.size)
        >>> grid = [bo.Axis(0.09, 1e-5, 1001)]
        >>> found = client.minimize(bo.Sinusoids(signal, 1.0), grid, refinement="brent")
        >>> f"{found.point[0]:.4f}", found.deviation[0] < 2e-5
        ('0.0934', True)
        """
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
        for found in self.search(request, options):
            if isinstance(found, Minimum):
                return found
            if progress is not None and progress(found) is False:
                raise make_error("CANCELLED", "progress returned False")
        raise make_error("INTERNAL", "the server ended the search without an answer")

    @typed
    def search(
        self, request: Request[Union[Progress, Minimum]], options: CallOptions = _DEFAULT
    ) -> Iterator[Union[Progress, Minimum]]:
        """A search of `minimize_request`, step by step.

        Yields
        ------
        Progress or Minimum
            The last one is the answer. Leaving the loop cancels the search.

        Examples
        --------
        >>> import baseband_offload as bo
        >>> client = bo.Client(target)
        >>> axes = [bo.Axis.linspace(-500, 500, 1001)] * 3
        >>> request = bo.minimize_request(bo.Schwefel(), axes, progress_interval=0.01)
        >>> for found in client.search(request):
        ...     if isinstance(found, bo.Progress) and found.best and found.best.value < 2000:
        ...         break  # good enough
        """
        steps = self._start_search(request, options)
        try:
            yield from steps.results
        finally:
            steps.cancel()

    def _start_search(self, request: Request[Union[Progress, Minimum]], options: CallOptions) -> Search:
        return Search(self._calls.channels, request, options)
