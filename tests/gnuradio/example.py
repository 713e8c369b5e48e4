"""Noisy code words of zeros through a decoder on a server: example.py TARGET."""

import sys

from gnuradio import analog, blocks, gr
from gnuradio import baseband_offload as bo

target, frames, sigma = sys.argv[1], 1000, 0.6

code = bo.ldpc_code.wimax("1/2", 2304)
server = bo.connection(target, in_flight=4, on_failure=bo.failure_policy.push_back)
decoder = bo.ldpc_decoder(code, server, llr_scale=2 / sigma**2, max_iterations=10)

top = gr.top_block()
received, sink = blocks.add_const_ff(-1), blocks.vector_sink_b()
noise = analog.noise_source_f(analog.GR_GAUSSIAN, sigma, 1)
top.connect(noise, blocks.head(4, frames * code.n), received, decoder, sink)
top.run()
print(f"{sum(map(bool, sink.data()))} of {len(sink.data())} bytes are not as sent")
