"""RecoverCarrier: frequency and phase of frames of symbols."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _messages
from ._arrays import Array, as_bytes, check_range, checked, complex_bytes
from ._request import SOFT, Answer, Request, Timing

_FORMATS = {"complex64": "float32", "float32": "float32", "float16": "float16", "int16": "int16"}
_FLOATS = (
    "frequency frequency_stddev frequency_hz frequency_stddev_hz phase phase_stddev gain snr_db evm mer_db"
    " peak_ratio fit coarse_frequency"
).split()


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Of ``fine="sweep"``: candidates within +-`range` of the best bin, `step` apart, cycles per symbol.

    Zeros are the server's choice: 1 / (2 frame_symbols), and 5e-7.
    """

    range: float = 0.0
    step: float = 0.0
    guard_bins: int = 0
    interpolate: bool = False


@dataclasses.dataclass(frozen=True)
class Pll:
    """Of ``fine="pll"``: noise bandwidth times symbol period, and damping."""

    bandwidth: float = 0.005
    damping: float = 0.707


@dataclasses.dataclass(frozen=True)
class Recovered:
    """What came of recover_carrier: an element for each frame, in the shape of the frames.

    A symbol was received as ``gain * sent * exp(1j * (2 * pi * frequency * n + phase)) + noise``. A
    frame whose carrier is not found is a result, not an error: its numbers may be anything.

    Attributes
    ----------
    locked : ndarray of bool
    lock : ndarray of str
        "locked", "no_signal", "no_peak", "ambiguous" or "bad_fit".
    frequency, frequency_stddev : ndarray of float64
        Cycles per symbol.
    frequency_hz, frequency_stddev_hz : ndarray of float64
        0 without `symbol_rate_hz`.
    phase, phase_stddev : ndarray of float64
        Radians at the `reference`, modulo 2 pi / `ambiguity`.
    ambiguity : ndarray of uint32
    gain, snr_db, evm, mer_db, peak_ratio, fit, coarse_frequency : ndarray of float64
        `evm` 0.1 is 10 %.
    corrected : ndarray or None
        With ``corrected=True`` the symbols, in the dtype they came in; read-only.
    curves : list of (frequencies, values)
        With ``curve=True``, of each frame.
    max_frequency, modulo : float
        What was looked for, and which frequencies cannot be told apart, cycles per symbol.
    timing : Timing
    """

    locked: npt.NDArray[np.bool_]
    lock: npt.NDArray[np.str_]
    frequency: npt.NDArray[np.float64]
    frequency_stddev: npt.NDArray[np.float64]
    frequency_hz: npt.NDArray[np.float64]
    frequency_stddev_hz: npt.NDArray[np.float64]
    phase: npt.NDArray[np.float64]
    phase_stddev: npt.NDArray[np.float64]
    gain: npt.NDArray[np.float64]
    snr_db: npt.NDArray[np.float64]
    evm: npt.NDArray[np.float64]
    mer_db: npt.NDArray[np.float64]
    peak_ratio: npt.NDArray[np.float64]
    fit: npt.NDArray[np.float64]
    coarse_frequency: npt.NDArray[np.float64]
    ambiguity: npt.NDArray[np.uint32]
    corrected: Optional[Array]
    curves: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float32]]]
    max_frequency: float
    modulo: float
    timing: Timing


def _constellation(constellation: Union[str, Array]) -> Any:
    if isinstance(constellation, str):
        return _messages.message("Constellation", name=constellation)
    points = checked("constellation", constellation, "complex64", "complex128")
    return _messages.message("Constellation", points=_pairs(points))


def _pairs(values: Array) -> Any:
    return np.ascontiguousarray(values, np.complex64).view(np.float32).reshape(-1).tolist()


def _known(values: Array, positions: Optional[Sequence[int]]) -> Any:
    values = checked("known", values, "complex64", "complex128")
    found = [] if positions is None else [int(position) for position in positions]
    if found and len(found) != values.size:
        raise ValueError(f"known_positions has {len(found)} places, not {values.size}, the known symbols")
    return _messages.message("KnownSymbols", positions=found, values=_pairs(values))


def recover_carrier_request(
    symbols: Array,
    constellation: Union[str, Array],
    *,
    symbol_rate_hz: float = 0.0,
    scale: float = 0.0,
    known: Optional[Array] = None,
    known_positions: Optional[Sequence[int]] = None,
    coarse: Optional[str] = None,
    power: int = 0,
    amplitude: str = "optimal",
    max_frequency: float = 0.0,
    expected_snr_db: Optional[float] = None,
    fine: str = "remodulate",
    sweep: Sweep = Sweep(),
    pll: Pll = Pll(),
    reference: str = "first",
    corrected: bool = False,
    curve: bool = False,
) -> Request[Recovered]:
    """A request of `Client.recover_carrier`."""
    array, shape = complex_bytes("symbols", symbols, "float32", "float16", "int16")
    check_range("frame_symbols", shape[-1], 16, 1048576)
    frames = shape[:-1]
    count = math.prod(frames)
    group = _messages.message(
        "CarrierGroup",
        constellation=_constellation(constellation),
        count=count,
        frame_symbols=shape[-1],
        format=_messages.enum_number("format", "SampleFormat", _FORMATS[str(array.dtype)]),
        scale=scale,
        symbol_rate_hz=symbol_rate_hz,
        known=None if known is None else _known(known, known_positions),
        coarse=None if coarse is None else _messages.enum_number("coarse", "CoarseMethod", coarse),
        power=power,
        amplitude=_messages.enum_number("amplitude", "AmplitudeWeight", amplitude),
        max_frequency=max_frequency,
        expected_snr_db=expected_snr_db,
        fine=_messages.enum_number("fine", "FineMethod", fine),
        sweep=_messages.message("SweepOptions", **dataclasses.asdict(sweep)) if fine.lower() == "sweep" else None,
        pll=_messages.message("PllOptions", **dataclasses.asdict(pll)) if fine.lower() == "pll" else None,
        reference=_messages.enum_number("reference", "PhaseReference", reference),
        corrected=corrected,
        curve=curve,
    )
    dtype, symbols_shape = array.dtype, array.shape

    def read(answer: Answer) -> Recovered:
        found = answer.items("frames", count)
        lock = np.array([_messages.enum_name("CarrierLock", frame.lock) for frame in found]).reshape(frames)
        floats = {name: np.array([getattr(f, name) for f in found], np.float64).reshape(frames) for name in _FLOATS}
        (reach,) = answer.items("reaches", 1)
        return Recovered(
            locked=lock == "locked",
            lock=lock,
            ambiguity=np.array([frame.ambiguity for frame in found], np.uint32).reshape(frames),
            corrected=answer.array(dtype, symbols_shape) if corrected else None,
            curves=_curves(answer, count) if curve else [],
            max_frequency=reach.max_frequency,
            modulo=reach.modulo,
            timing=answer.timing(),
            **floats,
        )

    header = _messages.message("RecoverCarrierRequest", groups=[group]).SerializeToString()
    return Request("RecoverCarrier", header, (as_bytes(array),), read)


def _curves(answer: Answer, count: int) -> list[tuple[Array, Array]]:
    found = []
    for curve in answer.items("curves", count):
        frequencies = curve.begin + curve.step * np.arange(curve.num_points)
        found.append((frequencies, answer.array(np.float32, (curve.num_points,), SOFT)))
    return found
