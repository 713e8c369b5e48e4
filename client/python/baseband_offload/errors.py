"""Errors: the server's canonical codes, each an exception with its message."""

from __future__ import annotations

from typing import Any, Optional

_PUSHBACK = "grpc-retry-pushback-ms"


class BasebandError(Exception):
    """A request that has no result.

    Attributes
    ----------
    code : str
        The canonical code of gRPC: ``"INVALID_ARGUMENT"``.
    message : str
        The server's text, which names the field, its value and its range.
    retry_after : float or None
        Seconds after which the server would have the request again; None: it does not say.
    """

    def __init__(self, code: str, message: str, retry_after: Optional[float] = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retry_after = retry_after


class InvalidArgument(BasebandError, ValueError):
    """The request is wrong, or more than this server ever takes."""


class ResourceExhausted(BasebandError):
    """A queue, memory or a quota is full now; `retry_after` says when to come back, if ever."""


class FailedPrecondition(BasebandError):
    """Another request uses what this one names, or the request is refused for a while."""


class DeadlineExceeded(BasebandError, TimeoutError):
    """No result within the timeout."""


class Cancelled(BasebandError):
    """This side cancelled."""


class Unavailable(BasebandError, ConnectionError):
    """No server is to be reached, it stops, or its device was lost."""


class OutOfRange(BasebandError):
    """A point of a search has no value, and ``nan_policy`` is ``"fail"``."""


class NotFound(BasebandError):
    """There is no service of that name."""


class Unauthenticated(BasebandError, PermissionError):
    """The server wants to know who calls."""


class PermissionDenied(BasebandError, PermissionError):
    """This client may not make that call."""


class Unimplemented(BasebandError):
    """The server has no such call."""


class Internal(BasebandError):
    """The device refused, or an answer cannot be read."""


# By the names of the codes; canonical numbers, as a Submit stream brings them.
_CLASSES: dict[str, type[BasebandError]] = {
    "CANCELLED": Cancelled,
    "INVALID_ARGUMENT": InvalidArgument,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "NOT_FOUND": NotFound,
    "PERMISSION_DENIED": PermissionDenied,
    "RESOURCE_EXHAUSTED": ResourceExhausted,
    "FAILED_PRECONDITION": FailedPrecondition,
    "OUT_OF_RANGE": OutOfRange,
    "UNIMPLEMENTED": Unimplemented,
    "INTERNAL": Internal,
    "UNAVAILABLE": Unavailable,
    "UNAUTHENTICATED": Unauthenticated,
}
_NUMBERS = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED"
    " RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE"
    " DATA_LOSS UNAUTHENTICATED"
).split()
_MEANINGS = {
    "UNIMPLEMENTED": "the server has no such call: it is of another version, or no Baseband server at all",
    "UNAVAILABLE": "the server cannot be reached, or is stopping; it gave no reason",
    "DEADLINE_EXCEEDED": "the timeout passed",
    "CANCELLED": "cancelled",
    "UNAUTHENTICATED": "the server wants to know who calls: a token or a client's certificate; it gave no reason",
    "PERMISSION_DENIED": "this client may not make that call; the server gave no reason",
    "RESOURCE_EXHAUSTED": "the server has no room, or the client's quota is used up; it gave no reason",
}


def make_error(code: str, message: str = "", retry_after: Optional[float] = None) -> BasebandError:
    """The exception of `code`, with what the code means in place of an empty message."""
    message = message or _MEANINGS.get(code, f"the server answered {code} and gave no reason")
    return _CLASSES.get(code, BasebandError)(code, message, retry_after)


def numbered_error(number: int, message: str, retry_after: Optional[float]) -> BasebandError:
    code = _NUMBERS[number] if 0 <= number < len(_NUMBERS) else "UNKNOWN"
    return make_error(code, message, retry_after)


def rpc_error(error: Any, cancelled: bool = False) -> BasebandError:
    """What a grpc.RpcError says. Cancelled always means this side: a server that cancels is stopping."""
    code = error.code().name
    if code == "CANCELLED" and not cancelled:
        return make_error("UNAVAILABLE", "the server cancelled the call; it is probably stopping")
    return make_error(code, error.details() or "", pushback(error))


def pushback(error: Any) -> Optional[float]:
    """Seconds, infinite where the server says not to come back; None: it says nothing."""
    for key, value in error.trailing_metadata() or ():
        if key == _PUSHBACK:
            return int(value) / 1000 if value.isdigit() else float("inf")
    return None
