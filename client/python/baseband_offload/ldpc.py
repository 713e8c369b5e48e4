"""Encode and Decode: information bits to code words, LLRs to information bits."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _messages
from ._arrays import as_bytes, check_last, checked, pack, unpack
from ._checks import check_whole, typed
from ._request import SOFT, Answer, Request, Timing
from .codes import LdpcCode, NrCode


@dataclasses.dataclass(frozen=True)
class Encoded:
    """What came of encode.

    Attributes
    ----------
    bits : ndarray of uint8
        (.., output bits); with ``packed=True`` (.., bytes), the first bit the most significant.
    timing : Timing
    """

    bits: npt.NDArray[np.uint8]
    timing: Timing


@dataclasses.dataclass(frozen=True)
class Decoded:
    """What came of decode. A block that did not decode is a result, not an error.

    Attributes
    ----------
    bits : ndarray of uint8
        (.., k - n_filler) information bits; with ``packed=True`` (.., bytes), read-only.
    iterations : ndarray of uint32
        Iterations run, of each block.
    parity_ok : ndarray of bool
        Whether a block's bits, with zeros for fillers, satisfy all parity checks.
    soft : ndarray of int8 or None
        With ``soft_output=True`` the a-posteriori LLRs of all code bits, punctured ones included.
    timing : Timing
    """

    bits: npt.NDArray[np.uint8]
    iterations: npt.NDArray[np.uint32]
    parity_ok: npt.NDArray[np.bool_]
    soft: Optional[npt.NDArray[np.int8]]
    timing: Timing


@typed
def quantize(llrs: npt.NDArray[np.floating[Any]], scale: float = 4.0) -> npt.NDArray[np.int8]:
    """LLRs as decode takes them: clip(round(scale * llrs), -127, 127).

    Parameters
    ----------
    llrs : ndarray of float
        ln(P(bit = 0) / P(bit = 1)): positive means 0.
    scale : float
        Give the sum-product algorithm the same as `llr_scale`.

    Examples
    --------
    >>> import numpy as np
    >>> from baseband_offload import quantize
    >>> quantize(np.array([0.5, -3.0, 99.0]))
    array([  2, -12, 127], dtype=int8)
    """
    scaled = checked("llrs", llrs, "float16", "float32", "float64") * scale
    np.rint(scaled, out=scaled)
    return np.clip(scaled, -127, 127, out=scaled).astype(np.int8)


def _check_code(code: LdpcCode, n_filler: int) -> int:
    """Information bits of a block."""
    check_whole("n_filler", n_filler, 0, code.k - 1)
    return code.k - n_filler


# Most of what small requests would cost to be made: their headers are alike.
@functools.lru_cache(maxsize=256)
def _encode_header(code: LdpcCode, count: int, n_filler: int, output: int) -> bytes:
    fields = {"code": code._message(), "count": count, "n_filler": n_filler, "output": output}
    return _header("EncodeRequest", "EncodeGroup", fields)


@functools.lru_cache(maxsize=256)
def _decode_header(code: LdpcCode, **fields: Any) -> bytes:
    return _header("DecodeRequest", "DecodeGroup", {"code": code._message(), **fields})


def _header(request: str, group: str, fields: dict[str, Any]) -> bytes:
    groups = [_messages.message(group, **fields)]
    return bytes(_messages.message(request, groups=groups).SerializeToString())


@typed
def encode_request(
    bits: npt.NDArray[Any], code: LdpcCode, *, n_filler: int = 0, output: str = "parity", packed: bool = False
) -> Request[Encoded]:
    """A request of `Client.encode`."""
    message_bits = _check_code(code, n_filler)
    bits = checked("bits", bits, "uint8", *(() if packed else ("bool",)))
    if packed:
        check_last("bits", bits, (message_bits + 7) // 8, f"the bytes of {message_bits} information bits")
        payload = as_bytes(bits)
    else:
        check_last("bits", bits, message_bits, "the information bits of a block")
        payload = as_bytes(pack("bits", bits))
    number = _messages.enum_number("output", "EncodeOutput", output)
    size = {"parity": code.parity, "codeword": code.sent, "full_codeword": code.full}[output.lower()]
    blocks = bits.shape[:-1]
    header = _encode_header(code, math.prod(blocks), n_filler, number)

    def read(answer: Answer) -> Encoded:
        words = answer.array(np.uint8, (*blocks, (size + 7) // 8))
        return Encoded(words if packed else unpack(words, size), answer.timing())

    return Request("Encode", header, (payload,), read)


@typed
def decode_request(
    llrs: npt.NDArray[np.int8],
    code: LdpcCode,
    *,
    n_filler: int = 0,
    algorithm: str = "normalized_min_sum",
    schedule: str = "layered",
    max_iterations: int = 10,
    fixed_iterations: bool = False,
    scale_factor: Optional[float] = None,
    llr_scale: float = 4.0,
    soft_output: bool = False,
    packed: bool = False,
) -> Request[Decoded]:
    """A request of `Client.decode`."""
    message_bits = _check_code(code, n_filler)
    llrs = checked("llrs", llrs, "int8")
    llr_count = llrs.shape[-1]
    if llr_count > code.sent:
        raise ValueError(f"llrs has shape {llrs.shape}: its last axis is more than {code.sent}, the bits that are sent")
    check_whole("max_iterations", max_iterations, 1, 100)
    blocks = llrs.shape[:-1]
    count = math.prod(blocks)
    header = _decode_header(
        code,
        count=count,
        n_filler=n_filler,
        llr_count=0 if llr_count == code.sent else llr_count,
        algorithm=_messages.enum_number("algorithm", "DecodeAlgorithm", algorithm),
        schedule=_messages.enum_number("schedule", "DecodeSchedule", schedule),
        max_iterations=max_iterations,
        fixed_iterations=fixed_iterations,
        scale_factor=scale_factor,
        llr_scale=llr_scale,
        soft_output=soft_output,
    )
    soft_shape = (*blocks, _columns_used(code, llr_count) * code._zc)

    def read(answer: Answer) -> Decoded:
        bits = answer.array(np.uint8, (*blocks, (message_bits + 7) // 8))
        return Decoded(
            bits if packed else unpack(bits, message_bits),
            np.array(answer.items("iterations", count), np.uint32).reshape(blocks),
            np.array(answer.items("parity_ok", count), np.bool_).reshape(blocks),
            answer.array(np.int8, soft_shape, SOFT) if soft_output else None,
            answer.timing(),
        )

    return Request("Decode", header, (as_bytes(llrs),), read)


def _columns_used(code: LdpcCode, llr_count: int) -> int:
    """Of a 5G code without `parity_rows` the server uses those rows alone that `llr_count` reaches."""
    columns = code._columns
    if isinstance(code, NrCode) and not code.parity_rows:
        reached = -(-llr_count // code.zc) + code._punctured
        columns = min(columns, max(reached, columns - code._rows + 4))
    return columns
