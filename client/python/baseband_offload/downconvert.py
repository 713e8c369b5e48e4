"""Downconvert and DownconvertStream: channels of a wideband signal."""

from __future__ import annotations

import dataclasses
import fractions
from typing import Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _messages
from ._arrays import Array, as_bytes, as_float32, check_last, checked
from ._checks import check_each, check_whole, typed
from ._request import Answer, Request, Timing

Frequency = Union[float, fractions.Fraction]
_OUTPUTS = {"float32": np.complex64, "float16": np.float16, "int16": np.int16}


@typed
@dataclasses.dataclass(frozen=True, eq=False)
class Channel:
    """One channel: mixed down, filtered, resampled by `up` / `down`.

    Parameters
    ----------
    frequency : float or fractions.Fraction
        What is at this frequency in the wideband signal is at zero in the channel: Hz, or exactly as
        a fraction of the sample rate.
    down, up : int
        1 .. 4096 each.
    pass_edge_hz : float
        The server designs a filter that passes up to here from the centre ..
    stop_edge_hz : float
        .. stops from here on; 0: from where it would fold onto the pass band ..
    ripple_db, attenuation_db : float
        .. to within these; 0: 0.1 and 80 dB ..
    design : {"equiripple", "kaiser"}
        .. in this way.
    taps : ndarray of float32 or float64, optional
        Or your own, real, at `up` times the sample rate.
    phase : float
        Of the oscillator at sample 0, radians.
    gain : float
    output : {"float32", "float16", "int16"}
        Outputs are complex64, or I and Q of that dtype along a last axis.
    nco : str
        "exact"; the others are for study: see NcoMethod in the contract.
    nco_segment : int
        Samples in a segment, of methods that have some; 0: 1024.
    """

    frequency: Frequency
    down: int = 1
    up: int = 1
    pass_edge_hz: float = 0.0
    stop_edge_hz: float = 0.0
    ripple_db: float = 0.0
    attenuation_db: float = 0.0
    design: str = "equiripple"
    taps: Optional[npt.NDArray[np.floating[Any]]] = None
    phase: float = 0.0
    gain: float = 1.0
    output: str = "float32"
    nco: str = "exact"
    nco_segment: int = 0

    def __post_init__(self) -> None:
        check_whole("down", self.down, 1, 4096)
        check_whole("up", self.up, 1, 4096)
        if np.float32(self.gain) == 0:
            raise ValueError(f"gain {self.gain} is 0, which stands for 1 in the contract")

    def _message(self) -> Any:
        if (self.taps is None) == (self.pass_edge_hz == 0):
            raise ValueError("a channel needs either pass_edge_hz or taps")
        chosen = {"up": self.up, "down": self.down}
        if self.taps is not None:
            taps = as_float32("taps", self.taps).reshape(-1).tolist()
            made = _messages.message("ChannelFilter", taps=taps, **chosen)
        else:
            mask = _messages.message(
                "FilterMask",
                pass_edge_hz=self.pass_edge_hz,
                stop_edge_hz=self.stop_edge_hz,
                ripple_db=self.ripple_db,
                attenuation_db=self.attenuation_db,
                design=_messages.enum_number("design", "FilterDesign", self.design),
            )
            made = _messages.message("ChannelFilter", mask=mask, **chosen)
        return _messages.message(
            "DownconvertChannel",
            frequency=_frequency(self.frequency),
            phase=self.phase,
            gain=self.gain,
            filter=made,
            output=_messages.enum_number("output", "SampleFormat", self.output),
            nco=_messages.enum_number("nco", "NcoMethod", self.nco),
            nco_segment=self.nco_segment,
        )


@typed
@dataclasses.dataclass(frozen=True)
class Retune:
    """A new `frequency` of channel number `channel` from sample `index` on.

    `mode` "phase_continuous": the output has no jump; "phase_coherent": as if the new frequency had
    run since sample 0.
    """

    channel: int
    index: int
    frequency: Frequency
    mode: str = "phase_continuous"

    def _message(self) -> Any:
        return _messages.message(
            "Retune",
            channel=self.channel,
            index=self.index,
            frequency=_frequency(self.frequency),
            mode=_messages.enum_number("mode", "RetuneMode", self.mode),
        )


@typed
@dataclasses.dataclass(frozen=True, eq=False)
class Piece:
    """What a stream may say of a piece of the signal besides its samples.

    Where `first_sample` is more than the place next after the last piece, there is a gap.
    """

    samples: Array
    first_sample: Optional[int] = None
    retunes: Sequence[Retune] = ()


@dataclasses.dataclass(frozen=True)
class Description:
    """A channel as it is, not as it was asked for. `group_delay` and `transient` are input samples."""

    frequency: fractions.Fraction
    frequency_hz: float
    output_rate_hz: float
    group_delay: float
    transient: int
    ripple_db: float
    attenuation_db: float
    stages: tuple[tuple[int, int, int], ...]  # taps, up, down


@dataclasses.dataclass(frozen=True)
class Downconverted:
    """What came of a piece of the signal.

    Attributes
    ----------
    channels : list of ndarray
        The outputs of each channel: complex64, or (samples, 2) of its dtype; read-only.
    first_output : list of int
        Index of the first of them in the channel's signal.
    saturated : list of int
        I and Q values that did not fit, of int16.
    next_sample : int
        Place of the first sample not seen yet.
    history : int
        Samples before it that the next call of `Client.downconvert` brings again.
    gap : int
        Of a stream: samples that were missing before this piece.
    descriptions : list of Description
        Of each channel; in a stream only with the first piece.
    timing : Timing
    """

    channels: list[Array]
    first_output: list[int]
    saturated: list[int]
    next_sample: int
    history: int
    gap: int
    descriptions: list[Description]
    timing: Timing


def _frequency(frequency: Frequency) -> Any:
    if isinstance(frequency, fractions.Fraction):
        exact = _messages.message("Fraction", num=frequency.numerator, den=frequency.denominator)
        return _messages.message("OscillatorFrequency", fraction=exact)
    return _messages.message("OscillatorFrequency", hz=frequency)


def _format(samples: Any, is_iq: bool) -> tuple[Array, str]:
    """The samples, and the name of their format. complex128 becomes complex64."""
    array = checked("samples", samples, "complex64", "complex128", "float32", "int16", "int8")
    if array.dtype.kind == "c":
        array = array.astype(np.complex64, copy=False)
        wanted, name = 1, "complex_float32"
    else:
        wanted, name = (2, "complex_") if is_iq else (1, "real_")
        name += str(array.dtype)
    if array.ndim != wanted:
        raise ValueError(f"samples has shape {array.shape}, not {'(samples, 2)' if wanted == 2 else '(samples,)'}")
    if wanted == 2:
        check_last("samples", array, 2, "I and Q")
    return array, name


class Setup:
    """What a signal's pieces have in common."""

    def __init__(self, samples: Any, sample_rate_hz: float, channels: Sequence[Channel], scale: float) -> None:
        """`samples` has the dtype and the axes of all pieces."""
        check_each("channels", channels, Channel)
        self._is_iq = isinstance(samples, np.ndarray) and samples.ndim == 2
        array, self._name = _format(samples, self._is_iq)
        self.samples = array
        self._outputs = [_OUTPUTS.get(channel.output.lower(), np.complex64) for channel in channels]
        self.message = _messages.message(
            "DownconvertSetup",
            sample_rate_hz=sample_rate_hz,
            format=_messages.enum_number("samples", "WidebandFormat", self._name),
            scale=scale,
            channels=[channel._message() for channel in channels],
        )

    def request(self, samples: Any, retunes: Sequence[Retune], is_first: bool, **fields: Any) -> Request[Downconverted]:
        array, name = _format(samples, self._is_iq)
        if name != self._name:
            raise TypeError(f"samples has dtype {array.dtype}: it was {self._name} before")
        check_each("retunes", retunes, Retune)
        setup = self.message if is_first else None
        retuned = [retune._message() for retune in retunes]
        header = _messages.message("DownconvertRequest", setup=setup, retunes=retuned, **fields)
        return Request("Downconvert", header.SerializeToString(), (as_bytes(array),), self._read, joinable=False)

    def _read(self, answer: Answer) -> Downconverted:
        outputs = answer.items("channels", len(self._outputs))
        message = answer.message
        return Downconverted(
            [_samples(answer, dtype, output.count) for dtype, output in zip(self._outputs, outputs)],
            [output.first_output for output in outputs],
            [output.saturated for output in outputs],
            message.next_sample,
            message.history,
            message.gap,
            [_description(found) for found in message.descriptions],
            answer.timing(),
        )


def _samples(answer: Answer, dtype: Any, count: int) -> Array:
    return answer.array(dtype, (count,) if dtype is np.complex64 else (count, 2))


def _description(found: Any) -> Description:
    return Description(
        fractions.Fraction(found.frequency.num, found.frequency.den or 1),
        found.frequency_hz,
        found.output_rate_hz,
        found.group_delay,
        found.transient,
        found.ripple_db,
        found.attenuation_db,
        tuple(zip(found.stage_taps, found.stage_up, found.stage_down)),
    )


@typed
def downconvert_request(
    samples: Array,
    sample_rate_hz: float,
    channels: Sequence[Channel],
    *,
    scale: float = 0.0,
    first_sample: int = 0,
    history: int = 0,
    zero_history: bool = False,
    retunes: Sequence[Retune] = (),
) -> Request[Downconverted]:
    """A request of `Client.downconvert`."""
    setup = Setup(samples, sample_rate_hz, channels, scale)
    fields = {"first_sample": first_sample, "history": history, "zero_history": zero_history, "describe": True}
    return setup.request(samples, retunes, True, **fields)
