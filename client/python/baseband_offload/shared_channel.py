"""EncodeSharedChannel and DecodeSharedChannel: transport blocks of 5G to what is sent, and back."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _messages
from ._arrays import Array, as_bytes, check_last, checked, complex_bytes
from ._checks import check_whole, typed
from ._request import Answer, Request, Timing

_CRC_BITS = {"": 0, "24a": 24, "24b": 24, "16": 16}
_OUTPUTS = {"bits": np.uint8, "float32": np.complex64, "float16": np.float16, "int16": np.int16}


@typed
@dataclasses.dataclass(frozen=True)
class TransportBlock:
    """A transport block of UL-SCH or DL-SCH: 3GPP TS 38.212 clauses 6.2 and 7.2.

    Parameters
    ----------
    tb_bytes : int
        A / 8: 3 .. 262144.
    g : int
        G, coded bits that are sent: a multiple of layers * qm.
    qm : int
        Bits a symbol: 1 (pi/2-BPSK), 2, 4, 6, 8 or 10.
    base_graph : {0, 1, 2}
        0: by `tb_bytes` and `code_rate`.
    code_rate : float
        Target code rate of the first transmission, (0, 1); where `base_graph` is 0.
    rv : int
        Redundancy version: 0 .. 3.
    layers : int
        1 .. 8.
    c_init : int, optional
        Of the scrambling sequence; bits are not scrambled without it.
    tbs_lbrm : int
        Bits of the largest transport block; 0: the buffer is not limited. The downlink limits it.
    """

    tb_bytes: int
    g: int
    qm: int
    base_graph: int = 0
    code_rate: float = 0.0
    rv: int = 0
    layers: int = 1
    c_init: Optional[int] = None
    tbs_lbrm: int = 0

    def __post_init__(self) -> None:
        check_whole("tb_bytes", self.tb_bytes, 3, 262144)
        _check_sent("g", self.g, self.qm, self.layers)

    @property
    def _bytes(self) -> int:
        return self.tb_bytes

    @property
    def _sent(self) -> int:
        return self.g

    def _message(self) -> Any:
        fields = {name: getattr(self, name) for name in ("tb_bytes", "base_graph", "code_rate", "g", "tbs_lbrm")}
        block = _messages.message("TransportBlock", **fields)
        return _block(self, layers=self.layers, transport_block=block)


@typed
@dataclasses.dataclass(frozen=True)
class CodeBlock:
    """One code block alone, in the terms of DPDK's bbdev.

    Parameters
    ----------
    base_graph : {1, 2}
    zc : int
        Lifting size.
    e : int
        Bits that are sent: a multiple of qm.
    qm : int
        Bits a symbol.
    n_filler : int
    n_cb : int
        Length of the circular buffer; 0: all.
    crc : {"", "24a", "24b", "16"}
        Computed and put after the bits; checked and taken off.
    rv : int
    c_init : int, optional
    """

    base_graph: int
    zc: int
    e: int
    qm: int
    n_filler: int = 0
    n_cb: int = 0
    crc: str = ""
    rv: int = 0
    c_init: Optional[int] = None

    def __post_init__(self) -> None:
        check_whole("base_graph", self.base_graph, 1, 2)
        _check_sent("e", self.e, self.qm, 1)
        if self.crc not in _CRC_BITS:
            raise ValueError(f"crc {self.crc!r} is not one of '', 24a, 24b, 16")

    @property
    def _bytes(self) -> int:
        k = (22 if self.base_graph == 1 else 10) * self.zc
        return (k - self.n_filler - _CRC_BITS[self.crc] + 7) // 8

    @property
    def _sent(self) -> int:
        return self.e

    def _message(self) -> Any:
        fields = {name: getattr(self, name) for name in ("base_graph", "zc", "n_filler", "n_cb", "e")}
        crc = _messages.enum_number("crc", "CodeBlockCrc", self.crc) if self.crc else 0
        return _block(self, code_block=_messages.message("CodeBlock", crc=crc, **fields))


Block = Union[TransportBlock, CodeBlock]


@typed
@dataclasses.dataclass(frozen=True)
class Harq:
    """Soft bits of earlier transmissions that the server holds under `key`.

    Of one block in a call, with one transmission in flight at a time. `transmission` 0 is the first;
    each further one has a larger number. `block` is a number of yours that tells blocks apart.
    `llr_size` 8, 6 or 4: bits in which the server holds a soft bit.
    """

    key: bytes
    transmission: int
    block: int = 0
    llr_size: int = 8


@dataclasses.dataclass(frozen=True)
class EncodedSharedChannel:
    """What came of encode_shared_channel.

    Attributes
    ----------
    sent : ndarray
        Of each block: ``output="bits"``, (.., bytes) of uint8, the first bit the most significant; of
        "float32", (.., symbols) of complex64; else (.., symbols, 2). Read-only.
    timing : Timing
    """

    sent: Array
    timing: Timing


@dataclasses.dataclass(frozen=True)
class DecodedSharedChannel:
    """What came of decode_shared_channel.

    Attributes
    ----------
    data : ndarray of uint8, (.., bytes)
        The blocks, right where `crc_ok`. Read-only.
    crc_ok : ndarray of bool
        Of each block.
    code_block_crc_ok, parity_ok : ndarray of bool, (.., code blocks)
    iterations : ndarray of uint32, (.., code blocks)
    harq : ndarray of str
        "unspecified" without `Harq`; "first", "combined", "repeated", "lost", "other_block", "not_held".
    harq_message : list of str
        Why soft bits are lost or not held.
    unusable : ndarray of uint32
        Symbols or LLRs that are no numbers: they say nothing.
    timing : Timing
    """

    data: npt.NDArray[np.uint8]
    crc_ok: npt.NDArray[np.bool_]
    code_block_crc_ok: npt.NDArray[np.bool_]
    parity_ok: npt.NDArray[np.bool_]
    iterations: npt.NDArray[np.uint32]
    harq: npt.NDArray[np.str_]
    harq_message: list[str]
    unusable: npt.NDArray[np.uint32]
    timing: Timing


def _check_sent(name: str, sent: int, qm: int, layers: int) -> None:
    if qm not in (1, 2, 4, 6, 8, 10):
        raise ValueError(f"qm {qm} is not one of 1, 2, 4, 6, 8, 10")
    check_whole("layers", layers, 1, 8)
    check_whole(name, sent, 0, 2**32 - 1)
    if sent < 1 or sent % (qm * layers):
        raise ValueError(f"{name} {sent} is not a multiple of layers * qm, {qm * layers}")


def _block(block: Block, **fields: Any) -> Any:
    return _messages.message("SharedChannelBlock", rv=block.rv, qm=block.qm, c_init=block.c_init, **fields)


@typed
def encode_shared_channel_request(
    data: npt.NDArray[np.uint8], block: Block, *, output: str = "bits", scale: float = 0.0
) -> Request[EncodedSharedChannel]:
    """A request of `Client.encode_shared_channel`."""
    data = checked("data", data, "uint8")
    check_last("data", data, block._bytes, "the bytes of a block")
    blocks = data.shape[:-1]
    number = _messages.enum_number("output", "SharedChannelOutput", output)
    dtype = _OUTPUTS[output.lower()]
    shape = {"bits": ((block._sent + 7) // 8,), "float32": (block._sent // block.qm,)}.get(
        output.lower(), (block._sent // block.qm, 2)
    )
    group = _messages.message(
        "EncodeSharedChannelGroup", block=block._message(), count=math.prod(blocks), output=number, scale=scale
    )

    def read(answer: Answer) -> EncodedSharedChannel:
        return EncodedSharedChannel(answer.array(dtype, (*blocks, *shape)), answer.timing())

    header = _messages.message("EncodeSharedChannelRequest", groups=[group]).SerializeToString()
    return Request("EncodeSharedChannel", header, (as_bytes(data),), read)


def _received(received: Any, block: Block) -> tuple[Array, tuple[int, ...], str]:
    """What was received, the shape of the blocks, and the name of the input."""
    symbols = block._sent // block.qm
    is_complex = isinstance(received, np.ndarray) and received.dtype.kind == "c"
    if is_complex or (getattr(received, "ndim", 0) > 1 and received.shape[-2:] == (symbols, 2)):
        array, shape = complex_bytes("received", received, "float32", "float16", "int16", "int8")
        if shape[-1] != symbols:
            raise ValueError(f"received has shape {array.shape}: it is not {symbols} symbols a block")
        name = "symbols_" + ("float32" if array.dtype.kind == "c" else str(array.dtype))
        return array.reshape(*shape[:-1], -1), shape[:-1], name
    array = checked("received", received, "int8", "int16", "float16")
    check_last("received", array, block._sent, f"the LLRs of a block, nor has it {symbols} symbols")
    return array, array.shape[:-1], "llr_" + str(array.dtype)


def _padded(array: Array, blocks: tuple[int, ...]) -> Array:
    """Each block filled up with zeros to a multiple of 4 bytes."""
    rows = np.ascontiguousarray(array).view(np.uint8).reshape(*blocks, -1)
    missing = -rows.shape[-1] % 4
    return rows if missing == 0 else np.pad(rows, [(0, 0)] * len(blocks) + [(0, missing)])


@typed
def decode_shared_channel_request(
    received: Array,
    block: Block,
    *,
    llr_scale: float = 0.0,
    symbol_scale: float = 0.0,
    noise_variance: Optional[float] = None,
    log_sum: bool = False,
    harq: Optional[Harq] = None,
    max_iterations: int = 10,
    scale_factor: float = 0.0,
    early_stop: str = "parity",
) -> Request[DecodedSharedChannel]:
    """A request of `Client.decode_shared_channel`."""
    array, blocks, name = _received(received, block)
    check_whole("max_iterations", max_iterations, 1, 100)
    if name.startswith("symbols") and noise_variance is None:
        raise ValueError("noise_variance is needed where symbols are received")
    count = math.prod(blocks)
    group = _messages.message(
        "DecodeSharedChannelGroup",
        block=block._message(),
        count=count,
        input=_messages.enum_number("received", "SharedChannelInput", name),
        llr_scale=llr_scale,
        symbol_scale=symbol_scale,
        noise_variance=noise_variance,
        log_sum=log_sum,
        harq=None if harq is None else _messages.message("Harq", **dataclasses.asdict(harq)),
        max_iterations=max_iterations,
        scale_factor=scale_factor,
        early_stop=_messages.enum_number("early_stop", "EarlyStop", early_stop),
    )

    def read(answer: Answer) -> DecodedSharedChannel:
        found = answer.items("blocks", count)
        code_blocks = found[0].code_blocks  # blocks that are alike have equally many
        of_code_blocks = {
            field: np.array(answer.items(field, count * code_blocks)).reshape(*blocks, code_blocks)
            for field in ("crc_ok", "parity_ok", "iterations")
        }
        outcomes = [_messages.enum_name("HarqOutcome", result.harq) for result in found]
        return DecodedSharedChannel(
            data=answer.array(np.uint8, (*blocks, block._bytes)),
            crc_ok=np.array([result.crc_ok for result in found]).reshape(blocks),
            code_block_crc_ok=of_code_blocks["crc_ok"],
            parity_ok=of_code_blocks["parity_ok"],
            iterations=of_code_blocks["iterations"].astype(np.uint32),
            harq=np.array(outcomes).reshape(blocks),
            harq_message=[result.harq_message for result in found],
            unusable=np.array([result.unusable for result in found], np.uint32).reshape(blocks),
            timing=answer.timing(),
        )

    header = _messages.message("DecodeSharedChannelRequest", groups=[group]).SerializeToString()
    return Request("DecodeSharedChannel", header, (as_bytes(_padded(array, blocks)),), read)
