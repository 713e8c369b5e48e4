"""Requests and answers as bytes: fields by protobuf, bulk data beside it, so that it is copied once."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Generic, NamedTuple, Sequence, TypeVar

import numpy as np

from . import _messages
from ._arrays import Array, Bytes
from ._checks import check_each
from .errors import make_error

T = TypeVar("T")
PAYLOAD = 15
SOFT = 14  # and the points of a carrier's curves
_LENGTH_DELIMITED = 2


class Timing(NamedTuple):
    """Where the time of a request went, in microseconds. Device stages are those of its whole batch."""

    receive_us: int
    queue_us: int
    copy_in_us: int
    h2d_us: int
    kernel_us: int
    d2h_us: int
    batch_blocks: int
    batch_requests: int


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def field_head(number: int, size: int) -> bytes:
    """What goes before the `size` bytes of a bytes or message field."""
    return varint(number << 3 | _LENGTH_DELIMITED) + varint(size)


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def split(data: Bytes, wanted: Sequence[int]) -> tuple[bytes, dict[int, memoryview]]:
    """The bytes or message fields `wanted` of a message, as parts of `data`; and all other fields."""
    view = memoryview(data)
    others, found = [], {}
    at, end = 0, len(view)
    try:
        while at < end:
            begin = at
            tag, at = _read_varint(view, at)
            kind = tag & 7
            size = {1: 8, 5: 4}.get(kind, 0)
            if kind == 0:
                _, at = _read_varint(view, at)
            elif kind == _LENGTH_DELIMITED:
                size, at = _read_varint(view, at)
            if at + size > end or kind not in (0, 1, 2, 5):
                raise IndexError
            at += size
            if kind == _LENGTH_DELIMITED and tag >> 3 in wanted:
                found[tag >> 3] = view[at - size : at]
            else:
                others.append(view[begin:at])
    except IndexError:
        raise make_error("INTERNAL", "the answer cannot be read") from None
    return b"".join(others), found


class Answer:
    """A response, taken from its beginning to its end by those whose blocks are in it."""

    def __init__(self, name: str, data: Bytes) -> None:
        others, self._bulk = split(data, (SOFT, PAYLOAD))
        try:
            self.message = _messages.message_class(name).FromString(others)
        except Exception as error:  # of protobuf, which has one that not all releases name alike
            raise make_error("INTERNAL", f"the answer cannot be read: {error}") from None
        self._taken = {SOFT: 0, PAYLOAD: 0}
        self._items: dict[str, int] = {}

    def timing(self) -> Timing:
        timing = self.message.timing
        return Timing(*(getattr(timing, name) for name in Timing._fields))

    def array(self, dtype: Any, shape: tuple[int, ...], field: int = PAYLOAD) -> Array:
        """The next elements of the bulk; a view of what was received."""
        count = math.prod(shape)
        begin = self._taken[field]
        end = self._taken[field] = begin + count * np.dtype(dtype).itemsize
        data = self._bulk.get(field, memoryview(b""))
        if end > len(data):
            raise make_error("INTERNAL", f"the answer has {len(data)} bytes of results, not {end} or more")
        return np.frombuffer(data[begin:end], dtype).reshape(shape)

    def items(self, name: str, count: int) -> Any:
        """The next `count` items of a repeated field."""
        begin = self._items.get(name, 0)
        self._items[name] = begin + count
        found = getattr(self.message, name)[begin : begin + count]
        if len(found) != count:
            raise make_error("INTERNAL", f"the answer has {len(found)} of {count} {name}")
        return found


@dataclasses.dataclass(frozen=True)
class Request(Generic[T]):
    """One request of a unary operation, to be sent by `Client.call` or in a `Client.submit`.

    Made by `encode_request`, `decode_request` and so on; `join` makes one of several.
    """

    rpc: str
    header: bytes = dataclasses.field(repr=False)  # all fields but the payload
    payload: tuple[Bytes, ...] = dataclasses.field(repr=False)
    read: Callable[[Answer], T] = dataclasses.field(repr=False)
    joinable: bool = True

    def parts(self) -> list[Bytes]:
        size = sum(len(part) for part in self.payload)
        return [self.header, field_head(PAYLOAD, size), *self.payload]

    def result(self, data: Bytes) -> T:
        """Of the bytes of the response."""
        return self.read(Answer(self.rpc + "Response", data))


def join(requests: Sequence[Request[T]]) -> Request[list[T]]:
    """One request of several of one operation, whose codes or parameters may differ: a slot's blocks.

    Parameters
    ----------
    requests : sequence of Request
        All of `encode_request`, or all of `decode_request`, and so on.

    Returns
    -------
    Request
        Its result is a list of theirs.

    Examples
    --------
    >>> import numpy as np
    >>> import baseband_offload as bo
    >>> client = bo.Client(target)
    >>> bits = np.zeros((2, 324), np.uint8)
    >>> half = bo.encode_request(bits, bo.WifiCode("1/2", 648))
    >>> five_sixths = bo.encode_request(np.zeros(540, np.uint8), bo.WifiCode("5/6", 648))
    >>> [parity.bits.shape for parity in client.call(bo.join([half, five_sixths]))]
    [(2, 324), (108,)]
    """
    check_each("requests", requests, Request)
    if len({request.rpc for request in requests}) != 1:
        raise ValueError("join needs requests, all of one operation")
    if not all(request.joinable for request in requests):
        raise ValueError(f"{requests[0].rpc} takes one signal a request: join cannot make one of several")
    return Request(
        requests[0].rpc,
        b"".join(request.header for request in requests),
        tuple(part for request in requests for part in request.payload),
        lambda answer: [request.read(answer) for request in requests],
    )
