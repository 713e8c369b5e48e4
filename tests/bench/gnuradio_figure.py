#!/usr/bin/env python3
"""Draws tables of gnuradio_bench.py in one figure: gnuradio_figure.py FIGURE.svg NAME=TABLE.csv ..

Throughput of decoded bits over the frames in flight, as the layered decoder's paper has it in its figure 6.
"""

import csv
import sys

COLUMNS = ("frames_in_flight", "flow_graph_mbps", "cpp_client_mbps", "source_mbps", "gnuradio_decoder_mbps")


def draw(figure, tables):
    """`tables`: their files by the names that curves get."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.figure(figsize=(8, 5))
    for i, (name, path) in enumerate(tables.items()):
        with open(path, encoding="utf-8", newline="") as file:
            rows = [[float(row[column]) for column in COLUMNS] for row in csv.DictReader(file)]
        frames, flow_graph, cpp, source, own = zip(*rows)
        name, color = f", {name}" * bool(name), f"C{i}"
        plt.loglog(frames, flow_graph, "o-", color=color, label=f"flow graph{name}")
        plt.loglog(frames, cpp, "x--", color=color, label=f"C++ client{name}")
        plt.loglog(frames, source, "-.", color=color, alpha=0.5, label=f"the flow graph's source alone{name}")
        plt.axhline(own[0], color=color, linestyle=":", label=f"GNU Radio's own decoder, one core{name}")
    plt.xlabel("frames in flight")
    plt.ylabel("decoded bits, Mb/s")
    plt.title("LDPC (2304,1152) of 802.16e, BPSK, 10 iterations")
    plt.grid(which="both", alpha=0.3)
    plt.legend()
    plt.savefig(figure)


if __name__ == "__main__":
    draw(sys.argv[1], dict(table.split("=", 1) for table in sys.argv[2:]))
