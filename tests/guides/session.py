"""Where a guide's blocks run: a folder of its own, a server of its own, one shell for all of its commands."""

import contextlib
import os
import pathlib
import random
import re
import selectors
import shlex
import signal
import socket
import subprocess
import tempfile
import time

from markdown import PROJECT

_ADDRESS = re.compile(r"\b(127\.0\.0\.1|0\.0\.0\.0):(\d{4,5})\b")
_DEFAULT = "127.0.0.1:50151"
# Below what the kernel hands out by itself (/proc/sys/net/ipv4/ip_local_port_range): between the look
# whether a port is free and its use by a server no other test gets it.
_PORTS = range(20000, 32000)
_LIMIT_S = 240  # the longest, a search of 80 loads, takes half of it
PYTHON = "/usr/bin/python3"  # which has what client/python needs, as Debian packages it


class Addresses:
    """Ports of a guide's text, and free ones of loopback in their places."""

    def __init__(self):
        self._ports = {}

    def to_real(self, text):
        return _ADDRESS.sub(lambda m: f"127.0.0.1:{self._real_port(m[2])}", text)

    def to_text(self, text):
        back = {real: shown for shown, real in self._ports.items()}
        return _ADDRESS.sub(lambda m: f"{m[1]}:{back.get(m[2], m[2])}", text)

    def _real_port(self, port):
        while port not in self._ports:
            with socket.socket() as probe, contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", random.choice(_PORTS)))
                self._ports[port] = str(probe.getsockname()[1])
        return self._ports[port]


def environment(build, target):
    """Of commands: nothing of ours from outside, the programs that were built first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BASEBAND")}
    path = [str(build / folder) for folder in ("server", "client/ctl", "client/ldpc_tool", "tests/integration", "tests/bench")]
    return {
        **kept,
        "PATH": os.pathsep.join([*path, "/usr/bin", kept.get("PATH", "")]),
        "PYTHONPATH": str(build / "client/python"),
        "LC_ALL": "C.UTF-8",
        "BASEBAND_TARGET": target,
    }


class Session:
    """For a `with`. All that it has started ends with it."""

    def __init__(self, build, server_flags=None):
        self._build = build
        self._server_flags = server_flags
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as started:
            started.enter_context(self._stack)
            self._start_all()
            started.pop_all()
        return self

    def _start_all(self):
        top = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="guide")))
        self.folder = top / "work"
        self.folder.mkdir()
        for entry in PROJECT.iterdir():  # what guides name by its path in the repository
            if not entry.name.startswith(".") and entry.name != "build":
                (self.folder / entry.name).symlink_to(entry)
        self.addresses = Addresses()
        self._environment = environment(self._build, self.addresses.to_real(_DEFAULT))
        self._log = top / "basebandd.log"
        if self._server_flags is not None:
            self._start_server()
        self._shell = self._start(["bash", "--noprofile", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __exit__(self, *_):
        self._stack.close()

    def _start(self, arguments, **how):
        how = {"stderr": subprocess.STDOUT, "cwd": self.folder, "env": self._environment, **how}
        process = subprocess.Popen(arguments, start_new_session=True, **how)
        self._stack.callback(self._end, process)
        return process

    @staticmethod
    def _end(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _start_server(self):
        flags = [f"--listen={_DEFAULT}", "--metrics-listen=127.0.0.1:9151", *self._server_flags]
        with open(self._log, "wb") as out:
            arguments = ["basebandd", "--device=cpu", *map(self.addresses.to_real, flags)]
            server = self._start(arguments, stdin=subprocess.DEVNULL, stdout=out)
        deadline = time.monotonic() + _LIMIT_S
        while (asked := self._wait_for(["basebandctl", "health"]))[0] != 0:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"its server does not start: {asked[1]}{self.server_log()}")
            time.sleep(0.1)

    def server_log(self):
        """What the guide's server has said."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def _wait_for(self, arguments):
        done = subprocess.run(arguments, cwd=self.folder, env=self._environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_LIMIT_S, check=False)
        return done.returncode, done.stdout.decode(errors="replace")

    def write(self, name, lines):
        (self.folder / name).write_text(self.addresses.to_real("\n".join(lines) + "\n"))

    def run_python(self, lines):
        """Exit status, and the lines that were printed."""
        self.write("guide.py", lines)
        status, printed = self._wait_for([PYTHON, "guide.py"])
        return status, self.addresses.to_text(printed).splitlines()

    def run(self, command):
        """The same of a command in the guide's shell."""
        mark = "end-of-command"
        line = f"eval {shlex.quote(self.addresses.to_real(command))} </dev/null; printf '\\n{mark} %d\\n' $?\n"
        self._shell.stdin.write(line.encode())
        self._shell.stdin.flush()
        printed = self._read_until(re.compile(rf"\n{mark} (\d+)\n$"), command)
        text = self.addresses.to_text(printed[0])
        return int(printed[1]), text.splitlines()

    def _read_until(self, end, command):
        text, deadline = "", time.monotonic() + _LIMIT_S
        with selectors.DefaultSelector() as selector:
            selector.register(self._shell.stdout, selectors.EVENT_READ)
            while not (found := end.search(text)):
                if not selector.select(deadline - time.monotonic()):
                    raise TimeoutError(f"{command}: not within {_LIMIT_S} s; until then:\n{text}")
                chunk = os.read(self._shell.stdout.fileno(), 1 << 16)
                if not chunk:
                    raise RuntimeError(f"{command}: the shell has ended:\n{text}")
                text += chunk.decode(errors="replace")
        return text[: found.start()], found[1]
