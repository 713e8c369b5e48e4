#!/usr/bin/env python3
"""Decode by client/python against the C++ client (basebandctl load), in turns, on the CPU device.

    PYTHONPATH=BUILD/client/python BASEBAND_BUILD=BUILD python_bench.py [ROUNDS [SECONDS]]

One server at a Unix socket, both clients one connection. Every answer is compared with what was sent.
Rates are the medians of the rounds.
"""

import pathlib
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

import numpy as np  # noqa: E402

import baseband_offload as bo  # noqa: E402
import support  # noqa: E402

EBN0_DB = 4.0
CODE = bo.WimaxCode("1/2", 2304)
CASES = {  # blocks in a request, requests in flight, whether they go through a Submit stream; the least ratio
    "64 MB a call": (27776, 1, False, 0.8),
    "4.6 kB a call": (2, 1, False, 0.5),
    "4.6 kB, 16 on a stream": (2, 16, True, 0.5),
}


def by_cpp(server, blocks, in_flight, is_stream, seconds):
    command = [support.BUILD / "client/ctl/basebandctl", f"--target={server.target}", "--connections=1"]
    command += [f"--in-flight={in_flight}", "load", "decode", "--wimax=1/2", "--n=2304", f"--blocks={blocks}"]
    command += [f"--ebn0={EBN0_DB}", f"--duration={seconds}s", "--variants=1"] + ["--stream"] * is_stream
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(re.search(r"goodput\s+(\S+) calls/s", told)[1])


def by_python(client, blocks, in_flight, is_stream, seconds):
    random = np.random.default_rng(1)
    bits = random.integers(0, 2, (blocks, CODE.k), np.uint8)
    sigma2 = 1 / 10 ** (EBN0_DB / 10)  # of a code of rate 1/2
    noisy = 1 - 2.0 * client.encode(bits, CODE, output="codeword").bits
    noisy += np.sqrt(sigma2) * random.standard_normal(noisy.shape)
    llrs = bo.quantize(2 * noisy / sigma2)
    packed = np.packbits(bits, axis=-1)
    calls = 0
    begin = time.monotonic()

    def requests():
        while time.monotonic() < begin + seconds:
            yield bo.decode_request(llrs, CODE, packed=True)

    if is_stream:
        results = (answer.result() for answer in client.submit(requests(), in_flight=in_flight))
    else:
        results = map(client.call, requests())
    for result in results:
        calls += 1
        if not np.array_equal(result.bits, packed):
            sys.exit("a wrong answer")
    return calls / (time.monotonic() - begin)


def main():
    bo.apply_malloc_tuning()  # as basebandctl does
    rounds, seconds = (int(text) for text in (sys.argv[1:] + ["5", "4"][len(sys.argv) - 1 :])[:2])
    with support.Server() as server, server.client(connections=1) as client:
        for name, (*case, least) in CASES.items():
            rates = [
                (by_cpp(server, *case, seconds), by_python(client, *case, seconds)) for _ in range(rounds)
            ]
            cpp, python = (statistics.median(side) for side in zip(*rates))
            print(f"{name}: C++ {cpp:.1f} calls/s, Python {python:.1f}, ratio {python / cpp:.2f} (at least {least})")


if __name__ == "__main__":
    main()
