"""Minimize: the least or greatest value of a functional on a grid."""

from __future__ import annotations

import collections.abc
import dataclasses
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _messages
from ._arrays import Array, Bytes, as_bytes, checked
from ._checks import check_each, check_number, check_range, check_type, check_whole, typed
from ._request import Answer, Request, Timing


@typed
@dataclasses.dataclass(frozen=True)
class Axis:
    """``begin + i * step`` for i = 0 .. count - 1; `name` is the expression's variable, or x, y, z, w."""

    begin: float
    step: float
    count: int
    name: str = ""

    @staticmethod
    @typed
    def linspace(begin: float, end: float, count: int, name: str = "") -> Axis:
        """`count` >= 2 points from `begin` to `end`, both included."""
        check_whole("count", count, 2, 2**40)
        return Axis(begin, (end - begin) / (count - 1), count, name)


@typed
@dataclasses.dataclass(frozen=True, eq=False)
class Expression:
    """A formula: the contract has its language. `arrays` are float64, one-dimensional."""

    text: str
    scalars: Mapping[str, float] = dataclasses.field(default_factory=dict)
    arrays: Mapping[str, Array] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_type("scalars", self.scalars, collections.abc.Mapping, "a dict of numbers by their names")
        check_type("arrays", self.arrays, collections.abc.Mapping, "a dict of arrays by their names")
        for name, value in self.scalars.items():
            check_number(f"scalars[{name!r}]", value)

    def _field(self) -> tuple[str, Any, tuple[Bytes, ...]]:
        arrays = {name: _signal(name, array, "float64") for name, array in self.arrays.items()}
        message = _messages.message(
            "Expression",
            text=self.text,
            scalars=[_messages.message("NamedScalar", name=n, value=v) for n, v in self.scalars.items()],
            arrays=[_messages.message("NamedArray", name=n, size=a.size) for n, a in arrays.items()],
        )
        return "expression", message, tuple(as_bytes(array) for array in arrays.values())


@dataclasses.dataclass(frozen=True)
class Schwefel:
    """418.9828872724339 n - sum over the n axes of x sin(sqrt(|x|))."""

    def _field(self) -> tuple[str, Any, tuple[Bytes, ...]]:
        return "schwefel", _messages.message("SchwefelFunctional"), ()


@typed
@dataclasses.dataclass(frozen=True, eq=False)
class Sinusoids:
    """|y - H a|^2 at the best amplitudes a: a sinusoid for each axis, whose coordinate is its frequency in Hz.

    Parameters
    ----------
    y : ndarray of float64 or complex128
    sampling_interval_s : float
    fixed_columns : sequence of ndarray
        Further columns of H, in y's dtype; at most 8.
    """

    y: Array
    sampling_interval_s: float
    fixed_columns: Sequence[Array] = ()

    def __post_init__(self) -> None:
        check_type("fixed_columns", self.fixed_columns, collections.abc.Iterable, "a list of arrays")

    def _field(self) -> tuple[str, Any, tuple[Bytes, ...]]:
        y = _signal("y", self.y, "float64", "complex128")
        columns = [_signal("fixed_columns", column, str(y.dtype), size=y.size) for column in self.fixed_columns]
        message = _messages.message(
            "SinusoidsFunctional",
            num_samples=y.size,
            sampling_interval_s=self.sampling_interval_s,
            is_complex=y.dtype.kind == "c",
            fixed_columns=len(columns),
        )
        return "sinusoids", message, tuple(as_bytes(array) for array in (y, *columns))


@typed
@dataclasses.dataclass(frozen=True, eq=False)
class Chirp:
    """A chirp in the complex signal `y`. Axes: rate in Hz/s, frequency in Hz in the middle of the signal;
    or the rate of the rate in Hz/s^2 before them."""

    y: Array
    sampling_interval_s: float

    def _field(self) -> tuple[str, Any, tuple[Bytes, ...]]:
        y = _signal("y", self.y, "complex128")
        fields = {"num_samples": y.size, "sampling_interval_s": self.sampling_interval_s}
        return "chirp", _messages.message("ChirpFunctional", **fields), (as_bytes(y),)


@typed
@dataclasses.dataclass(frozen=True, eq=False)
class DelayDoppler:
    """The known signal `replica` in `y`. Axes: delay in s, Doppler shift in Hz."""

    y: Array
    replica: Array
    sampling_interval_s: float

    def _field(self) -> tuple[str, Any, tuple[Bytes, ...]]:
        y = _signal("y", self.y, "complex128")
        replica = _signal("replica", self.replica, "complex128", size=y.size)
        fields = {"num_samples": y.size, "sampling_interval_s": self.sampling_interval_s}
        return "delay_doppler", _messages.message("DelayDopplerFunctional", **fields), (as_bytes(y), as_bytes(replica))


Functional = Union[str, Expression, Schwefel, Sinusoids, Chirp, DelayDoppler]


@dataclasses.dataclass(frozen=True)
class GridPoint:
    """A point of the grid; `value` as the device computed it."""

    index: int
    coordinates: tuple[float, ...]
    value: float


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a search is; `best` is the best point so far, None if there is none yet."""

    points: int
    total_points: int
    best: Optional[GridPoint]
    elapsed_s: float


@dataclasses.dataclass(frozen=True)
class Minimum:
    """What came of a search.

    Attributes
    ----------
    point : ndarray of float64
        The best point: on the grid, or where its refinement has led. Empty: no point has a value.
    value : float
        There, in float64.
    at_edge : bool
        The grid's best point is an end of an axis: look beyond.
    curvature, deviation, point_error : ndarray of float64
        Of each axis: the second derivative at `point`, the Cramer-Rao bound of the coordinate's
        standard deviation, how far the minimum may be from `point`; empty where they are not known.
    top : list of GridPoint
        Best first.
    profile : ndarray of float64
        The best value in each part of the axis; NaN in parts without one.
    refinement_outcome : str
        "converged", "at_edge", "at_box", "out_of_rounds", "unresolved"; "unspecified": none was asked for.
    coarse_axes : list of int
        Axes whose step is too long: the grid may have missed a better well.
    evaluations, nan_points, first_nan : int
    elapsed_s : float
    timing : Timing
        Of the last piece of the grid.
    """

    point: npt.NDArray[np.float64]
    value: float
    at_edge: bool
    curvature: npt.NDArray[np.float64]
    deviation: npt.NDArray[np.float64]
    point_error: npt.NDArray[np.float64]
    top: list[GridPoint]
    profile: npt.NDArray[np.float64]
    refinement_outcome: str
    coarse_axes: list[int]
    evaluations: int
    nan_points: int
    first_nan: int
    elapsed_s: float
    timing: Timing


def _signal(name: str, value: Any, *dtypes: str, size: int = 0) -> Array:
    array = checked(name, value, *dtypes)
    if array.ndim != 1 or size not in (0, array.size):
        raise ValueError(f"{name} has shape {array.shape}, not ({size or 'samples'},)")
    return array


@typed
def minimize_request(
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
    progress_interval: float = 0.0,
) -> Request[Union[Progress, Minimum]]:
    """A request of `Client.minimize`; its results are those of one response."""
    check_each("axes", axes, Axis)
    check_whole("axes", len(axes), 1, 4)
    check_type("separation", separation, collections.abc.Iterable, "a list of whole numbers")
    if progress_interval:
        check_range("progress_interval", progress_interval, 0.01, 60)
    if isinstance(functional, str):
        functional = Expression(functional)
    field, message, payload = functional._field()
    header = _messages.message(
        "MinimizeRequest",
        axes=[_messages.message("GridAxis", **dataclasses.asdict(axis)) for axis in axes],
        goal=_messages.enum_number("goal", "SearchGoal", goal),
        precision=_messages.enum_number("precision", "SearchPrecision", precision),
        method=_messages.enum_number("method", "SearchMethod", method),
        nan_policy=_messages.enum_number("nan_policy", "NanPolicy", nan_policy),
        top=top,
        separation=list(separation),
        profile_bins=profile_bins,
        profile_axis=profile_axis,
        refinement=_messages.enum_number("refinement", "Refinement", refinement),
        zoom_levels=zoom_levels,
        first_point=first_point,
        num_points=num_points,
        progress_interval_ms=round(progress_interval * 1000),
        **{field: message},
    )
    return Request("Minimize", header.SerializeToString(), payload, _read, joinable=False)


def _point(found: Any) -> GridPoint:
    return GridPoint(found.index, tuple(found.coordinates), found.value)


def _read(answer: Answer) -> Union[Progress, Minimum]:
    message = answer.message
    if message.HasField("progress"):
        now = message.progress
        best = _point(now.best) if now.HasField("best") else None
        return Progress(now.points, now.total_points, best, now.elapsed_s)
    found = message.answer
    arrays = {n: np.array(getattr(found, n), np.float64) for n in ("curvature", "deviation", "point_error", "profile")}
    return Minimum(
        point=np.array(found.point, np.float64),
        value=found.value,
        at_edge=found.at_edge,
        top=[_point(point) for point in found.top],
        refinement_outcome=_messages.enum_name("RefinementOutcome", found.refinement_outcome),
        coarse_axes=list(found.coarse_axes),
        evaluations=found.evaluations,
        nan_points=found.nan_points,
        first_nan=found.first_nan,
        elapsed_s=found.elapsed_s,
        timing=Timing(*(getattr(found.timing, name) for name in Timing._fields)),
        **arrays,
    )
