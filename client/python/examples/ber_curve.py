#!/usr/bin/env python3
"""Bit error rates of 802.16e's (2304,1152) code after 10 iterations, BPSK in white Gaussian noise.

    ber_curve.py SERVER PLOT.png
"""

import sys

import matplotlib
import numpy as np

import baseband_offload as bo

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

target, plot = sys.argv[1:] if len(sys.argv) == 3 else sys.exit(__doc__)
code, blocks = bo.WimaxCode("1/2", 2304), 200
ebn0_db, random = np.arange(0.0, 2.1, 0.25), np.random.default_rng(1)

with bo.Client(target) as client:
    bits = random.integers(0, 2, (blocks, code.k), np.uint8)
    sent = 1 - 2.0 * client.encode(bits, code, output="codeword").bits
    sigma2 = 1 / (2 * 0.5 * 10 ** (ebn0_db / 10))  # code rate 1/2
    noisy = (sent + np.sqrt(s) * random.standard_normal(sent.shape) for s in sigma2)
    requests = (bo.decode_request(bo.quantize(2 * y / s), code) for y, s in zip(noisy, sigma2))
    ber = np.zeros(ebn0_db.size)
    for answer in client.submit(requests, in_flight=4):
        ber[answer.index] = (answer.result().bits != bits).mean()

for point in zip(ebn0_db, ber):
    print("Eb/N0 %.2f dB: BER %.2e" % point)
plt.semilogy(ebn0_db, np.where(ber > 0, ber, np.nan), "o-", label="layered normalised min-sum")
plt.xlabel("Eb/N0, dB")
plt.ylabel("bit error rate")
plt.title("(2304,1152), 10 iterations")
plt.grid(which="both", alpha=0.4)
plt.legend()
plt.savefig(plot)
