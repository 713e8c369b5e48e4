"""What each alert is there for, done to real servers.

Each function does it to its servers and returns the (alert, instance) that must fire. What has to
go on meanwhile runs in the background, until the stack is closed.
"""

import contextlib
import pathlib
import signal
import socket
import threading
import time

from certificates import Certificates
from processes import wait_for


class Repeat(threading.Thread):
    """Calls `action` every `every_s` seconds until the end of the `with`, which raises its error."""

    def __init__(self, action, every_s):
        super().__init__(daemon=True)
        self._action = action
        self._every_s = every_s
        self._over = threading.Event()
        self._error = None

    def run(self):
        try:
            while not self._over.wait(self._every_s):
                self._action()
        except Exception as error:  # pylint: disable=broad-except
            self._error = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join()
        if self._error is not None:
            raise self._error


def wait_for_traffic(prometheus, server, rpc, least=20):
    """Until `server` has answered some requests of `rpc`."""
    answered = f'baseband_requests_total{{instance="{server.instance}",rpc="{rpc}",code="OK"}}'
    wait_for(f"traffic of {server.name}", lambda: prometheus.query(f"{answered} > {least}"))


def of(server, *names):
    """The alerts of these names of `server`, or of another that has an `instance`."""
    return {(f"Baseband{name}", server.instance) for name in names}


def overload(stack, prometheus, server):
    """All lanes stall for 25 s, and work of all classes keeps coming."""
    for operation, priority in (("encode", "high"), ("decode", "low")):
        stack.enter_context(
            server.background(
                *("load", operation, f"--priority={priority}", "--nr-bg=2", "--zc=384"),
                *("--rate=40", "--blocks=4", "--duration=1h"),
            )
        )
    wait_for_traffic(prometheus, server, "Encode")
    wait_for_traffic(prometheus, server, "Decode")
    server.inject("stall", "--stall=25s", "--count=4")
    return of(server, "QueueOld", "QueueStarved", "PoolFull", "Refusals")


def full_way_in(prometheus, server):
    """Far more bytes are to be there within milliseconds than can be read in that time."""
    load = ("load", "decode", "--nr-bg=1", "--zc=384", "--blocks=150", "--deadline=20ms")
    with server.background(*load, "--rate=2000", "--duration=1h"):
        prometheus.wait_until_fired(of(server, "WayInFull"))
    return of(server, "WayInFull")


def lateness(stack, prometheus, server):
    """Now and then a batch takes half a second longer than anybody could know."""
    for deadline in ("--deadline=200ms", "--timeout=60s"):
        load = ("load", "encode", "--nr-bg=2", "--zc=64", "--rate=20", "--duration=1h", deadline)
        stack.enter_context(server.background(*load))
    wait_for_traffic(prometheus, server, "Encode", 100)
    stall = ("stall", "--stall=500ms", "--count=2")
    stack.enter_context(Repeat(lambda: server.inject(*stall), every_s=1.5))
    return of(server, "DeadlineBurnFast", "DeadlineBurnSlow", "PredictionsWrong")


def failures(stack, prometheus, server):
    """Batches fail."""
    load = ("load", "encode", "--nr-bg=2", "--zc=64", "--rate=20", "--duration=1h")
    stack.enter_context(server.background(*load))
    wait_for_traffic(prometheus, server, "Encode")
    server.inject("fail", "--count=1000")
    return of(server, "Failures")


def bad_radio(stack, server):
    """Code blocks, transport blocks and frames that are hardly more than noise."""
    noise = server.folder / "noise.cf32"
    frames = ("--frame-symbols=1000", "--constellation=QPSK")
    server.ctl("carrier-signal", *frames, "--snr=-20", "--frames=4", f"--out={noise}")
    ber = ("--ebn0=-6", "--frames=20", "--frames-per-request=10", "--nr-bg=2", "--zc=64")
    bler = ("--snr=-20", "--mcs=10", "--prbs=10", "--blocks=20")

    def receive():
        server.ctl("ber", *ber)
        server.ctl("bler", *bler)
        server.ctl("recover", str(noise), *frames, expected=4)  # no lock

    stack.enter_context(Repeat(receive, every_s=1))
    return of(server, "BlockErrors", "TransportBlockErrors", "LockLost")


def forgotten_soft_bits(stack, server):
    """A server that has no memory for what its clients want it to hold."""
    stack.enter_context(server.harq())
    return of(server, "HarqLost")


def crowd(stack, prometheus, server, max_connections):
    """As many connections with calls as may be, and more that try."""

    def connect():
        one = stack.enter_context(socket.socket(socket.AF_UNIX))
        one.connect(server.target.removeprefix("unix:"))

    load = ("load", "encode", "--nr-bg=2", "--zc=64", "--rate=20", "--duration=1h")
    stack.enter_context(server.background(f"--connections={max_connections}", *load))
    wait_for_traffic(prometheus, server, "Encode")
    stack.enter_context(Repeat(connect, every_s=1))
    return of(server, "ConnectionsNearMax", "ConnectionsRefused")


def strangers(stack, server, port):
    """Frames that mean nothing, without end and again, from somebody who makes no call."""
    settings = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings

    def flood():
        with socket.create_connection(("127.0.0.1", port)) as one, contextlib.suppress(OSError):
            one.sendall(greeting)
            while True:
                one.sendall(settings * 1000)

    stack.enter_context(Repeat(flood, every_s=0.1))
    return of(server, "Strangers")


def guesses(stack, server):
    """Tokens that nobody has, one after the other."""
    wrong = server.folder / "wrong-token"
    wrong.write_text("nobody-has-this-one\n", encoding="ascii")
    guess = (f"--token-file={wrong}", "info")
    stack.enter_context(Repeat(lambda: server.ctl(*guess, expected=3), every_s=0.1))
    return of(server, "TokensGuessed")


def scarce_memory(stack, prometheus, server):
    """Payloads that take all that the process may take wait behind stalled lanes."""
    load = ("load", "decode", "--nr-bg=1", "--zc=384", "--blocks=100", "--rate=20", "--duration=1h")
    stack.enter_context(server.background(*load))
    wait_for_traffic(prometheus, server, "Decode")
    server.inject("stall", "--stall=10m", "--count=1000")
    return of(server, "MemoryScarce", "MemoryRefusesLow", "MemoryRefusesAll", "Refusals")


def no_memory(stack, prometheus, server):
    """Host memory for requests cannot be had."""
    load = ("load", "encode", "--nr-bg=2", "--zc=64", "--rate=20", "--duration=1h")
    stack.enter_context(server.background(*load))
    wait_for_traffic(prometheus, server, "Encode")
    server.inject("no-memory", "--count=1000")
    return of(server, "Refusals")


def certificates(prometheus, server, files: Certificates):
    """The certificate is replaced by one with another key; then by one that is old, and older."""
    files.spoil()
    prometheus.wait_until_fired(of(server, "ReloadFailed"))
    for name, days in (("CertificateOld", 10), ("CertificateExpiring", 1)):
        files.issue(days)
        prometheus.wait_until_fired(of(server, name))
    return of(server, "CertificateOld", "CertificateExpiring", "ReloadFailed")


def gpu_trouble(prometheus, gpu):
    """The GPU is hot and slow, its memory and its link fail; then its driver falls silent."""
    gpu.set(temperature=90, throttled="thermal", ecc_uncorrected=2, pcie_replays=1000, xids=1)
    expected = of(gpu, "GpuHot", "GpuThrottled", "GpuMemoryErrors", "GpuXid", "GpuPcieReplays")
    prometheus.wait_until_fired(expected)
    gpu.set(stuck=1)
    return expected | of(gpu, "GpuUnwatched")


def device_fault(server):
    """The device faults under a request, and is back at once; the like of that request is refused."""
    server.inject("device-fault")
    server.ctl("load", "encode", "--blocks=3", "--duration=1s", "--warmup=0s", expected=3)
    server.ctl("load", "encode", "--blocks=2", "--duration=1s", "--warmup=0s")
    return of(server, "DeviceReset", "Quarantine")


def losses(prometheus, server):
    """The only device is lost while a client has stopped that still gets an answer, so that the
    server's end takes some seconds. Then it is killed, again and again, and at last stays away.
    The server must be patient with clients that do not read."""
    own = f'instance="{server.instance}"'

    def start_again():
        started = f"process_start_time_seconds{{{own}}}"
        before = max(prometheus.query(f"last_over_time({started}[5m])"), key=lambda one: one[1])[1]
        server.start()
        wait_for("a scrape", lambda: prometheus.query(f"{started} != {before}"), every_s=0.5)

    large = ("--blocks=128", "--duration=1h")
    with server.background("--in-flight=4", "load", "encode", *large) as client:
        wait_for_traffic(prometheus, server, "Encode")

        def has_stopped_before_an_answer():
            client.signal(signal.SIGCONT)
            time.sleep(0.5)
            client.signal(signal.SIGSTOP)
            wait_for("silence", lambda: not prometheus.query(f"{answered} > 0"))
            return prometheus.query(f"{unsent} > 0")

        answered = f'rate(baseband_requests_total{{{own},rpc="Encode"}}[3s])'
        unsent = f'min_over_time(baseband_pool_used_bytes{{{own},pool="reply"}}[3s])'
        wait_for("an answer that is not read", has_stopped_before_an_answer)
        server.inject("lose", "--device=cpu")
        assert server.wait() == 3, "the status says that no device is left"
    start_again()
    for _ in range(10):
        if of(server, "RestartLoop") <= prometheus.fired():
            break
        server.end(signal.SIGKILL)
        start_again()
    assert server.end() == 0, "it has drained"
    return of(server, "DeviceLost", "NoDevice", "Restarted", "RestartLoop", "Down")
