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
CASES = {  # blocks in a request, requests in flight, how many Python joins; in flight by a Submit stream if several
    "64 MB a call": (27776, 1, 1),
    "4.6 kB a call": (2, 1, 1),
    "4.6 kB, 16 on a stream": (2, 16, 1),
    "4.6 kB, 64 on a stream, joined by 16": (2, 64, 16),
}


def by_cpp(server, blocks, in_flight, _, seconds):
    command = [support.BUILD / "client/ctl/basebandctl", f"--target={server.target}", "--connections=1"]
    command += [f"--in-flight={in_flight}", "load", "decode", "--wimax=1/2", "--n=2304", f"--blocks={blocks}"]
    command += [f"--ebn0={EBN0_DB}", f"--duration={seconds}s", "--variants=1"] + ["--stream"] * (in_flight > 1)
    told = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
    found = re.search(r"goodput\s+(\S+) calls/s", told)
    return float(found[1]) if found and "0 wrong" in told else sys.exit(told)


def by_python(client, blocks, in_flight, joined, seconds):
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
            yield bo.join([bo.decode_request(llrs, CODE, packed=True) for _ in range(joined)])

    if in_flight > 1:
        results = (answer.result() for answer in client.submit(requests(), in_flight=in_flight // joined))
    else:
        results = map(client.call, requests())
    for result in results:
        calls += joined
        if not all(np.array_equal(decoded.bits, packed) for decoded in result):
            sys.exit("a wrong answer")
    return calls / (time.monotonic() - begin)


def main():
    bo.apply_malloc_tuning()  # as basebandctl does
    rounds, seconds = (int(text) for text in (sys.argv[1:] + ["5", "4"][len(sys.argv) - 1 :])[:2])
    with support.Server() as server, server.client(connections=1) as client:
        for name, case in CASES.items():
            rates = [(by_cpp(server, *case, seconds), by_python(client, *case, seconds)) for _ in range(rounds)]
            cpp, python = (statistics.median(side) for side in zip(*rates))
            print(f"{name}: C++ {cpp:.1f} requests/s, Python {python:.1f}, ratio {python / cpp:.2f}", flush=True)


if __name__ == "__main__":
    main()
