"""The messages of proto/baseband/v1, made when this module is imported.

From a descriptor set, not from generated code: a set that any protoc wrote is read by every release
of protobuf, whereas generated code asks for a runtime at least as new as its protoc.
"""

from __future__ import annotations

import functools
import importlib.resources
from typing import Any, Callable

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from ._checks import check_type

_PACKAGE = "baseband.v1."
# A pool of our own: the program may have generated code for the same messages.
_POOL = descriptor_pool.DescriptorPool()
for _file in descriptor_pb2.FileDescriptorSet.FromString(
    importlib.resources.files(__package__).joinpath("contract.binpb").read_bytes()
).file:
    _POOL.AddSerializedFile(_file.SerializeToString())
_CLASSES: dict[str, Any] = {}


def message(name: str, /, **fields: Any) -> Any:
    """A message of that name; fields that are None are left out.

    TypeError and ValueError say which field protobuf does not take, whose own words do not.
    """
    made = message_class(name)
    given = {key: value for key, value in fields.items() if value is not None}
    for key in given.keys() - made.DESCRIPTOR.fields_by_name.keys():
        raise _other_version(f"{name}.{key}")
    try:
        return made(**given)
    except (TypeError, ValueError):
        for key, value in given.items():
            try:
                made(**{key: value})
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError  # UnicodeError takes five arguments
                raise kind(f"{key} {value!r}: {error}") from None
        raise


def _other_version(missing: str) -> RuntimeError:
    return RuntimeError(
        f"the contract was built from another version than this package: it has no {missing}. Build it again"
        " (target baseband_python), or install the package again"
    )


def _found(find: Callable[[str], Any], name: str) -> Any:
    try:
        return find(_PACKAGE + name)
    except KeyError:
        raise _other_version(name) from None


def message_class(name: str) -> Any:
    if name not in _CLASSES:
        descriptor = _found(_POOL.FindMessageTypeByName, name)
        if hasattr(message_factory, "GetMessageClass"):  # from protobuf 4.22 on
            _CLASSES[name] = message_factory.GetMessageClass(descriptor)
        else:
            _CLASSES[name] = message_factory.MessageFactory(_POOL).GetPrototype(descriptor)
    return _CLASSES[name]


@functools.lru_cache(maxsize=None)
def _names(enum: str) -> dict[str, int]:
    """Of an enum's values, without the prefix that all share, in lower case."""
    descriptor = _found(_POOL.FindEnumTypeByName, enum)
    unspecified = next(value.name for value in descriptor.values if value.number == 0)
    prefix = unspecified[: -len("UNSPECIFIED")]
    return {value.name[len(prefix) :].lower(): value.number for value in descriptor.values}


def enum_number(field: str, enum: str, name: str) -> int:
    """The number of `name`; ValueError names the field and all that it may be."""
    check_type(field, name, str, "a str")
    names = _names(enum)
    number = names.get(name.lower().replace("/", "_").replace("-", "_"), 0)
    if number == 0:
        known = ", ".join(_as_typed(known) for known, value in names.items() if value)
        raise ValueError(f"{field} {name!r} is not one of {known}")
    return number


def _as_typed(name: str) -> str:
    """A code rate: "2/3A" for 2_3a."""
    return name.replace("_", "/").upper() if name[0].isdigit() else name


def rate_name(field: str, enum: str, name: str) -> str:
    """A code rate as its standard writes it: "2/3A" for "2/3a" or "2_3A"."""
    return _as_typed(enum_name(enum, enum_number(field, enum, name)))


def enum_name(enum: str, number: int) -> str:
    return next((name for name, value in _names(enum).items() if value == number), str(number))


def to_dict(message: Any) -> dict[str, Any]:
    """The fields by name: numbers, strings, bytes, lists and dictionaries."""

    def convert(field: Any, value: Any) -> Any:
        if field.message_type is not None:
            return to_dict(value)
        return enum_name(field.enum_type.full_name[len(_PACKAGE) :], value) if field.enum_type else value

    found = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        is_list = not isinstance(value, (str, bytes)) and hasattr(value, "__len__") and not hasattr(value, "DESCRIPTOR")
        found[field.name] = [convert(field, item) for item in value] if is_list else convert(field, value)
    return found
