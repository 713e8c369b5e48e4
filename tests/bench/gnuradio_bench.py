#!/usr/bin/env python3
"""LDPC decoding in a flow graph, over the frames in flight: the paper's figure 6 for client/gnuradio.

    PYTHONPATH=BUILD/client/gnuradio/python BASEBAND_BUILD=BUILD /usr/bin/python3 gnuradio_bench.py [OPTIONS]

802.16e (2304,1152), BPSK at 4 dB, 10 iterations at most. Beside each row the C++ client (basebandctl load) with
as many frames in flight in the same calls, and what the flow graph's source gives with nothing behind it; at the
end GNU Radio's own decoder of the same matrix on one core. A server on the CPU device is started, unless a target is named. Results are checked first.
"""

import argparse
import contextlib
import csv
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gnuradio"))
from gnuradio import baseband_offload as bo  # noqa: E402
from gnuradio import blocks, fec, gr  # noqa: E402

import gnuradio_figure  # noqa: E402
from support import processes  # noqa: E402

EBN0_DB = 4.0
ITERATIONS = 10
CODE = bo.ldpc_code.wimax("1/2", 2304)
FRAMES = 512  # different ones, again and again
# Requests in flight, frames in each at most.
CASES = ((1, 1), (4, 1), (16, 1), (4, 16), (4, 64), (4, 256), (4, 1024), (8, 2048))
# IEEE 802.16e-2005, 8.4.9.2.5.1, rate 1/2.
MATRIX = """
-1 94 73 -1 -1 -1 -1 -1 55 83 -1 -1  7  0 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1
-1 27 -1 -1 -1 22 79  9 -1 -1 -1 12 -1  0  0 -1 -1 -1 -1 -1 -1 -1 -1 -1
-1 -1 -1 24 22 81 -1 33 -1 -1 -1  0 -1 -1  0  0 -1 -1 -1 -1 -1 -1 -1 -1
61 -1 47 -1 -1 -1 -1 -1 65 25 -1 -1 -1 -1 -1  0  0 -1 -1 -1 -1 -1 -1 -1
-1 -1 39 -1 -1 -1 84 -1 -1 41 72 -1 -1 -1 -1 -1  0  0 -1 -1 -1 -1 -1 -1
-1 -1 -1 -1 46 40 -1 82 -1 -1 -1 79  0 -1 -1 -1 -1  0  0 -1 -1 -1 -1 -1
-1 -1 95 53 -1 -1 -1 -1 -1 14 18 -1 -1 -1 -1 -1 -1 -1  0  0 -1 -1 -1 -1
-1 11 73 -1 -1 -1  2 -1 -1 47 -1 -1 -1 -1 -1 -1 -1 -1 -1  0  0 -1 -1 -1
12 -1 -1 -1 83 24 -1 43 -1 -1 -1 51 -1 -1 -1 -1 -1 -1 -1 -1  0  0 -1 -1
-1 -1 -1 -1 -1 94 -1 59 -1 -1 70 72 -1 -1 -1 -1 -1 -1 -1 -1 -1  0  0 -1
-1 -1  7 65 -1 -1 -1 -1 39 49 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1  0  0
43 -1 -1 -1 -1 66 -1 41 -1 -1 -1 26  7 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1  0
"""
ZC = 96


def parity_matrix():
    shifts = np.array(MATRIX.split(), int).reshape(12, 24)
    h = np.zeros((12 * ZC, 24 * ZC), np.uint8)
    for (row, column), shift in np.ndenumerate(shifts):
        if shift >= 0:
            i = np.arange(ZC)
            h[row * ZC + i, column * ZC + (i + shift) % ZC] = 1
    return h


def write_alist(h, path):
    """MacKay's format, as GNU Radio reads it."""
    rows = [np.flatnonzero(row) + 1 for row in h]
    columns = [np.flatnonzero(column) + 1 for column in h.T]
    lines = [f"{h.shape[1]} {h.shape[0]}", f"{max(map(len, columns))} {max(map(len, rows))}"]
    lines += [" ".join(str(len(x)) for x in side) for side in (columns, rows)]
    for side in (columns, rows):
        width = max(map(len, side))
        lines += [" ".join(map(str, [*x, *[0] * (width - len(x))])) for x in side]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def encoded(target, information):
    top, sink = gr.top_block(), blocks.vector_sink_b()
    block = bo.ldpc_encoder(CODE, bo.connection(target), packed_input=False, packed=False)
    top.connect(blocks.vector_source_b(information.reshape(-1).tolist()), block, sink)
    top.run()
    return np.array(sink.data(), np.uint8).reshape(-1, CODE.n)


class Case:
    def __init__(self, target, fixed):
        self.fixed = fixed
        random = np.random.default_rng(1)
        self.information = random.integers(0, 2, (FRAMES, CODE.k), np.uint8)
        words = encoded(target, self.information)
        if np.any(parity_matrix().astype(int) @ words.T % 2):
            sys.exit("what the server encodes is no word of the matrix")
        self.sigma2 = 1 / (2 * CODE.k / CODE.n * 10 ** (EBN0_DB / 10))
        noise = random.normal(0, np.sqrt(self.sigma2), words.shape)
        self.received = (2.0 * words - 1 + noise).astype(np.float32)

    def decoder(self, target, in_flight, frames):
        server = bo.connection(target, in_flight=in_flight, request_kib=max(1, frames * CODE.n // 1024))
        return bo.ldpc_decoder(CODE, server, llr_scale=2 / self.sigma2, max_iterations=ITERATIONS,
                               fixed_iterations=self.fixed)

    def check(self, target):
        top, sink = gr.top_block(), blocks.vector_sink_b()
        top.connect(blocks.vector_source_f(self.received.reshape(-1).tolist()), self.decoder(target, 4, 16), sink)
        top.run()
        wrong = np.unpackbits(np.array(sink.data(), np.uint8)).reshape(-1, CODE.k) != self.information
        if len(wrong) != FRAMES or wrong.any():
            sys.exit(f"{wrong.any(axis=1).sum()} of {FRAMES} frames are wrong")

    def source(self, frames):
        source = blocks.vector_source_f(self.received.reshape(-1).tolist(), True)
        source.set_log_level("warn")
        source.set_min_output_buffer(2 * frames * CODE.n)
        return source

    def by_source(self, frames, seconds):
        """Frames a second that a decoder might take."""
        top, source, sink = gr.top_block(), self.source(frames), blocks.null_sink(gr.sizeof_float)
        top.connect(source, sink)
        top.start()
        processes.wait_for("samples", lambda: sink.nitems_read(0), every_s=0.01)
        begin, before = time.monotonic(), sink.nitems_read(0)
        time.sleep(seconds)
        rate = (sink.nitems_read(0) - before) / (time.monotonic() - begin) / CODE.n
        top.stop()
        top.wait()
        return rate

    def by_flow_graph(self, target, in_flight, frames, seconds):
        """Frames a second."""
        block = self.decoder(target, in_flight, frames)
        top, source = gr.top_block(), self.source(frames)
        top.connect(source, block, blocks.null_sink(1))
        top.start()
        processes.wait_for("frames", lambda: block.counts().answered, every_s=0.01)
        time.sleep(0.5)
        begin, before = time.monotonic(), block.counts()
        time.sleep(seconds)
        rate = (block.counts().answered - before.answered) / (time.monotonic() - begin)
        in_request = (block.counts().answered - before.answered) / max(1, block.counts().requests - before.requests)
        top.stop()
        top.wait()
        return rate, in_request

    def by_gnuradio(self, folder, seconds):
        """Of gr-fec's decoder, which runs on one thread."""
        path = pathlib.Path(folder) / "wimax.alist"
        write_alist(parity_matrix(), path)
        bits = np.random.default_rng(2).integers(0, 2, (8, CODE.k), np.uint8)
        encoder, sink = fec.ldpc_encoder_make(str(path)), blocks.vector_sink_b()
        top = gr.top_block()
        top.connect(blocks.vector_source_b(bits.reshape(-1).tolist()), fec.encoder(encoder, 1, 1), sink)
        top.run()
        words = np.array(sink.data(), np.uint8).reshape(-1, CODE.n)
        noise = np.random.default_rng(3).normal(0, np.sqrt(self.sigma2), words.shape)
        received = (2.0 * words - 1 + noise).astype(np.float32)
        # What it calls sigma it takes as the variance.
        decoder = fec.ldpc_decoder.make(str(path), float(self.sigma2), ITERATIONS)
        top, sink = gr.top_block(), blocks.vector_sink_b()
        top.connect(blocks.vector_source_f(received.reshape(-1).tolist()), fec.decoder(decoder, 4, 1), sink)
        top.run()
        decoded = np.array(sink.data(), np.uint8).reshape(-1, CODE.k)
        if len(decoded) != len(bits) or (decoded != bits).any():
            sys.exit("GNU Radio's own decoder does not decode")
        frames = 8
        while True:
            top = gr.top_block()
            top.connect(blocks.vector_source_f(received.reshape(-1).tolist(), True), blocks.head(4, frames * CODE.n),
                        fec.decoder(decoder, 4, 1), blocks.null_sink(1))
            begin = time.monotonic()
            top.run()
            took = time.monotonic() - begin
            if took > seconds:
                return frames / took
            frames *= 2


def by_cpp(target, in_flight, frames, seconds, fixed):
    command = [processes.program("basebandctl"), f"--target={target}", f"--in-flight={in_flight}"]
    command += ["load", "decode", "--wimax=1/2", "--n=2304", f"--blocks={frames}", f"--iterations={ITERATIONS}"]
    command += [f"--ebn0={EBN0_DB}", f"--duration={seconds}s", *(["--fixed"] if fixed else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = re.search(r"goodput\s+(\S+)(?: (k|M))? calls/s", done.stdout)
    if not found or "0 wrong" not in done.stdout:
        sys.exit(done.stdout)
    return float(found[1]) * {None: 1, "k": 1e3, "M": 1e6}[found[2]] * frames


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4, help="of each measurement (4)")
    parser.add_argument("--target", help="a server that runs")
    parser.add_argument("--fixed", action="store_true", help="all iterations, as in the paper")
    parser.add_argument("--csv", type=pathlib.Path, help="the table; and, with matplotlib, the figure beside it (.svg)")
    options = parser.parse_args()
    bo.tune_process()  # as basebandctl does
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gnuradio"))
        target = options.target or stack.enter_context(processes.Basebandd(folder, "server")).target
        case = Case(target, options.fixed)
        case.check(target)
        print("requests x frames   in a request   flow graph (Mb/s)   C++ client (Mb/s)   ratio   source alone (Mb/s)")
        rows = []
        for in_flight, frames in CASES:
            rate, in_request = case.by_flow_graph(target, in_flight, frames, options.seconds)
            cpp = by_cpp(target, in_flight, frames, options.seconds, options.fixed)
            source = case.by_source(frames, options.seconds)
            rows.append([in_flight * frames, *(each * CODE.k / 1e6 for each in (rate, cpp, source))])
            print(f"{in_flight:8} x {frames:<6} {in_request:14.1f} {rows[-1][1]:19.2f} {rows[-1][2]:19.2f} {rate / cpp:7.2f} {rows[-1][3]:21.0f}", flush=True)
        own = case.by_gnuradio(folder, options.seconds) * CODE.k / 1e6
        best = max(row[1] for row in rows)
        print(f"GNU Radio's fec.decoder with ldpc_decoder, one core: {own:.3f} Mb/s; the best above is {best / own:.0f} times that")
    if options.csv:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([gnuradio_figure.COLUMNS, *([*row, own] for row in rows)])
        if importlib.util.find_spec("matplotlib"):
            gnuradio_figure.draw(options.csv.with_suffix(".svg"), {"": options.csv})


if __name__ == "__main__":
    main()
