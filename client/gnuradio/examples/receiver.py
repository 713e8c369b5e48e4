#!/usr/bin/python3
"""From a wideband recording, complex int16, to the bytes in one of its channels.

    receiver.py SERVER RECORDING.sigmf-data SAMPLE_RATE_HZ FREQUENCY_HZ BYTES

Sent was what client/python/examples/receiver.py takes: QPSK, 500000 symbols a second, roll-off 0.25:
frames of a marker of 32 symbols and a codeword of 802.16e.
"""

import fractions
import os
import sys

import numpy as np
from gnuradio import baseband_offload as bo
from gnuradio import blocks, digital, gr

if len(sys.argv) != 6:
    sys.exit(__doc__)
target, path, rate, frequency, received = sys.argv[1:]
server, code, points = bo.connection(target), bo.ldpc_code.wimax("1/2", 2304), [1 + 1j, 1 - 1j, -1 + 1j, -1 - 1j]
bits = np.unpackbits(np.frombuffer(bytes.fromhex("034776C7272895B0"), np.uint8))
marker = np.sqrt(0.5) * np.take(points, 2 * bits[::2] + bits[1::2])
down = fractions.Fraction(rate) / 1250000  # to 5/2 samples a symbol
samples = int(os.path.getsize(path) // 4 / down)  # the timing is found of all of them at once
channel = bo.downconverter(server, sample_rate_hz=float(rate), frequencies_hz=[float(frequency)], pass_edge_hz=320e3,
                           input=bo.wideband_format.sc16, up=down.denominator, down=down.numerator)
symbols = bo.carrier_recovery(server, samples_per_symbol=2.5, roll_off=0.25, frame_samples=samples, unit_gain=True)
frames = digital.corr_est_cc(marker, 1, 1, 0.6)
turned = bo.carrier_recovery(server, frame_tag="corr_est", frame_symbols=32 + code.n // 2, known=marker,
                             coarse=bo.coarse_method.none, unit_gain=True)  # the quarter turns that QPSK leaves open
words = blocks.keep_m_in_n(gr.sizeof_gr_complex, code.n // 2, 32 + code.n // 2, 32)
soft = digital.constellation_soft_decoder_cf(digital.constellation_calcdist(points, [0, 1, 2, 3], 4, 1).base())
decoder = bo.ldpc_decoder(code, server, llr_scale=4)
top = gr.top_block()
top.connect(blocks.file_source(4, path), channel, symbols, frames, turned, words, soft, decoder, blocks.file_sink(1, received))
top.run()
