"""Arrays of callers: looked at by name, then taken as bytes without a copy where they are contiguous."""

from __future__ import annotations

from typing import Any, Union

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bytes = Union[bytes, memoryview]


def checked(name: str, value: Any, *dtypes: str) -> Array:
    """`value`, if it is an array of one of `dtypes` and has an axis."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} is {type(value).__name__}, not a numpy array")
    if value.dtype not in [np.dtype(dtype) for dtype in dtypes]:
        raise TypeError(f"{name} has dtype {value.dtype}, not {' or '.join(dtypes)}")
    if value.ndim == 0 or value.size == 0:
        raise ValueError(f"{name} has shape {value.shape}: it is empty")
    return value


def check_last(name: str, array: Array, wanted: int, what: str) -> None:
    """That the last axis, a block's, is so long."""
    if array.shape[-1] != wanted:
        raise ValueError(f"{name} has shape {array.shape}: its last axis is not {wanted}, {what}")


def as_bytes(array: Array) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def pack(name: str, bits: Array) -> Array:
    """Bits of 0 and 1 along the last axis, the first one the most significant of its byte."""
    if bits.dtype != np.bool_ and bits.max() > 1:
        raise ValueError(f"{name} holds {bits.max()}, which is no bit; packed=True takes eight to a byte")
    return np.packbits(bits, axis=-1)


def unpack(packed: Array, count: int) -> Array:
    return np.unpackbits(packed, axis=-1, count=count)


def complex_bytes(name: str, samples: Any, *dtypes: str) -> tuple[Array, tuple[int, ...]]:
    """Complex samples, and their shape. Complex dtypes have one element a sample; of others the last
    axis is I and Q. complex128 becomes complex64."""
    array = checked(name, samples, "complex64", "complex128", *dtypes)
    if array.dtype.kind == "c":
        return array.astype(np.complex64, copy=False), array.shape
    check_last(name, array, 2, "I and Q")
    if array.ndim == 1:
        raise ValueError(f"{name} has shape {array.shape}, not (.., samples, 2)")
    return array, array.shape[:-1]


def as_float32(name: str, values: Any) -> npt.NDArray[np.float32]:
    """float32 or float64 as float32; ValueError names the first that is none, or not finite."""
    array = checked(name, values, "float32", "float64")
    wrong = np.argwhere(~(np.abs(array) <= np.finfo(np.float32).max))
    if wrong.size:
        place = tuple(wrong[0].tolist())
        raise ValueError(f"{name}{list(place)} {array[place]} is not a finite float32")
    return array.astype(np.float32)
