"""Arguments of callers, looked at by name: TypeError and ValueError say the field, its value and what it may be."""

from __future__ import annotations

import collections.abc
import numbers
from typing import Any, Optional


def check_type(name: str, value: Any, wanted: type, what: str) -> None:
    """`what` is what the field has to be, in words."""
    if not isinstance(value, wanted):
        raise TypeError(f"{name} {value!r} is {type(value).__name__}, not {what}")


def check_number(name: str, value: Any) -> None:
    check_type(name, value, numbers.Real, "a number")


def check_range(name: str, value: float, low: float, high: float) -> None:
    check_number(name, value)
    if not low <= value <= high:
        raise ValueError(f"{name} {value} is not in [{low}, {high}]")


def check_whole(name: str, value: int, low: int, high: int) -> None:
    check_type(name, value, numbers.Integral, "a whole number")
    check_range(name, value, low, high)


def check_each(name: str, values: Any, wanted: type) -> None:
    """A single one without its list is refused, too."""
    check_type(name, values, collections.abc.Sequence, f"a list of {wanted.__name__}")
    for number, value in enumerate(values):
        check_type(f"{name}[{number}]", value, wanted, f"a {wanted.__name__}")


def check_many(name: str, values: Any, *one: type) -> None:
    """`values` is iterated later, and no single one of those types, which would be iterated, too."""
    if isinstance(values, one):
        raise TypeError(f"{name} is one {type(values).__name__}, not an iterable of such: of one alone write [{name}]")


def check_positive(name: str, value: Optional[float]) -> None:
    """None is not asked for."""
    if value is None:
        return
    check_number(name, value)
    if not value > 0:
        raise ValueError(f"{name} {value} is not > 0")
