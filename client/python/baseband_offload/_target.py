"""What a client's `target` says."""

from __future__ import annotations

import dataclasses
import socket


@dataclasses.dataclass(frozen=True)
class Target:
    uri: str  # as gRPC's resolvers take it
    # Several servers, or a name that may stand for several: calls go to all that serve, in turn.
    balanced: bool
    same_host: bool  # probably, all of it
    is_private: bool  # certainly: a Unix socket, or literal loopback addresses


def _address(server: str, needs_port: bool) -> tuple[int, bytes]:
    """Family and bytes of "A.B.C.D:PORT" or "[A::B]:PORT"; (0, b""): it is neither."""
    family = socket.AF_INET6 if server.startswith("[") else socket.AF_INET
    host, _, port = server[1:].partition("]") if family == socket.AF_INET6 else server.partition(":")
    if family == socket.AF_INET6:
        port = port[1:] if port.startswith(":") else ("" if not port else "?")
    if not (port.isdigit() or (port == "" and not needs_port)):
        return 0, b""
    try:
        return family, socket.inet_pton(family, host)
    except OSError:
        return 0, b""


def _without_scheme(server: str) -> str:
    for scheme in ("ipv4:", "ipv6:", "dns:///", "dns:"):
        if server.startswith(scheme):
            return server[len(scheme) :]
    return server


def _port(server: str) -> str:
    """What gRPC takes for the port; "": none. Of two colons and more without brackets, all are an IPv6 address's."""
    if server.startswith(("unix:", "unix-abstract:", "vsock:")):
        return ""
    server = _without_scheme(server)
    if server.startswith("//"):  # a DNS server's own address
        server = server[2:].partition("/")[2]
    host, colon, port = server.rpartition(":")
    return port if colon and (host.endswith(("]", "%5D")) or ":" not in host) else ""


def _is_private(server: str) -> bool:
    if server.startswith(("unix:", "unix-abstract:")):
        return True
    family, address = _address(_without_scheme(server).replace("%5B", "[").replace("%5D", "]"), needs_port=False)
    if family == socket.AF_INET:
        return address[0] == 127
    return family == socket.AF_INET6 and (
        address == b"\0" * 15 + b"\1" or (address[:12] == b"\0" * 10 + b"\xff\xff" and address[12] == 127)
    )


def _is_same_host(server: str) -> bool:
    names = ("localhost:", "dns:///localhost:", "dns:localhost:")
    return server.startswith(names) or _is_private(server)


def _check_address(server: str) -> None:
    """gRPC takes a scheme that it does not know for a name, and a port modulo 65536."""
    scheme, slashes, _ = server.partition("://")
    if slashes and scheme not in ("dns", "unix"):
        raise ValueError(
            f"target {server!r}: it takes no {scheme}://, but HOST:PORT, unix:PATH or dns:///NAME:PORT:"
            f" leave {scheme}:// out"
        )
    port = _port(server)
    if port.isascii() and port.isdigit() and not 1 <= int(port) <= 65535:
        raise ValueError(f"target {server!r}: port {port} is not in [1, 65535]")


def _has_port(server: str) -> bool:
    """Or a path. Without a port gRPC would take that of the web."""
    scheme, _, rest = server.partition(":")
    return rest != "" if scheme in ("unix", "unix-abstract", "vsock") else _port(server) != ""


def parse_target(target: str) -> Target:
    """ValueError: `target` is empty, has no port, is a URL of the web, or a list of what gRPC cannot take as a list."""
    if not target:
        raise ValueError("target is empty")
    servers = target.split(",")
    for server in servers:
        _check_address(server)
    if len(servers) == 1:
        if not _has_port(target):
            raise ValueError(
                f"target {target!r} is not HOST:PORT, unix:PATH or a list ADDRESS:PORT,ADDRESS:PORT"
            )
        return Target(target, target.startswith("dns:"), _is_same_host(target), _is_private(target))
    families = {_address(server, needs_port=True)[0] for server in servers}
    if families == {socket.AF_INET}:
        uri = "ipv4:" + target
    elif families == {socket.AF_INET6}:
        uri = "ipv6:" + target.replace("[", "%5B").replace("]", "%5D")
    else:
        raise ValueError(
            f"target {target!r} is not a list of IPv4 addresses or of IPv6 addresses with their ports; several"
            " servers by a name are dns:///NAME:PORT, with all their addresses in the DNS"
        )
    is_private = all(_is_private(server) for server in servers)
    return Target(uri, True, is_private, is_private)
