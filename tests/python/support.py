"""Servers on the CPU device, and known answers, for the tests of client/python."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

import numpy as np

import baseband_offload as bo

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["BASEBAND_BUILD"])  # ctest tells where
PACKAGE = PROJECT / "client/python"


def vectors(name):
    """The cases of a file of tests/vectors/ldpc."""
    lines = (PROJECT / "tests/vectors/ldpc" / name).read_text().splitlines()
    return [json.loads(line) for line in lines]


def packed(digits):
    """Hexadecimal digits as bytes; the first bit is the most significant of the first digit."""
    return np.frombuffer(bytes.fromhex(digits), np.uint8)


def bits(digits, count):
    return np.unpackbits(packed(digits), count=count)


class Server:
    """A basebandd at a Unix socket in a folder of its own; or elsewhere, by `flags`."""

    def __init__(self, *flags, target=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="python"))
        self.target = target or f"unix:{self.folder}/server.sock"
        self.admin = f"unix:{self.folder}/admin.sock"
        self._flags = flags
        self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.folder)

    def start(self):
        arguments = [BUILD / "server/basebandd", "--device=cpu", "--cpu-threads=1", f"--listen={self.target}"]
        arguments += ["--metrics-listen=", f"--admin-listen={self.admin}", "--allow-fault-injection=true"]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen([*arguments, *self._flags], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        """At once, as by a crash."""
        self._end(signal.SIGKILL)

    def stop(self):
        """As an operator stops it: what it has is answered."""
        self._end(signal.SIGTERM)

    def _end(self, how):
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(how)
            self._process.wait(timeout=120)
            self._process = None

    def inject(self, *fault):
        command = [BUILD / "client/ctl/basebandctl", f"--target={self.admin}", "--wait", "admin", "inject", *fault]
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    def client(self, **options):
        """Connected."""
        client = bo.Client(self.target, **options)
        client.connect(120)
        return client


class ServerTest(unittest.TestCase):
    """One server, and one client of it, for all tests of a class."""

    FLAGS = ()

    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.server = stack.enter_context(Server(*cls.FLAGS))
        cls.client = stack.enter_context(cls.server.client())
