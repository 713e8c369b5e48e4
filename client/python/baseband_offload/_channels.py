"""Connections to one server, or to several."""

from __future__ import annotations

import itertools
import json
import threading
import time
from typing import Any, Optional

import grpc

from ._checks import check_number
from ._target import Target, parse_target
from .errors import BasebandError, make_error, rpc_error
from .options import CallOptions, ClientOptions

SERVICE = "/baseband.v1.Baseband/"
MOST_UNANNOUNCED_BYTES = 16 << 10  # as client/cpp/attempt.cc has it, which says why
SOON = 1.0  # seconds; likewise


def _service_config(options: ClientOptions, balanced: bool) -> str:
    """To several servers calls go in turn, to those whose health is SERVING. gRPC itself tries only
    searches again, until their first response; all else is done here."""
    config: dict[str, Any] = {}
    if balanced:
        config["loadBalancingConfig"] = [{"round_robin": {}}]
        config["healthCheckConfig"] = {"serviceName": "baseband.v1.Baseband"}
    if options.max_attempts > 1:
        policy = {
            "maxAttempts": options.max_attempts,
            "initialBackoff": f"{options.initial_backoff:.3f}s",
            "maxBackoff": f"{options.max_backoff:.3f}s",
            "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"],
        }
        name = [{"service": "baseband.v1.Baseband", "method": "Minimize"}]
        config["methodConfig"] = [{"name": name, "retryPolicy": policy}]
    return json.dumps(config)


def _arguments(options: ClientOptions, target: Target) -> list[tuple[str, Any]]:
    """As client/cpp/channel_pool.cc has them, which says why."""
    found: list[tuple[str, Any]] = [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        ("grpc.http2.max_frame_size", 1 << 20),
        ("grpc.http2.lookahead_bytes", 4 << 20),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.service_config", _service_config(options, target.balanced)),
        ("grpc.enable_retries", int(options.max_attempts > 1)),
        ("grpc.per_rpc_retry_buffer_size", options.retry_buffer_bytes),
        ("grpc.initial_reconnect_backoff_ms", 50),
        ("grpc.max_reconnect_backoff_ms", 1000 if target.balanced else 5000),
        ("grpc.keepalive_time_ms", 20000),
        ("grpc.keepalive_timeout_ms", 10000),
        ("grpc.http2.max_pings_without_data", 0),
    ]
    if target.balanced:
        found += [("grpc.min_reconnect_backoff_ms", 5000), ("grpc.dns_min_time_between_resolutions_ms", 2000)]
    if options.tls is not None and options.tls.server_name:
        found.append(("grpc.default_authority", options.tls.server_name))
    if target.same_host:
        found += [("grpc.http2.bdp_probe", 0), ("grpc.enable_http_proxy", 0)]
    return found


class Channel:
    """One connection of the pool; `calls` counts those in flight on it."""

    def __init__(self, options: ClientOptions, target: Target) -> None:
        arguments = _arguments(options, target)
        if options.tls is None:
            self.channel = grpc.insecure_channel(target.uri, arguments)
        else:
            tls = options.tls
            credentials = grpc.ssl_channel_credentials(tls.ca or None, tls.key or None, tls.cert or None)
            self.channel = grpc.secure_channel(target.uri, credentials, arguments)
        self.calls = 0
        self._methods: dict[tuple[str, str], Any] = {}

    def method(self, kind: str, path: str) -> Any:
        """A method of gRPC's that takes and gives bytes. `kind` is "unary_unary" and so on."""
        found = self._methods.get((kind, path))
        if found is None:
            found = self._methods[kind, path] = getattr(self.channel, kind)(path)
        return found

    def wait(self, timeout: float) -> bool:
        """Whether it is connected, to one server at least, within `timeout` seconds."""
        ready = grpc.channel_ready_future(self.channel)
        try:
            ready.result(timeout=timeout)
        except grpc.FutureTimeoutError:
            return False
        finally:
            ready.cancel()
        return True


class Channels:
    """`options.connections` channels, each with a connection of its own. Thread-safe."""

    def __init__(self, options: ClientOptions) -> None:
        self._authorization = f"Bearer {options.token}" if options.token else ""
        target = parse_target(options.target)
        self._lock = threading.Lock()
        self._turn = itertools.count()
        self.is_closed = False
        self._channels = [Channel(options, target) for _ in range(options.connections)]

    def acquire(self) -> Channel:
        """The channel with the fewest calls in flight, the next in turn among equals; to be released.

        Cancelled when they are closed.
        """
        with self._lock:
            if self.is_closed:
                raise make_error("CANCELLED", "the client was closed")
            first = next(self._turn) % len(self._channels)
            best = self._channels[first]
            for channel in self._channels[first + 1 :] + self._channels[:first]:
                if channel.calls < best.calls:
                    best = channel
            best.calls += 1
            return best

    def release(self, channel: Channel) -> None:
        with self._lock:
            channel.calls -= 1

    def metadata(
        self, options: CallOptions, timeout: Optional[float] = None, request_bytes: int = 0
    ) -> list[tuple[str, str]]:
        """`timeout`: seconds that are left; None: any. `request_bytes`: of the call's one request message; 0 if it has
        several."""
        found = []
        if self._authorization:
            found.append(("authorization", self._authorization))
        if options.priority != "normal":
            found.append(("baseband-priority", options.priority))
        if options.request_id:
            found.append(("x-request-id", options.request_id))
        if timeout is not None and timeout <= SOON:
            found.append(("baseband-timeout-us", str(int(timeout * 1e6))))
        if request_bytes > MOST_UNANNOUNCED_BYTES:
            found.append(("baseband-request-bytes", str(request_bytes)))
        return found

    def error(self, failure: Exception, cancelled: bool = False) -> BasebandError:
        """Of what gRPC raised, which is a ValueError where a channel was closed; raises what is none of its errors."""
        is_rpc = isinstance(failure, grpc.RpcError)
        if self.is_closed and (not is_rpc or failure.code() is grpc.StatusCode.CANCELLED):  # type: ignore[attr-defined]
            return make_error("CANCELLED", "the client was closed")
        if is_rpc:
            return rpc_error(failure, cancelled)
        if isinstance(failure, grpc.FutureCancelledError):
            return make_error("UNAVAILABLE", "the server cancelled the call; it is probably stopping")
        raise failure

    def connect(self, timeout: float) -> None:
        """Waits until every channel is connected; DeadlineExceeded after `timeout` seconds."""
        check_number("timeout", timeout)
        deadline = time.monotonic() + timeout
        for channel in self._channels:
            if not self._wait(channel, max(0.0, deadline - time.monotonic())):
                raise make_error("DEADLINE_EXCEEDED", f"not connected within {timeout:g} s")

    def wait_for_any(self, timeout: float) -> None:
        """Before a call is tried again: at most so long, until there is a connection."""
        self._wait(self._channels[next(self._turn) % len(self._channels)], timeout)

    def _wait(self, channel: Channel, timeout: float) -> bool:
        try:
            if not self.is_closed:
                return channel.wait(timeout)
        except ValueError:
            if not self.is_closed:
                raise
        raise make_error("CANCELLED", "the client was closed")

    def close(self) -> None:
        with self._lock:
            self.is_closed = True
        for channel in self._channels:
            channel.channel.close()
