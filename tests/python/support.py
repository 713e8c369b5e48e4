"""Servers on the CPU device, and known answers, for the tests of client/python."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

import grpc
import numpy as np

import baseband_offload as bo
from baseband_offload import _messages

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


class FakeServer(grpc.GenericRpcHandler):
    """Answers of a Submit stream are `answer(request)`, of SubmitRequests and SubmitResponses; unary calls
    have none until the server ends."""

    def __init__(self, answer=None):
        self._answer = answer
        self._is_over = threading.Event()
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(16))
        self._server.add_generic_rpc_handlers((self,))
        self.target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self.began = threading.Event()  # a call came

    def __enter__(self):
        self._server.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._server.stop(0).wait(60)

    def service(self, details):
        if details.method.endswith("/Submit"):
            return grpc.stream_stream_rpc_method_handler(self._submit)
        return grpc.unary_unary_rpc_method_handler(self._wait)

    def _submit(self, messages, _):
        yield _messages.message("SubmitResponse", credits={"requests": 10000, "bytes": 1 << 30}).SerializeToString()
        for message in messages:
            self.began.set()
            answer = self._answer(_messages.message_class("SubmitRequest").FromString(message))
            if answer is not None:
                yield answer

    def _wait(self, *_):
        self.began.set()
        self._is_over.wait(60)
        return b""


def encoded(request):
    """The answer to a `request` of a Submit stream that wants a code word of 648 bits."""
    answer = {"id": request.id, "credits": {"requests": 1, "bytes": 1000}, "encode": {"payload": bytes(81)}}
    return _messages.message("SubmitResponse", **answer).SerializeToString()


class ServerTest(unittest.TestCase):
    """One server, and one client of it, for all tests of a class."""

    FLAGS = ()

    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.server = stack.enter_context(Server(*cls.FLAGS))
        cls.client = stack.enter_context(cls.server.client())
