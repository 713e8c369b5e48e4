#!/usr/bin/env python3
"""The likelihood of a sinusoid's frequency: its profile over the grid, and the refined estimate.

    likelihood.py SERVER PLOT.png
"""

import sys

import matplotlib
import numpy as np

import baseband_offload as bo

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

target, plot = sys.argv[1:] if len(sys.argv) == 3 else sys.exit(__doc__)
truth, rate = 12345.6, 1e6  # Hz
n = np.arange(2000)
signal = np.cos(2 * np.pi * truth / rate * n + 0.7) + np.random.default_rng(1).standard_normal(n.size)
grid = bo.Axis.linspace(10e3, 15e3, 4001, "f")

with bo.Client(target) as client:
    functional = bo.Sinusoids(signal, 1 / rate, fixed_columns=[np.ones(n.size)])
    found = client.minimize(
        functional, [grid], refinement="brent", profile_bins=1000,
        progress=lambda now: print(f"{now.points} of {now.total_points} points", file=sys.stderr),
    )

print(f"{found.point[0]:.2f} +- {found.deviation[0]:.2f} Hz ({found.refinement_outcome})")
bins = np.linspace(10, 15, found.profile.size)
plt.plot(bins, found.profile, label="rest of the signal, least of each bin")
plt.axvline(found.point[0] / 1e3, color="C1", label=f"{found.point[0]:.1f} +- {found.deviation[0]:.1f} Hz")
plt.axvline(truth / 1e3, color="k", linestyle=":", label=f"sent: {truth} Hz")
plt.xlabel("frequency, kHz")
plt.ylabel("|y - H a|^2")
plt.legend(loc="lower left", fontsize=8)
plt.savefig(plot)
