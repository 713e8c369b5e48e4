"""Of bbdev.py: a basebandd with rings."""
import contextlib
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

START_S = 20


def die_with_parent():
    """Of a process before it begins: whoever kills this one, ctest say, leaves none behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Server:
    """A basebandd on the CPU, with rings at a socket of its own."""

    def __init__(self, program, folder):
        self._program = program
        self._folder = folder
        self._process = None
        self.socket = folder / "shm.sock"

    def start(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("BASEBAND")}
        log = (self._folder / "basebandd.log").open("ab")
        self._process = subprocess.Popen(
            [self._program, "--device=cpu", f"--listen=unix:{self._folder}/grpc.sock",
             f"--shm-listen=unix:{self.socket}", "--metrics-listen=off"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, preexec_fn=die_with_parent)
        end = time.monotonic() + START_S
        while not is_listening(self.socket):
            if self._process.poll() is not None or time.monotonic() > end:
                sys.exit(f"bbdev.py: {self._program} does not serve:\n{self.log()}")
            time.sleep(0.02)

    def stop(self, how=signal.SIGKILL):
        """False: it did not go by itself."""
        if self._process is None:
            return True
        self._process.send_signal(how)
        try:
            self._process.wait(START_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return False
        finally:
            self._process = None
        return True

    def lives(self):
        return self._process is not None and self._process.poll() is None

    def log(self):
        return (self._folder / "basebandd.log").read_text(errors="replace")


def is_listening(path):
    with contextlib.suppress(OSError):
        listening = pathlib.Path("/proc/net/unix").read_text()
        return re.search(rf" 01 \s*\d+ {re.escape(str(path))}$", listening, re.MULTILINE) is not None
    return False
