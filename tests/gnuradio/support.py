"""Servers on the CPU device, known answers and flow graphs, for the tests of client/gnuradio."""

import contextlib
import functools
import json
import pathlib
import socket
import sys
import tempfile
import threading
import unittest

import numpy as np
import pmt
from gnuradio import baseband_offload as bo
from gnuradio import blocks, gr

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests/deploy/prometheus"))
import processes  # noqa: E402

LIMIT_S = 240  # of whatever a test waits for
wait_for = functools.partial(processes.wait_for, limit_s=LIMIT_S, every_s=0.01)


def vectors(name):
    """The cases of a file of tests/vectors/ldpc."""
    lines = (PROJECT / "tests/vectors/ldpc" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def packed(digits):
    return np.frombuffer(bytes.fromhex(digits), np.uint8)


def code_of(case):
    if "bg" in case:
        return bo.ldpc_code.nr(case["bg"], case["zc"])
    make = {"802.16e": bo.ldpc_code.wimax, "802.11n": bo.ldpc_code.wifi}[case["standard"]]
    return make(case["rate"], case["n"])


class Messages(gr.basic_block):
    """Keeps what comes at its port."""

    def __init__(self):
        gr.basic_block.__init__(self, name="messages", in_sig=None, out_sig=None)
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self._keep)
        self._lock = threading.Lock()
        self._kept = []

    def _keep(self, message):
        with self._lock:
            self._kept.append(pmt.to_python(message))

    def kept(self):
        with self._lock:
            return list(self._kept)

    def states(self):
        return [message["state"] for message in self.kept()]


class GatedSource(gr.sync_block):
    """An array, of which what lies behind `gate` comes after release(), and nothing after end()."""

    def __init__(self, samples, gate):
        gr.sync_block.__init__(self, name="gated_source", in_sig=None, out_sig=[samples.dtype.type])
        self._samples, self._gate, self._next = samples, gate, 0
        self._released = threading.Event()
        self._ended = threading.Event()

    def release(self):
        self._released.set()

    def end(self):
        self._ended.set()
        self._released.set()

    def work(self, _, outputs):
        end = len(self._samples) if self._released.is_set() else self._gate
        if self._next == len(self._samples) or self._ended.is_set():
            return -1
        count = min(len(outputs[0]), end - self._next)
        if count == 0:
            self._released.wait(0.05)
        outputs[0][:count] = self._samples[self._next : self._next + count]
        self._next += count
        return count


class Flow:
    """A block between sources of arrays and sinks that keep what comes out; runs in a `with`."""

    SOURCES = {np.dtype(np.uint8): blocks.vector_source_b, np.dtype(np.float32): blocks.vector_source_f,
               np.dtype(np.complex64): blocks.vector_source_c, np.dtype(np.int16): blocks.vector_source_s}

    def __init__(self, block, samples, *, sink=blocks.vector_sink_b, outputs=1, tags=(), ports=("status",),
                 items_per_s=None, vector=1, gate=None):
        self.block = block
        self.top = gr.top_block()
        samples = np.asarray(samples)
        if gate is not None:
            self.source = GatedSource(samples, gate)
        else:
            self.source = self.SOURCES[samples.dtype](samples.tolist(), False, vector, list(tags))
        stages = [self.source]
        if items_per_s is not None:
            item = samples.dtype.itemsize * vector
            stages.append(blocks.throttle(item, items_per_s))
        self.top.connect(*stages, block)
        self.sinks = [sink() for _ in range(outputs)]
        for i, kept in enumerate(self.sinks):
            self.top.connect((block, i), kept)
        self.messages = {port: Messages() for port in ports}
        for port, kept in self.messages.items():
            self.top.msg_connect(block, port, kept, "in")

    def __enter__(self):
        self.top.start()
        return self

    def __exit__(self, *_):
        self.top.stop()
        self.top.wait()

    def wait(self):
        """Until the stream is over; TimeoutError if it is not in time."""
        over = threading.Thread(target=self.top.wait, daemon=True)
        over.start()
        over.join(LIMIT_S)
        if over.is_alive():
            raise TimeoutError(f"the flow graph is not over within {LIMIT_S} s")

    def run(self):
        with self:
            self.wait()
        return self.data()

    def data(self, output=0):
        kept = self.sinks[output]
        kind = {blocks.vector_sink_b: np.uint8, blocks.vector_sink_c: np.complex64}[type(kept)]
        return np.array(kept.data(), kind)

    def tags(self, output=0):
        """Of each item that has some: a dictionary."""
        found = {}
        for tag in self.sinks[output].tags():
            found.setdefault(tag.offset, {})[pmt.symbol_to_string(tag.key)] = pmt.to_python(tag.value)
        return found


@contextlib.contextmanager
def silent_server():
    """Where connections are taken, and nothing is answered; its target."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        yield f"127.0.0.1:{listener.getsockname()[1]}"


class ServerTest(unittest.TestCase):
    """One server for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gnuradio")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        server = processes.Basebandd(cls.folder, "server")
        cls.addClassCleanup(server.__exit__)
        cls.server = server.__enter__()

    def connection(self, **options):
        return bo.connection(self.server.target, **options)
