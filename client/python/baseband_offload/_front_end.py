"""What a receiver's analogue half does to its samples, told from the samples alone, and its correction."""

from __future__ import annotations

import cmath
import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import Array, check_last, checked
from ._checks import typed

_FULL_SCALE = {"int8": 128.0, "int16": 32768.0}
_LEAST, _MOST = 1024, 1 << 22  # samples that tell something, and that tell enough
_PARTS = 16
_CERTAIN = 4.0  # deviations
_MOST_IMAGE = 0.25  # -12 dB: receivers before any correction have -20 or less


@dataclasses.dataclass(frozen=True)
class FrontEnd:
    """An offset, and the image of every signal at the other side of zero, of unequal I and Q.

    A signal whose image is `image` of it is told where the signal is circular, E[x^2] = 0, as what is
    modulated in I and Q alike is, and everything that is not near zero; it cannot be told from a real
    signal or BPSK at zero. After Anttila, Valkama, Renfors: Circularity-based I/Q imbalance
    compensation, IEEE Trans. Vehicular Technology 57, 2008.

    Attributes
    ----------
    samples : int
        That were looked at.
    power : float
        Mean of the squares without the offset; full scale is 1.
    dc : complex
        The offset; 0 if it is below what these samples can tell.
    image : complex
        What conj(z) has to be multiplied by, z being the samples without the offset, and added to
        them, for the image to go; its magnitude is that of the image. 0 if there is none to be told.
    why : str
        Why there is none to be told; empty: it is below the noise, or it is told.
    """

    samples: int
    power: float
    dc: complex
    image: complex
    why: str

    @property
    def dc_db(self) -> float:
        """Of the signal's power."""
        return 20 * math.log10(abs(self.dc) / math.sqrt(self.power)) if self.dc and self.power else -math.inf

    @property
    def image_db(self) -> float:
        return 20 * math.log10(abs(self.image)) if self.image else -math.inf

    @property
    def gain_db(self) -> float:
        """Of I over Q."""
        circularity = self._circularity()
        return 10 * math.log10((1 + circularity.real) / (1 - circularity.real))

    @property
    def phase_degrees(self) -> float:
        """Beyond 90, by which Q is from I."""
        circularity = self._circularity()
        return -math.degrees(math.asin(circularity.imag / math.sqrt(1 - circularity.real**2)))

    def _circularity(self) -> complex:
        return -2 * self.image / (1 + abs(self.image) ** 2)

    @typed
    def correct(self, samples: Array, *, dc: bool = True, iq: bool = True) -> Array:
        """The samples without offset and image, as complex64 (of real ones float32).

        What is below the noise is left. ValueError where there is nothing to go by.
        """
        flat = _numbers(samples)
        if (dc or iq) and self.samples < _LEAST:
            raise ValueError(self.why)
        if (dc or iq) and self.power <= 0:
            raise ValueError("all samples are the same: nothing would be left of them")
        if iq and self.why:
            raise ValueError(self.why)
        if dc:
            flat = flat - flat.dtype.type(self.dc if flat.dtype.kind == "c" else self.dc.real)
        if iq and self.image:
            scale = 1 / (1 - abs(self.image) ** 2)  # keeps the wanted signal what it is
            flat = np.complex64(scale) * flat + np.complex64(scale * self.image) * flat.conj()
        return flat


def _numbers(samples: Any) -> npt.NDArray[Any]:
    """complex64, or float32 of a real signal; full scale is 1."""
    array = checked("samples", samples, "complex64", "complex128", "float32", "int16", "int8")
    if array.dtype.kind == "c":
        array = array.astype(np.complex64, copy=False)
    if array.ndim == 2:
        check_last("samples", array, 2, "I and Q")
    elif array.ndim != 1:
        raise ValueError(f"samples has shape {array.shape}, not (samples,) or (samples, 2)")
    scale = np.float32(1 / _FULL_SCALE.get(array.dtype.name, 1.0))
    floats = array if array.dtype.kind == "c" else array.astype(np.float32) * scale
    return np.ascontiguousarray(floats).view(np.complex64)[:, 0] if array.ndim == 2 else floats


def front_end(samples: Array) -> FrontEnd:
    """Tells what the receiver did to a recording's samples.

    Parameters
    ----------
    samples : ndarray
        As `Client.downconvert` takes them. Of more than 4194304 those of 64 places, spread over all.

    Examples
    --------
    >>> import numpy as np
    >>> from baseband_offload import front_end
    >>> noise = np.random.default_rng(1).standard_normal((1 << 20, 2), np.float32)
    >>> received = 0.1 * noise * [1.1, 1.0] + [0.05, 0]  # I has 0.83 dB too much
    >>> found = front_end(received.astype(np.float32))
    >>> f"DC {found.dc.real:.2f}, image {found.image_db:.0f} dB, I/Q gain {found.gain_db:+.1f} dB"
    'DC 0.05, image -26 dB, I/Q gain +0.8 dB'
    >>> corrected = found.correct(received.astype(np.float32))
    >>> bool(abs(corrected.mean()) < 1e-6)
    True
    """
    count = len(samples) if isinstance(samples, np.ndarray) and samples.ndim else 0
    if count > _MOST:
        begins = (np.arange(64) * ((count - _MOST // 64) // 63)).tolist()
        samples = np.concatenate([samples[at : at + _MOST // 64] for at in begins])
    taken = _numbers(samples)
    is_real = taken.dtype.kind != "c"
    if taken.size < _LEAST:
        return FrontEnd(taken.size, 0.0, 0j, 0j, f"of {taken.size} samples nothing can be told: it takes {_LEAST}")
    parts = taken[: taken.size // _PARTS * _PARTS].reshape(_PARTS, -1).astype(np.complex128)
    dc = complex(parts.mean())
    centred = parts - dc
    powers = (centred.real**2 + centred.imag**2).mean(1)
    power, dc_deviation = float(powers.mean()), _deviation(centred.mean(1))
    told = dc if abs(dc) > _CERTAIN * dc_deviation else 0j
    if power <= 1e-13 * abs(dc) ** 2 or power == 0:
        return FrontEnd(parts.size, 0.0, told, 0j, "all samples are the same")
    squares = (centred**2).mean(1)
    circularity = complex(squares.mean()) / power
    weight = -circularity / (1 + cmath.sqrt(max(0.0, 1 - abs(circularity) ** 2)))
    why = ""
    if is_real:
        why = "the samples are real, they have no Q"
    elif abs(weight) > _MOST_IMAGE:
        why = (
            f"|E[x^2]| is {abs(circularity):.2f} of E[|x|^2], more than any receiver makes: the signal itself is not"
            " circular, as a real one or BPSK at zero is not, and hides the receiver's imbalance"
        )
    certain = not why and abs(circularity) > _CERTAIN * _deviation(squares - circularity * powers) / power
    return FrontEnd(parts.size, power, told, weight if certain else 0j, why)


def _deviation(parts: npt.NDArray[Any]) -> float:
    """Of their mean, which is zero."""
    return math.sqrt(float((np.abs(parts) ** 2).sum()) / (_PARTS * (_PARTS - 1)))
