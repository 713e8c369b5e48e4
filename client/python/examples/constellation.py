#!/usr/bin/env python3
"""The symbols of a recording before and after carrier recovery.

    constellation.py SERVER RECORDING.sigmf-meta CONSTELLATION PLOT.png
"""

import sys

import matplotlib

import baseband_offload as bo

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

target, path, name, plot = sys.argv[1:] if len(sys.argv) == 5 else sys.exit(__doc__)
recording = bo.read_sigmf(path)  # one sample a symbol

with bo.Client(target) as client:
    rate = recording.sample_rate_hz
    found = client.recover_carrier(recording.samples, name, symbol_rate_hz=rate, corrected=True)
    points = client.constellation(name)

print(f"{found.lock}: {found.frequency_hz:.3f} +- {found.frequency_stddev_hz:.3f} Hz")
print(f"Es/N0 {found.snr_db:.2f} dB, EVM {100 * found.evm:.1f} %")
figure, axes = plt.subplots(1, 2, figsize=(10, 5), sharex=True, sharey=True)
for axis, symbols, title in zip(axes, (recording.samples, found.corrected / found.gain), ("received", "recovered")):
    axis.plot(symbols.real[:4000], symbols.imag[:4000], ".", markersize=2)
    axis.set(title=title, xlabel="I", ylabel="Q", aspect="equal")
axes[1].plot(points.real, points.imag, "k+", markersize=9, label=name)
axes[1].legend(loc="upper right")
figure.suptitle(f"{found.frequency_hz:.1f} Hz, Es/N0 {found.snr_db:.1f} dB, EVM {100 * found.evm:.1f} %")
plt.savefig(plot)
