"""Recordings: SigMF, WAV, and raw samples."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any, Union

import numpy as np

from . import _wav
from ._arrays import Array
from ._checks import typed
from .downconvert import Channel
from ._front_end import FrontEnd, front_end

Path = Union[str, pathlib.Path]

_DTYPES = {"u8": "u1", "i8": "i1", "i16": "<i2", "i24": "u1", "i32": "<i4", "f32": "<f4", "f64": "<f8"}
_RAW = ("ci8", "ci16", "cf32", "cu8", "i8", "i16", "f32", "u8")
_OTHERS = {"cs8": "ci8", "sc8": "ci8", "cs16": "ci16", "sc16": "ci16", "fc32": "cf32", "cfile": "cf32"}
_OTHERS.update({"s8": "i8", "s16": "i16"})
_SIGMF = {"ci8": "ci8", "ci16_le": "ci16", "cf32_le": "cf32", "cu8": "cu8"}
_SIGMF.update({"ri8": "i8", "ri16_le": "i16", "rf32_le": "f32", "ru8": "u8"})


@typed
@dataclasses.dataclass(frozen=True, eq=False)
class Recording:
    """Samples as `Client.downconvert` and `Client.recover_carrier` take them.

    Attributes
    ----------
    samples : ndarray
        complex64; (samples, 2) of int16 or int8; or a real signal of float32, int16 or int8. Mapped
        from the file, not read, where the file has them so.
    sample_rate_hz : float
        0: not said.
    frequency_hz : float
        The radio frequency that is at zero in them; 0: not said, or not one alone.
    meta : dict
        All that the metadata of SigMF say.
    """

    samples: Array
    sample_rate_hz: float = 0.0
    frequency_hz: float = 0.0
    meta: dict[str, Any] = dataclasses.field(default_factory=dict)

    def front_end(self) -> FrontEnd:
        """What the receiver did to the samples: see `front_end`."""
        return front_end(self.samples)

    @typed
    def corrected(self, *, dc: bool = True, iq: bool = True) -> Recording:
        """The same without offset and image: see `FrontEnd.correct`."""
        return dataclasses.replace(self, samples=self.front_end().correct(self.samples, dc=dc, iq=iq))

    @typed
    def channel(self, radio_frequency: float, **parameters: Any) -> Channel:
        """A `Channel` at a radio frequency.

        Parameters
        ----------
        radio_frequency : float
            Hz. ValueError if it is beyond the recording's band, or if that is not known.
        **parameters
            The others of `Channel`.

        Examples
        --------
        >>> import numpy as np
        >>> from baseband_offload import Recording
        >>> recording = Recording(np.zeros(1000, np.complex64), 2.4e6, 433e6)
        >>> recording.channel(433.92e6, down=10, pass_edge_hz=1e5).frequency
        920000.0
        """
        if not self.frequency_hz or not self.sample_rate_hz:
            raise ValueError(
                f"radio_frequency {radio_frequency:g}: the recording does not say one"
                f" {'sample rate' if self.frequency_hz else 'centre'}; set it by dataclasses.replace"
            )
        low, high = (self.frequency_hz + half * self.sample_rate_hz / 2 for half in (-1, 1))
        if not low <= radio_frequency <= high:
            raise ValueError(f"radio_frequency {radio_frequency:g} is beyond the band, [{low:g}, {high:g}] Hz")
        return Channel(radio_frequency - self.frequency_hz, **parameters)


def _load(path: Path, name: str, zero: float, begin: int = 0, count: int = -1) -> Array:
    """`count` samples, or all, of a file, `name` of the kinds above, as the server takes them."""
    kind = name[1:] if name.startswith("c") else name
    width = (3 if kind == "i24" else 1) * (2 if name.startswith("c") else 1)  # elements of a sample
    dtype = np.dtype(_DTYPES[kind])
    size = pathlib.Path(path).stat().st_size - begin
    if count < 0:
        count, rest = divmod(size, width * dtype.itemsize)
        if not size:
            raise ValueError(f"{path} is empty")
        if rest:
            raise ValueError(
                f"{path} has {size} bytes, not a multiple of the {width * dtype.itemsize} of a sample ({name})"
            )
    found: Array = np.memmap(path, dtype, "r", begin, (count * width,))
    if kind == "u8" and zero == 128:
        found = (found ^ np.uint8(0x80)).view(np.int8)
    elif kind == "u8":
        numbers = np.clip(np.rint((np.arange(256) - zero) * 256), -32768, 32767).astype(np.int16)
        found = numbers[found]
    elif kind == "i24":
        wide = np.zeros((len(found) // 3, 4), np.uint8)
        wide[:, 1:] = found.reshape(-1, 3)
        found = wide.view("<i4")[:, 0]
    if kind in ("i24", "i32"):
        found = found.astype(np.float32) * np.float32(2.0**-31)
    elif kind == "f64":
        found = found.astype(np.float32)
    if name.startswith("c"):
        return found.view("<c8") if found.dtype.kind == "f" else found.reshape(-1, 2)
    return found


@typed
def read_recording(path: Path, *, cu8_centre: float = 0.0) -> Recording:
    """Opens a recording by its name.

    Parameters
    ----------
    path : str or Path
        .sigmf-meta or .sigmf-data; .wav, .rf64 or .bw64; raw samples by their format: .ci16 (.cs16,
        .sc16), .ci8, .cf32 (.fc32, .cfile), .cu8, and real ones .i16, .i8, .f32, .u8.
    cu8_centre : float
        What stands for zero in unsigned bytes; 0: 127.5, of WAV 128.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from baseband_offload import read_recording
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "rtl.cu8")
    >>> _ = path.write_bytes(bytes([0, 255, 127, 128]))
    >>> (read_recording(path).samples / 256).tolist()  # int16, of which 256 are a step
    [[-127.5, 127.5], [-0.5, 0.5]]
    """
    ending = pathlib.Path(path).suffix.lower()
    if ending in (".sigmf-meta", ".sigmf-data"):
        return read_sigmf(path, cu8_centre=cu8_centre)
    if ending in (".wav", ".wave", ".rf64", ".bw64"):
        return read_wav(path, cu8_centre=cu8_centre)
    name = _OTHERS.get(ending[1:], ending[1:])
    if name not in _RAW:
        raise ValueError(f"{path} does not say what it is: end its name in .{', .'.join(_RAW)}, .sigmf-meta or .wav")
    return Recording(_load(path, name, cu8_centre or 127.5))


@typed
def read_wav(path: Path, *, cu8_centre: float = 0.0) -> Recording:
    """Opens a WAV, RF64 or BW64 file: two channels are I and Q, one is a real signal.

    Takes PCM of 8, 16, 24 and 32 bits and float of 32 and 64. The centre frequency is that of the
    chunk "auxi", if there is one. ValueError names what is wrong with the file.

    Examples
    --------
    >>> import pathlib, tempfile, wave
    >>> from baseband_offload import read_wav
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "a.wav")
    >>> with wave.open(str(path), "wb") as file:
    ...     file.setnchannels(2)
    ...     file.setsampwidth(2)
    ...     file.setframerate(48000)
    ...     file.writeframes(bytes([1, 0, 2, 0, 3, 0, 255, 255]))
    >>> recording = read_wav(path)
    >>> recording.sample_rate_hz, recording.samples.tolist()
    (48000.0, [[1, 2], [3, -1]])
    """
    head = _wav.read_head(pathlib.Path(path))
    name = ("c" if head.channels == 2 else "") + head.name
    samples = _load(path, name, cu8_centre or 128.0, head.begin, head.count)
    return Recording(samples, head.sample_rate_hz, head.frequency_hz)


@typed
def read_sigmf(path: Path, *, cu8_centre: float = 0.0) -> Recording:
    """Opens a SigMF recording: NAME.sigmf-meta beside the samples in NAME.sigmf-data.

    Parameters
    ----------
    path : str or Path
        Of either of its files, or without their endings. ValueError names the file and what is wrong in it.
    cu8_centre : float
        What stands for zero in unsigned bytes; 0: 127.5.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import numpy as np
    >>> from baseband_offload import read_sigmf
    >>> folder = tempfile.TemporaryDirectory()
    >>> base = pathlib.Path(folder.name, "tone")
    >>> np.array([[1, 2], [3, 4]], "<i2").tofile(f"{base}.sigmf-data")
    >>> about = {"core:datatype": "ci16_le", "core:sample_rate": 1e6}
    >>> _ = pathlib.Path(f"{base}.sigmf-meta").write_text(json.dumps({"global": about, "captures": []}))
    >>> read_sigmf(base).samples.tolist()
    [[1, 2], [3, 4]]
    """
    base = str(path)
    for ending in (".sigmf-meta", ".sigmf-data"):
        base = base[: -len(ending)] if base.endswith(ending) else base
    try:
        meta = json.loads(pathlib.Path(base + ".sigmf-meta").read_text(encoding="utf-8"))
        name, rate, centre = _read_meta(meta)
    except ValueError as error:
        raise ValueError(f"{base}.sigmf-meta: {error}") from None
    return Recording(_load(base + ".sigmf-data", name, cu8_centre or 127.5), rate, centre, meta)


def _read_meta(meta: Any) -> tuple[str, float, float]:
    """Kind, sample rate and centre; 0: not said."""
    about = meta.get("global") if isinstance(meta, dict) else None
    if not isinstance(about, dict):
        raise ValueError('is not SigMF: no JSON object with "global" in it')
    datatype = about.get("core:datatype")
    if datatype is None:
        raise ValueError("says no core:datatype")
    if not isinstance(datatype, str) or datatype not in _SIGMF:
        raise ValueError(f"core:datatype {datatype!r} is not one of {', '.join(_SIGMF)}")
    if _number(about, "core:num_channels", 1) != 1:
        raise ValueError(f"core:num_channels {about['core:num_channels']} is not 1")
    if not _number(about, "core:sample_rate", 1) > 0:
        raise ValueError(f"core:sample_rate {about['core:sample_rate']} is not > 0")
    captures = meta.get("captures", [])
    if not isinstance(captures, list) or not all(isinstance(capture, dict) for capture in captures):
        raise ValueError("captures is not a list of objects")
    if any(_number(capture, "core:header_bytes", 0) for capture in captures):
        raise ValueError("core:header_bytes other than 0 are not understood")
    centres = {_number(capture, "core:frequency", 0) for capture in captures if "core:frequency" in capture}
    centre = centres.pop() if len(centres) == 1 and "core:frequency" in captures[0] else 0.0
    return _SIGMF[datatype], _number(about, "core:sample_rate", 0), centre


def _number(about: dict[str, Any], key: str, otherwise: float) -> float:
    value = about.get(key, otherwise)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{key} {value!r} is not a number")
    return float(value)
