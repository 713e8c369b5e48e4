"""The head of a WAV file: RIFF, RF64 or BW64. No size that it says is believed unchecked."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import struct
from typing import BinaryIO, Optional

_UNKNOWN = 0xFFFFFFFF  # a size that stands elsewhere, or nowhere
_CENTRE = 32  # in "auxi", behind the times of begin and end
_EXTENSIBLE = 0xFFFE
_GUID = bytes.fromhex("000000001000800000aa00389b71")  # behind the number of the format
_NAMES = {(1, 8): "u8", (1, 16): "i16", (1, 24): "i24", (1, 32): "i32", (3, 32): "f32", (3, 64): "f64"}
_MOST_CHUNKS = 10000
_MOST_READ = 4096  # of a chunk


@dataclasses.dataclass
class Head:
    name: str = ""  # of its numbers: "i16"
    channels: int = 0
    sample_rate_hz: float = 0.0
    frequency_hz: float = 0.0
    begin: int = 0  # of the samples, bytes
    count: int = 0


class _Reader:
    def __init__(self, path: pathlib.Path, file: BinaryIO) -> None:
        self.path, self.file = path, file
        self.size = os.fstat(file.fileno()).st_size
        self.sizes: dict[bytes, int] = {}  # of "ds64"
        self.data: Optional[int] = None
        self.is_open = False
        self.head = Head()

    def refuse(self, what: str) -> ValueError:
        return ValueError(f"{self.path} {what}")

    def take(self, size: int) -> bytes:
        found = self.file.read(size)
        if len(found) < size:
            raise self.refuse("ends within its head")
        return found

    def read(self) -> Head:
        if self.size == 0:
            raise self.refuse("is empty")
        riff = self.take(12)
        self.is_64 = riff[:4] in (b"RF64", b"BW64")
        if not (self.is_64 or riff[:4] == b"RIFF") or riff[8:] != b"WAVE":
            raise self.refuse("is no WAV file: it does not begin with RIFF, RF64 or BW64, and WAVE")
        chunks = 0
        while self.size - self.file.tell() >= 8:
            chunks += 1
            if chunks > _MOST_CHUNKS:
                raise self.refuse(f"has more than {_MOST_CHUNKS} chunks")
            self.read_chunk()
        if not self.head.channels or self.data is None:
            raise self.refuse(f"ends without a chunk '{'data' if self.head.channels else 'fmt '}'")
        sample = int(self.head.name[1:]) // 8 * self.head.channels
        if self.is_open:
            self.data -= self.data % sample
        if self.data == 0:
            raise self.refuse("is empty: its chunk 'data' has no bytes")
        if self.data % sample:
            raise self.refuse(f"has {self.data} bytes of samples, not a multiple of the {sample} of a sample")
        self.head.count = self.data // sample
        return self.head

    def read_chunk(self) -> None:
        name, size = struct.unpack("<4sI", self.take(8))
        place = self.file.tell()
        left = self.size - place
        said = ascii(name.decode("latin-1"))
        if size == _UNKNOWN and self.is_64:
            if name not in self.sizes:
                raise self.refuse(f"has a chunk {said} whose size does not stand in 'ds64' before it")
            size = self.sizes[name]
        elif size == _UNKNOWN and name == b"data":
            size, self.is_open = left, True
        if size > left:
            raise self.refuse(f"has a chunk {said} that says {size} bytes, but {left} follow")
        if name == b"data":
            if self.data is not None:
                raise self.refuse("has two chunks 'data'")
            self.head.begin, self.data = place, size
        elif name in (b"fmt ", b"ds64", b"auxi"):
            body = self.take(min(size, _MOST_READ))
            {b"fmt ": self.read_format, b"ds64": self.read_sizes, b"auxi": self.read_auxiliary}[name](body)
        self.file.seek(place + size + size % 2)  # chunks begin at even places

    def read_sizes(self, body: bytes) -> None:
        if len(body) < 28:
            raise self.refuse(f"has a chunk 'ds64' of {len(body)} bytes, not 28 or more")
        self.sizes = {b"data": struct.unpack_from("<Q", body, 8)[0]}
        for at in range(28, len(body) - 11, 12):
            name, size = struct.unpack_from("<4sQ", body, at)
            self.sizes[name] = size

    def read_format(self, body: bytes) -> None:
        if len(body) < 16:
            raise self.refuse(f"has a chunk 'fmt ' of {len(body)} bytes, not 16 or more")
        kind, channels, rate, _, sample, bits = struct.unpack_from("<HHIIHH", body)
        if kind == _EXTENSIBLE and body[26:40] == _GUID:
            (kind,) = struct.unpack_from("<H", body, 24)
        if channels not in (1, 2):
            raise self.refuse(f"has {channels} channels, not 1 (real) or 2 (I and Q)")
        if (kind, bits) not in _NAMES:
            raise self.refuse(
                f"has samples of format {kind} and {bits} bits, not PCM (1) of 8, 16, 24 or 32 or float (3) of 32 or 64"
            )
        if sample != channels * bits // 8:
            raise self.refuse(
                f"says {sample} bytes of a sample, but {channels} channels of {bits} bits have {channels * bits // 8}"
            )
        self.head.name, self.head.channels, self.head.sample_rate_hz = _NAMES[kind, bits], channels, float(rate)

    def read_auxiliary(self, body: bytes) -> None:
        if len(body) >= _CENTRE + 4 and not body.startswith(b"<"):  # some write XML there
            self.head.frequency_hz = float(struct.unpack_from("<I", body, _CENTRE)[0])


def read_head(path: pathlib.Path) -> Head:
    """ValueError names what is wrong with the file."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no regular file")
    with path.open("rb") as file:
        return _Reader(path, file).read()
