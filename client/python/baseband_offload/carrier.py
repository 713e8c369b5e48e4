"""RecoverCarrier: frequency and phase of frames of symbols, timing and symbols of frames of samples."""

from __future__ import annotations

import dataclasses
import fractions
import math
from typing import Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _messages
from ._arrays import Array, as_bytes, as_float32, checked, complex_bytes
from ._checks import check_range, check_whole, typed
from ._request import SOFT, Answer, Request, Timing

_FORMATS = {"complex64": "float32", "float32": "float32", "float16": "float16", "int16": "int16"}
_FLOATS = (
    "frequency frequency_stddev frequency_hz frequency_stddev_hz phase phase_stddev gain snr_db evm mer_db"
    " peak_ratio fit coarse_frequency"
).split()
_TIMING_FLOATS = (
    "offset offset_stddev clock_error clock_error_stddev centre_stddev line spectrum_centre"
).split()
Rate = Union[float, fractions.Fraction, str]
_MOST_OF_FRACTION = 4096


@typed
@dataclasses.dataclass(frozen=True)
class Sweep:
    """Of ``fine="sweep"``: candidates within +-`range` of the best bin, `step` apart, cycles per symbol.

    Zeros are the server's choice, for frames of every length: 1 / (2 frame_symbols), and 5e-7 or what makes at
    least 30 steps of the range, and no more than there may be.
    """

    range: float = 0.0
    step: float = 0.0
    guard_bins: int = 0
    interpolate: bool = False


@typed
@dataclasses.dataclass(frozen=True)
class Pll:
    """Of ``fine="pll"``: noise bandwidth times symbol period, and damping."""

    bandwidth: float = 0.005
    damping: float = 0.707


@dataclasses.dataclass(frozen=True)
class SymbolTiming:
    """When the symbols of frames of samples are: an element for each frame, in the shape of the frames.

    Symbol k is ``offset + k * (1 + clock_error)`` symbols of nominal length after the frame's first sample.

    Attributes
    ----------
    locked : ndarray of bool
    lock : ndarray of str
        "locked", "no_signal", "no_line" or "too_short"; if it is not "locked", all else is a guess.
    offset, offset_stddev : ndarray of float64
    clock_error, clock_error_stddev : ndarray of float64
        Positive: symbols are longer than nominal; 1e-6 is 1 ppm.
    centre_stddev : ndarray of float64
        Of when the frame's middle symbol is, which is known best.
    refined : ndarray of bool
        By decisions; not so if the carrier is not locked.
    line : ndarray of float64
        Power of the line at the symbol rate over what is there without one.
    spectrum_centre : ndarray of float64
        Cycles per symbol.
    """

    locked: npt.NDArray[np.bool_]
    lock: npt.NDArray[np.str_]
    offset: npt.NDArray[np.float64]
    offset_stddev: npt.NDArray[np.float64]
    clock_error: npt.NDArray[np.float64]
    clock_error_stddev: npt.NDArray[np.float64]
    centre_stddev: npt.NDArray[np.float64]
    refined: npt.NDArray[np.bool_]
    line: npt.NDArray[np.float64]
    spectrum_centre: npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Recovered:
    """What came of recover_carrier: an element for each frame, in the shape of the frames.

    A symbol was received as ``gain * sent * exp(1j * (2 * pi * frequency * n + phase)) + noise``. A
    frame whose carrier is not found is a result, not an error: its numbers may be anything.

    Attributes
    ----------
    locked : ndarray of bool
        The carrier and, of samples, the timing.
    lock : ndarray of str
        Of the carrier: "locked", "no_signal", "no_peak", "ambiguous" or "bad_fit".
    frequency, frequency_stddev : ndarray of float64
        Cycles per symbol; of samples these are symbols as they are, not nominal ones.
    frequency_hz, frequency_stddev_hz : ndarray of float64
        NaN without `symbol_rate_hz`.
    phase, phase_stddev : ndarray of float64
        Radians at the `reference`, modulo 2 pi / `ambiguity`.
    ambiguity : ndarray of uint32
    gain, snr_db, evm, mer_db, peak_ratio, fit, coarse_frequency : ndarray of float64
        `evm` 0.1 is 10 %, of the distances to the nearest points.
    corrected : ndarray or None
        With ``corrected=True`` the symbols, (.., frame_symbols), in the dtype they came in; read-only.
    curves : list of (frequencies, values)
        With ``curve=True``, of each frame.
    max_frequency, modulo : float
        What was looked for, and which frequencies cannot be told apart, cycles per symbol.
    coarse : str
        The coarse method that was taken: "none", "power" or "known_symbols".
    frame_symbols : int
        Of each frame: as it came, or so many as its samples were taken for.
    symbol_timing : SymbolTiming or None
        Of samples.
    timing : Timing
        Of the request.
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
    coarse: str
    frame_symbols: int
    symbol_timing: Optional[SymbolTiming]
    timing: Timing


def _rate(value: Rate) -> fractions.Fraction:
    """Of a float the fraction that it is but for rounding: two of such terms lie 2^-22 apart at least."""
    try:
        exact = fractions.Fraction(float(value) if isinstance(value, np.floating) else value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"samples_per_symbol {value!r} is no number") from None
    if not 2 <= exact <= 16:
        raise ValueError(f"samples_per_symbol {value} is not in [2, 16]")
    found = exact
    if isinstance(value, (float, np.floating)):
        rounding = 1e-12 if isinstance(value, float) else max(1e-12, float(np.finfo(type(value)).eps))
        nearest = exact.limit_denominator(int(_MOST_OF_FRACTION / exact))
        found = nearest if abs(nearest - exact) <= rounding * exact else exact
    if found.numerator > _MOST_OF_FRACTION:
        raise ValueError(f"samples_per_symbol {value} is no fraction of terms up to {_MOST_OF_FRACTION}")
    return found


def _symbol_timing(
    samples_per_symbol: Optional[Rate],
    roll_off: Optional[float],
    max_clock_error: Optional[float],
    taps: Optional[Array],
    taps_per_symbol: Optional[int],
) -> Any:
    if samples_per_symbol is None:
        if roll_off is not None or max_clock_error is not None:
            raise ValueError("roll_off and max_clock_error need samples_per_symbol")
        if taps is not None or taps_per_symbol is not None:
            raise ValueError("taps and taps_per_symbol need samples_per_symbol")
        return None
    if roll_off is None:
        raise ValueError("samples_per_symbol needs roll_off, that of the pulses")
    rate = _rate(samples_per_symbol)
    check_range("roll_off", roll_off, 0.05, 1)
    if max_clock_error is not None:
        check_range("max_clock_error", max_clock_error, 0, 1e-3)
    return _messages.message(
        "SymbolTiming",
        samples_per_symbol_numerator=rate.numerator,
        samples_per_symbol_denominator=rate.denominator,
        roll_off=roll_off,
        max_clock_error=max_clock_error,
        taps=_taps(taps, taps_per_symbol),
        taps_per_symbol=taps_per_symbol,
    )


def _taps(taps: Optional[Array], taps_per_symbol: Optional[int]) -> Any:
    if taps is None or taps_per_symbol is None:
        if taps is not None or taps_per_symbol is not None:
            raise ValueError("taps and taps_per_symbol need each other")
        return []
    found = as_float32("taps", taps)
    check_whole("taps_per_symbol", taps_per_symbol, 2, 16)
    most = 2 * 64 * taps_per_symbol + 1
    if taps.ndim != 1 or taps.size % 2 == 0 or not 3 <= taps.size <= most:
        raise ValueError(f"taps has shape {taps.shape}, not (an odd number from 3 to {most},)")
    return found.tolist()


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


@typed
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
    samples_per_symbol: Optional[Rate] = None,
    roll_off: Optional[float] = None,
    max_clock_error: Optional[float] = None,
    taps: Optional[Array] = None,
    taps_per_symbol: Optional[int] = None,
) -> Request[Recovered]:
    """A request of `Client.recover_carrier`."""
    array, shape = complex_bytes("symbols", symbols, "float32", "float16", "int16")
    symbol_timing = _symbol_timing(samples_per_symbol, roll_off, max_clock_error, taps, taps_per_symbol)
    if symbol_timing is None:
        check_range("frame_symbols", shape[-1], 16, 1048576)
    else:
        check_range("frame_samples", shape[-1], 33, 16794010)  # at 2 and 16 a symbol
    if sweep != Sweep() and fine.lower() != "sweep":
        raise ValueError(f"sweep needs fine 'sweep', not {fine!r}")
    if pll != Pll() and fine.lower() != "pll":
        raise ValueError(f"pll needs fine 'pll', not {fine!r}")
    if known is None and known_positions is not None:
        raise ValueError("known_positions needs known, the symbols at these places")
    frames = shape[:-1]
    count = math.prod(frames)
    group = _messages.message(
        "CarrierGroup",
        constellation=_constellation(constellation),
        count=count,
        frame_symbols=shape[-1] if symbol_timing is None else None,
        timing=symbol_timing,
        frame_samples=None if symbol_timing is None else shape[-1],
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
    dtype, iq = array.dtype, array.shape[len(shape) :]

    def read(answer: Answer) -> Recovered:
        found = answer.items("frames", count)
        lock = np.array([_messages.enum_name("CarrierLock", frame.lock) for frame in found]).reshape(frames)
        floats = {name: np.array([getattr(f, name) for f in found], np.float64).reshape(frames) for name in _FLOATS}
        if not symbol_rate_hz:  # so nobody knows Hz
            floats.update({name: np.full(frames, np.nan) for name in ("frequency_hz", "frequency_stddev_hz")})
        (reach,) = answer.items("reaches", 1)
        timing = None if symbol_timing is None else _read_timing(answer.items("timings", count), frames)
        symbols_shape = (*frames, reach.frame_symbols, *iq)
        return Recovered(
            locked=(lock == "locked") & (True if timing is None else timing.locked),
            lock=lock,
            ambiguity=np.array([frame.ambiguity for frame in found], np.uint32).reshape(frames),
            corrected=answer.array(dtype, symbols_shape) if corrected else None,
            curves=_curves(answer, count) if curve else [],
            max_frequency=reach.max_frequency,
            modulo=reach.modulo,
            coarse=_messages.enum_name("CoarseMethod", reach.coarse),
            frame_symbols=reach.frame_symbols,
            symbol_timing=timing,
            timing=answer.timing(),
            **floats,
        )

    header = _messages.message("RecoverCarrierRequest", groups=[group]).SerializeToString()
    return Request("RecoverCarrier", header, (as_bytes(array),), read)


def _read_timing(found: Any, frames: tuple[int, ...]) -> SymbolTiming:
    lock = np.array([_messages.enum_name("TimingLock", frame.lock) for frame in found]).reshape(frames)
    floats = {name: np.array([getattr(f, name) for f in found], np.float64).reshape(frames) for name in _TIMING_FLOATS}
    refined = np.array([frame.refined for frame in found], np.bool_).reshape(frames)
    return SymbolTiming(locked=lock == "locked", lock=lock, refined=refined, **floats)


def _curves(answer: Answer, count: int) -> list[tuple[Array, Array]]:
    found = []
    for curve in answer.items("curves", count):
        frequencies = curve.begin + curve.step * np.arange(curve.num_points)
        found.append((frequencies, answer.array(np.float32, (curve.num_points,), SOFT)))
    return found
