"""A recording such as the receivers of client/gnuradio/examples take, made by GNU Radio."""

import numpy as np
from gnuradio import baseband_offload as bo
from gnuradio import blocks, channels, digital, filter, gr
from gnuradio.filter import firdes

RATE = 8e6  # 16 samples a symbol
FREQUENCY = 1.3e6
CLOCK_ERROR = -20e-6  # as the receiver sees it
CODE = bo.ldpc_code.wimax("1/2", 2304)
MARKER = np.unpackbits(np.frombuffer(bytes.fromhex("034776C7272895B0"), np.uint8))
POINTS = np.sqrt(0.5) * np.array([1 + 1j, 1 - 1j, -1 + 1j, -1 - 1j])


def information(frames):
    """Of so many frames, packed."""
    return np.random.default_rng(5).integers(0, 256, frames * CODE.k // 8, np.uint8)


def bits_of(target, frames):
    """Markers and codewords, between bits that are nothing to the receiver."""
    top, words = gr.top_block(), blocks.vector_sink_b()
    top.connect(blocks.vector_source_b(information(frames).tolist()), bo.ldpc_encoder(CODE, bo.connection(target), packed=False), words)
    top.run()
    words = np.array(words.data(), np.uint8).reshape(frames, CODE.n)
    others = np.random.default_rng(6).integers(0, 2, (2, 1000), np.uint8)
    sent = np.hstack([np.tile(MARKER, (frames, 1)), words]).reshape(-1)
    return np.concatenate([others[0], sent, others[1]])


def record(target, frames, path):
    """Complex int16 at `path`: pulses, a carrier 2 kHz beside FREQUENCY, a fast clock, noise (Es/N0 8 dB), a stronger neighbour."""
    bits = bits_of(target, frames)
    symbols = 2 * bits[::2] + bits[1::2]
    top = gr.top_block()
    pulses = filter.interp_fir_filter_ccf(16, firdes.root_raised_cosine(16, 16, 1, 0.25, 16 * 80 + 1))
    channel = channels.channel_model(1.4, (FREQUENCY - 2e3) / RATE, 1 - CLOCK_ERROR, [np.exp(1j)], 3)
    neighbour = blocks.rotator_cc(-2 * np.pi * 0.2)
    added, full = blocks.add_cc(), blocks.complex_to_interleaved_short(False, 2000)
    top.connect(blocks.vector_source_b(symbols.tolist()), digital.chunks_to_symbols_bc(POINTS.tolist(), 1), pulses, channel, added)
    top.connect(blocks.vector_source_c([3], True), neighbour, (added, 1))
    top.connect(added, full, blocks.file_sink(gr.sizeof_short, str(path)))
    top.run()
