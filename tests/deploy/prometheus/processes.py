"""Processes of a test: each has a log, and ends with the test."""

import os
import pathlib
import signal
import socket
import subprocess
import time


def free_port():
    """A port of 127.0.0.1 that the kernel picked."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program(name):
    """Path of a program of ours; ctest tells where the build is."""
    path = pathlib.Path(os.environ["BASEBAND_BUILD"]) / {
        "basebandd": "server/basebandd",
        "basebandctl": "client/ctl/basebandctl",
        "gpu_monitor_page": "tests/support/gpu_monitor_page",
        "harq_sender": "tests/support/harq_sender",
    }[name]
    if not path.exists():
        raise FileNotFoundError(f"{path}: build it first")
    return str(path)


def wait_for(what, condition, limit_s=120, every_s=1.0):
    """Returns what `condition()` does as soon as that is true in a boolean sense."""
    deadline = time.monotonic() + limit_s
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {limit_s} s: {what() if callable(what) else what}")
        time.sleep(every_s)


class Process:
    """Writes what it says to `log`. Killed at the end of a `with`, if it runs then."""

    def __init__(self, arguments, log):
        self.log = pathlib.Path(log)
        with open(self.log, "a", encoding="utf-8") as out:
            self._child = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal.SIGKILL)

    def is_running(self):
        return self._child.poll() is None

    def end(self, how=signal.SIGTERM, limit_s=60):
        """Returns the exit status, as subprocess has it."""
        self.signal(how)
        return self.wait(limit_s)

    def signal(self, which):
        if self.is_running():
            self._child.send_signal(which)

    def wait(self, limit_s=60):
        return self._child.wait(limit_s)

    def text(self):
        return self.log.read_text(encoding="utf-8", errors="replace")


class Basebandd:
    """A server on the CPU device at Unix sockets in `folder`, named `name` there.

    Its metrics page keeps its port over restarts: `instance` is what Prometheus calls it.
    """

    def __init__(self, folder, name, *flags):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.instance = f"127.0.0.1:{free_port()}"
        self.target = f"unix:{self.folder}/{name}.sock"
        self.admin = f"unix:{self.folder}/{name}.admin"
        self._flags = flags
        self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self._process is not None:
            self._process.end(signal.SIGKILL)

    def start(self):
        self._process = Process(
            [
                program("basebandd"),
                *("--device=cpu", "--cpu-threads=1"),
                *(f"--listen={self.target}", f"--metrics-listen={self.instance}"),
                *("--allow-fault-injection=true", f"--admin-listen={self.admin}"),
                *self._flags,
            ],
            self.folder / f"{self.name}.log",
        )
        self.ctl("--wait", "health")

    def end(self, how=signal.SIGTERM):
        return self._process.end(how)

    def wait(self, limit_s=60):
        """For its end; returns the exit status."""
        return self._process.wait(limit_s)

    def _run(self, target, arguments, expected=0):
        command = [program("basebandctl"), f"--target={target}", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        if result.returncode != expected:
            told = f"{' '.join(command)}: {result.returncode}\n{result.stderr}"
            raise RuntimeError(f"{told}\n{self._process.text()[-2000:]}")

    def ctl(self, *arguments, expected=0):
        """Runs basebandctl to its end; RuntimeError unless that is the exit status `expected`."""
        self._run(self.target, arguments, expected)

    def inject(self, *fault):
        self._run(self.admin, ("admin", "inject", *fault))

    def background(self, *arguments):
        """A basebandctl that goes on by itself; for a `with` or an ExitStack."""
        return Process(
            [program("basebandctl"), f"--target={self.target}", *arguments],
            self.folder / f"{self.name}.client.log",
        )

    def harq(self):
        """A client whose soft bits the server has to hold; for a `with` or an ExitStack."""
        return Process(
            [program("harq_sender"), self.target], self.folder / f"{self.name}.harq.log"
        )
