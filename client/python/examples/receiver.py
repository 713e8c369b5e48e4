#!/usr/bin/env python3
"""From a wideband recording to the text in one of its channels.

    receiver.py SERVER RECORDING.sigmf-meta FREQUENCY_HZ

Sent was QPSK, 500000 symbols a second, by root-raised-cosine pulses of roll-off 0.25: frames of a
marker of 32 symbols (CCSDS 131.0-B's for turbo codes of rate 1/2) and a codeword of 802.16e.
"""

import sys
from fractions import Fraction

import numpy as np

import baseband_offload as bo

target, path, frequency = sys.argv[1:] if len(sys.argv) == 4 else sys.exit(__doc__)
recording, code = bo.read_sigmf(path), bo.WimaxCode("1/2", 2304)
marker = 1 - 2.0 * np.unpackbits(np.frombuffer(bytes.fromhex("034776C7272895B0"), np.uint8))
marker = np.sqrt(0.5) * marker.view(np.complex128)  # bits in pairs: 0 is positive, I comes first
down = Fraction(recording.sample_rate_hz) / 1250000  # to 5/2 samples a symbol

with bo.Client(target) as client:
    channel = bo.Channel(float(frequency), up=down.denominator, down=down.numerator, pass_edge_hz=320e3)
    (samples,) = client.downconvert(recording.samples, recording.sample_rate_hz, [channel]).channels
    rates = {"samples_per_symbol": Fraction(5, 2), "roll_off": 0.25}
    found = client.recover_carrier(samples, "QPSK", **rates, corrected=True)
    symbols = found.corrected / found.gain
    matches = np.correlate(symbols[: -code.sent // 2], marker)  # of frames that are all there
    (begins,) = np.nonzero(np.abs(matches) > 0.8 * marker.size)
    words = symbols[begins[:, None] + marker.size + np.arange(code.sent // 2)]
    words *= np.exp(-1j * np.angle(matches[begins, None]))  # the quarter turns that QPSK leaves open
    llrs = np.sqrt(8) * 10 ** (found.snr_db / 10) * words.astype(np.complex64).view(np.float32)
    decoded = client.decode(bo.quantize(llrs), code, packed=True)

timing = found.symbol_timing
print(f"{found.lock}, clock {1e6 * timing.clock_error:+.1f} ppm, Es/N0 {found.snr_db:.1f} dB", file=sys.stderr)
print(decoded.bits[decoded.parity_ok].tobytes().decode().rstrip())
