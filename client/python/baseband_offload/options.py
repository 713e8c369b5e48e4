"""How a client connects, and what a call says of itself."""

from __future__ import annotations

import dataclasses
import random
import ssl
from typing import Optional

from ._checks import check_positive, check_type, check_whole, typed
from ._target import Target, parse_target
from .errors import BasebandError, ResourceExhausted, Unavailable

PRIORITIES = ("high", "normal", "low")


def is_token(text: str) -> bool:
    return all("!" <= character <= "~" for character in text)


def _check_token(field: str, text: str) -> None:
    check_type(field, text, str, "a str")
    if not is_token(text):
        raise ValueError(f"{field} has a byte that is not printable ASCII, or a blank")


@dataclasses.dataclass(frozen=True)
class Tls:
    """TLS with the server, and who this client is: the contents of PEM files, not their paths.

    Parameters
    ----------
    ca : bytes
        The authorities of servers' certificates; empty: those of gRPC.
    cert, key : bytes
        This client's certificate and chain, and its private key; both or neither.
    server_name : str
        The name that servers' certificates must bear; empty: the host in the target. A list of
        addresses needs one.
    """

    ca: bytes = b""
    cert: bytes = b""
    key: bytes = b""
    server_name: str = ""

    def __post_init__(self) -> None:
        for field, text in (("tls.ca", self.ca), ("tls.cert", self.cert), ("tls.key", self.key)):
            check_type(field, text, bytes, "bytes, the contents of a file")
        if bool(self.cert) != bool(self.key):
            raise ValueError("tls needs cert and key, or neither")
        for field, text in (("tls.ca", self.ca), ("tls.cert", self.cert)):
            if not text:
                continue
            try:  # gRPC would take anything, and then fail each handshake without a word
                begin = text.index(b"-----BEGIN CERTIFICATE-----")
                end = text.index(b"-----END CERTIFICATE-----", begin) + len(b"-----END CERTIFICATE-----")
                ssl.PEM_cert_to_DER_cert(text[begin:end].decode("ascii"))
            except ValueError:
                raise ValueError(f"{field} holds no certificate in PEM") from None
        if self.key and b"PRIVATE KEY-----" not in self.key:
            raise ValueError("tls.key holds no private key in PEM")
        _check_token("tls.server_name", self.server_name)


@typed
@dataclasses.dataclass(frozen=True)
class CallOptions:
    """What one call says of itself.

    Parameters
    ----------
    timeout : float
        Seconds for the whole call with all its attempts, > 0. It also travels to the server, which
        does not start what cannot finish in time.
    wait_for_ready : bool
        Wait for a connection within `timeout`, instead of failing when there is none.
    priority : {"normal", "high", "low"}
        What the server does first.
    request_id : str
        By which the server's records name the call; printable ASCII without blanks.
    """

    timeout: float = 60.0
    wait_for_ready: bool = False
    priority: str = "normal"
    request_id: str = ""

    def __post_init__(self) -> None:
        check_positive("timeout", self.timeout)
        check_priority(self.priority)
        _check_token("request_id", self.request_id)


def check_priority(priority: str) -> None:
    if priority not in PRIORITIES:
        raise ValueError(f"priority {priority!r} is not one of {', '.join(PRIORITIES)}")


@typed
@dataclasses.dataclass(frozen=True)
class ClientOptions:
    """How a client connects; `Client` takes these by name."""

    target: str = "127.0.0.1:50151"
    connections: int = 4
    max_attempts: int = 4
    initial_backoff: float = 0.2
    max_backoff: float = 2.0
    retry_buffer_bytes: int = 256 << 20
    tls: Optional[Tls] = None
    token: str = ""

    def __post_init__(self) -> None:
        self._check_credentials(parse_target(self.target))
        if not 0 < self.initial_backoff <= self.max_backoff:
            raise ValueError("initial_backoff must be > 0 and at most max_backoff")
        for field, value, low, high in (
            ("connections", self.connections, 1, 64),
            ("max_attempts", self.max_attempts, 1, 5),
            ("retry_buffer_bytes", self.retry_buffer_bytes, 0, 2**31 - 1),
        ):
            check_whole(field, value, low, high)

    def _check_credentials(self, target: Target) -> None:
        _check_token("token", self.token)
        if self.tls is not None:
            if self.target.startswith("unix:"):
                raise ValueError("tls is for TCP targets: a Unix socket speaks none")
            if not self.tls.server_name and target.balanced and not self.target.startswith("dns:"):
                raise ValueError("tls to several addresses needs server_name, which all their certificates bear")
        elif self.token and not target.is_private:
            raise ValueError(
                f"token would travel to {self.target} in clear text: it needs tls, a Unix socket, or a"
                " literal loopback address such as 127.0.0.1"
            )

    def pause_after(self, attempts: int) -> float:
        """Seconds before a call is tried again that was tried so often.

        None at first, for another server may be there; then `initial_backoff`, doubled each time,
        and up to a fifth more, so that those who failed together do not come back together.
        """
        if attempts <= 1:
            return 0.0
        return min(self.initial_backoff * (1 << attempts - 2), self.max_backoff) * random.uniform(1, 1.2)

    def retry_delay(self, error: BasebandError, attempts: int) -> Optional[float]:
        """Seconds before a unary call is tried again that failed so; None: it is not."""
        if attempts >= self.max_attempts or not isinstance(error, (Unavailable, ResourceExhausted)):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after < float("inf") else None
        return self.pause_after(attempts) if isinstance(error, Unavailable) else None
