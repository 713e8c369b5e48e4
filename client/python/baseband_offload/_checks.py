"""Arguments of callers, looked at by name: TypeError and ValueError say the field, its value and what it may be."""

from __future__ import annotations

import collections.abc
import dataclasses
import fractions
import functools
import inspect
import numbers
import os
import pathlib
import reprlib
import typing
from typing import Any, Callable, Optional, TypeVar, Union, cast

import numpy as np

T = TypeVar("T")


def check_type(name: str, value: Any, wanted: Any, what: str) -> None:
    """`what` is what the field has to be, in words."""
    if not isinstance(value, wanted):
        raise TypeError(f"{name} {reprlib.repr(value)} is {type(value).__name__}, not {what}")


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
    wanted = "an iterable of " + " or ".join(kind.__name__ for kind in one)
    texts = isinstance(values, (str, bytes))
    check_type(name, None if texts else values, (collections.abc.Iterable, collections.abc.AsyncIterable), wanted)


def check_positive(name: str, value: Optional[float]) -> None:
    """None is not asked for."""
    if value is None:
        return
    check_number(name, value)
    if not value > 0:
        raise ValueError(f"{name} {value} is not > 0")


_KINDS: dict[Any, tuple[Any, str]] = {
    bool: ((bool, np.bool_), "True or False"),
    bytes: (bytes, "bytes"),
    float: (numbers.Real, "a number"),
    fractions.Fraction: (numbers.Real, "a number"),
    int: (numbers.Integral, "a whole number"),
    pathlib.Path: (os.PathLike, "a path"),
    str: (str, "a str"),
    type(None): (type(None), "None"),
}


def _kind(hint: Any) -> Optional[tuple[Any, str]]:
    """What an argument of that type hint has to be; None: its function looks at it, as of arrays and lists."""
    origin = typing.get_origin(hint)
    if origin is Union:
        kinds = [_kind(part) for part in typing.get_args(hint)]
        found = [kind for kind in kinds if kind is not None]
        *words, last = dict.fromkeys(word for _, word in found) or [""]
        text = f"{', '.join(words)} or {last}" if words else last
        return (tuple(types for types, _ in found), text) if len(found) == len(kinds) else None
    if origin is collections.abc.Callable:
        return collections.abc.Callable, "callable"
    hint = origin or hint
    if hint in _KINDS:
        return _KINDS[hint]
    if not isinstance(hint, type) or not dataclasses.is_dataclass(hint):
        return None
    return hint, f"{'an' if hint.__name__[0] in 'AEIO' else 'a'} {hint.__name__}"


def _nested(types: Any) -> tuple[Any, ...]:
    return tuple(kind for part in types for kind in _nested(part)) if isinstance(types, tuple) else (types,)


def _typed_call(function: Any, hints: Callable[[], dict[str, Any]]) -> Any:
    signature = inspect.signature(function)

    @functools.lru_cache(maxsize=None)
    def wanted() -> dict[str, tuple[Any, str]]:  # at the first call, when all that the hints name is there
        kinds = {name: _kind(hint) for name, hint in hints().items() if name in signature.parameters}
        return {name: (_nested(kind[0]), kind[1]) for name, kind in kinds.items() if kind is not None}

    def check(arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        kinds = wanted()
        for name, value in [*zip(signature.parameters, arguments), *options.items()]:
            if name in kinds:
                check_type(name, value, *kinds[name])

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        check(arguments, options)
        return function(*arguments, **options)

    @functools.wraps(function)
    async def call_async(*arguments: Any, **options: Any) -> Any:
        check(arguments, options)
        return await function(*arguments, **options)

    return call_async if inspect.iscoroutinefunction(function) else call


def typed(made: T) -> T:
    """`made`, a function or a dataclass, whose arguments are held against their type hints: numbers, texts, flags,
    callables and dataclasses. TypeError as check_type() has it."""
    if not isinstance(made, type):
        return cast(T, _typed_call(made, lambda: typing.get_type_hints(made)))
    made.__init__ = _typed_call(made.__init__, lambda: typing.get_type_hints(made))  # type: ignore[misc]
    return cast(T, made)
