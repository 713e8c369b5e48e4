"""LDPC codes and how large they are."""

from __future__ import annotations

import dataclasses
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from . import _messages
from ._arrays import checked
from ._checks import check_whole, typed

# Of 24 block columns, the parity rows of 802.16e's and 802.11n's rates.
_ROWS = {"1/2": 12, "2/3": 8, "2/3A": 8, "2/3B": 8, "3/4": 6, "3/4A": 6, "3/4B": 6, "5/6": 4}


class _Shape:
    """Sizes in bits of a quasi-cyclic code, of `_rows` x `_columns` blocks of `_zc` x `_zc` bits."""

    _rows: int
    _columns: int
    _zc: int
    _punctured: int = 0

    @property
    def k(self) -> int:
        """Information bits, fillers included."""
        return (self._columns - self._rows) * self._zc

    @property
    def parity(self) -> int:
        return self._rows * self._zc

    @property
    def full(self) -> int:
        """The whole code word, punctured bits included."""
        return self._columns * self._zc

    @property
    def sent(self) -> int:
        """The code word without the punctured bits."""
        return (self._columns - self._punctured) * self._zc

    def _set_shape(self, rows: int, columns: int, zc: int, punctured: int = 0, used: int = 0) -> None:
        """Of a frozen dataclass; `used` rows and the columns they leave, if it is not 0."""
        used = used or rows
        shape = {"_rows": used, "_columns": columns - rows + used, "_zc": zc, "_punctured": punctured}
        for name, value in shape.items():
            object.__setattr__(self, name, value)

    def _message(self) -> Any:
        raise NotImplementedError


@typed
@dataclasses.dataclass(frozen=True)
class NrCode(_Shape):
    """5G NR, 3GPP TS 38.212 clause 5.3.2.

    Parameters
    ----------
    base_graph : {1, 2}
    zc : int
        Lifting size, one of the 51 of table 5.3.2-1: 2 .. 384.
    parity_rows : int
        Use only so many rows, for a higher rate: 4 .. 46 (base graph 1) or 42 (2); 0: all.

    Examples
    --------
    >>> from baseband_offload import NrCode
    >>> code = NrCode(1, 384, parity_rows=24)
    >>> code.k, code.sent
    (8448, 16896)
    """

    base_graph: int
    zc: int
    parity_rows: int = 0

    def __post_init__(self) -> None:
        check_whole("base_graph", self.base_graph, 1, 2)
        check_whole("zc", self.zc, -(2**31), 2**31 - 1)
        odd = self.zc // (self.zc & -self.zc) if self.zc > 0 else 0
        if not 2 <= self.zc <= 384 or odd > 15:
            raise ValueError(f"zc {self.zc} is not a lifting size of TS 38.212 table 5.3.2-1 (2 .. 384)")
        rows, columns = (46, 68) if self.base_graph == 1 else (42, 52)
        if self.parity_rows:
            check_whole("parity_rows", self.parity_rows, 4, rows)
        self._set_shape(rows, columns, self.zc, 2, self.parity_rows)

    def _message(self) -> Any:
        nr = _messages.message("NrCode", base_graph=self.base_graph, zc=self.zc)
        return _messages.message("LdpcCode", nr=nr, parity_rows=self.parity_rows)


@typed
@dataclasses.dataclass(frozen=True)
class WimaxCode(_Shape):
    """IEEE 802.16e-2005: `rate` "1/2", "2/3A", "2/3B", "3/4A", "3/4B" or "5/6"; `n` 576, 672, .., 2304."""

    rate: str
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _messages.rate_name("rate", "WimaxCode.Rate", self.rate))
        check_whole("n", self.n, 0, 2**32 - 1)
        if not 576 <= self.n <= 2304 or self.n % 96 != 0:
            raise ValueError(f"n {self.n} is not one of 576, 672, .., 2304")
        self._set_shape(_ROWS[self.rate], 24, self.n // 24)

    def _message(self) -> Any:
        rate = _messages.enum_number("rate", "WimaxCode.Rate", self.rate)
        return _messages.message("LdpcCode", wimax=_messages.message("WimaxCode", rate=rate, n=self.n))


@typed
@dataclasses.dataclass(frozen=True)
class WifiCode(_Shape):
    """IEEE 802.11n-2009: `rate` "1/2", "2/3", "3/4" or "5/6"; `n` 648, 1296 or 1944."""

    rate: str
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _messages.rate_name("rate", "WifiCode.Rate", self.rate))
        if self.n not in (648, 1296, 1944):
            raise ValueError(f"n {self.n} is not one of 648, 1296, 1944")
        self._set_shape(_ROWS[self.rate], 24, self.n // 24)

    def _message(self) -> Any:
        rate = _messages.enum_number("rate", "WifiCode.Rate", self.rate)
        return _messages.message("LdpcCode", wifi=_messages.message("WifiCode", rate=rate, n=self.n))


@typed
@dataclasses.dataclass(frozen=True, eq=False)
class CustomCode(_Shape):
    """A quasi-cyclic code of your own.

    Parameters
    ----------
    shifts : ndarray of int, (rows, columns)
        -1 for a zero block, else the identity is circularly shifted right by 0 .. zc - 1. The first
        columns - rows columns are systematic. At most 64 rows and 128 columns.
    zc : int
        Block size, 1 .. 512.
    punctured_columns : int
        First block columns that are never sent.
    parity_rows : int
        Use only so many rows; 0: all.
    """

    shifts: npt.NDArray[np.integer[Any]]
    zc: int
    punctured_columns: int = 0
    parity_rows: int = 0

    def __post_init__(self) -> None:
        shifts = checked("shifts", self.shifts, "int8", "int16", "int32", "int64")
        if shifts.ndim != 2:
            raise ValueError(f"shifts has shape {shifts.shape}, not (rows, columns)")
        rows, columns = shifts.shape
        check_whole("rows", rows, 1, 64)
        check_whole("columns", columns, rows + 1, 128)
        check_whole("zc", self.zc, 1, 512)
        check_whole("punctured_columns", self.punctured_columns, 0, columns - rows)
        if self.parity_rows:
            check_whole("parity_rows", self.parity_rows, 1, rows)
        kept = shifts.copy()  # nobody changes it: headers of requests are kept
        kept.flags.writeable = False
        object.__setattr__(self, "shifts", kept)
        self._set_shape(rows, columns, self.zc, self.punctured_columns, self.parity_rows)

    def _message(self) -> Any:
        rows, columns = self.shifts.shape
        custom = _messages.message(
            "CustomCode",
            rows=rows,
            columns=columns,
            zc=self.zc,
            punctured_columns=self.punctured_columns,
            shifts=self.shifts.reshape(-1).tolist(),
        )
        return _messages.message("LdpcCode", custom=custom, parity_rows=self.parity_rows)


LdpcCode = Union[NrCode, WimaxCode, WifiCode, CustomCode]
