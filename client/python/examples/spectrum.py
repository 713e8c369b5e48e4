#!/usr/bin/env python3
"""The spectrum of a wideband recording, and those of channels that are taken out of it.

    spectrum.py SERVER RECORDING.sigmf-meta PLOT.png FREQUENCY_HZ ...
"""

import sys

import matplotlib
import numpy as np

import baseband_offload as bo

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

target, path, plot, *frequencies = sys.argv[1:] if len(sys.argv) >= 5 else sys.exit(__doc__)
recording, down, piece = bo.read_sigmf(path), 32, 1 << 16
rate, samples = recording.sample_rate_hz, recording.samples  # int16, I and Q
channels = [bo.Channel(float(f), down=down, pass_edge_hz=0.4 * rate / down) for f in frequencies]

with bo.Client(target) as client:
    pieces = (samples[at : at + piece] for at in range(0, len(samples), piece))
    found = list(client.downconvert_stream(pieces, rate, channels))

wide = samples.astype(np.float32).view(np.complex64)[:, 0] / 32768
axis = plt.figure(figsize=(10, 6)).subplots(2, 1)
axis[0].psd(wide, 2048, rate / 1e6, color="gray")
axis[0].set(title=path.rpartition("/")[2], xlabel="MHz")
for number, channel in enumerate(channels):
    outputs = np.concatenate([part.channels[number] for part in found])
    power, offset = axis[1].psd(outputs, 512, rate / down / 1e6, label=f"{channel.frequency / 1e6:g} MHz")
    print(f"{channel.frequency:.0f} Hz: {outputs.size} samples, the strongest line at {1e6 * offset[power.argmax()]:+.0f} Hz")
    axis[0].axvspan(*(channel.frequency / 1e6 + np.array([-0.4, 0.4]) * rate / down / 1e6), alpha=0.3, color=f"C{number}")
axis[1].set(xlabel="MHz from the channel's centre")
axis[1].legend()
plt.tight_layout()
plt.savefig(plot)
