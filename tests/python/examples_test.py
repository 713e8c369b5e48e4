"""The scripts of client/python/examples: that they draw, and that what they tell is right."""

import csv
import importlib.util
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np
from matplotlib import image

import baseband_offload as bo
import support

EXAMPLES = support.PACKAGE / "examples"
TEXT = "\n".join(f"{n} bottles of beer on the wall, {n} bottles of beer." for n in range(99, 49, -1))


class ExamplesTest(support.ServerTest):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.plot = self.folder / "plot.png"

    def ctl(self, *arguments):
        command = [support.BUILD / "client/ctl/basebandctl", f"--target={self.server.target}", *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    def told_by(self, script, *arguments):
        """What it prints; the plot has been written, and is no white sheet."""
        command = ["/usr/bin/python3", EXAMPLES / script, self.server.target, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        drawn = image.imread(self.plot)[..., :3]
        self.assertGreater(drawn.shape[0] * drawn.shape[1], 100_000)
        self.assertGreater((drawn.min(axis=2) < 0.9).mean(), 0.01)
        return done.stdout

    def test_without_arguments_they_tell_their_usage(self):
        scripts = sorted(EXAMPLES.glob("*.py"))
        self.assertTrue(scripts)
        for script in scripts:
            with self.subTest(script.name):
                done = subprocess.run(["/usr/bin/python3", script], capture_output=True, text=True, timeout=300, check=False)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(f"    {script.name} SERVER ", done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_error_rates_fall_as_basebandctl_s_do(self):
        told = re.findall(r"Eb/N0 (\S+) dB: BER (\S+)", self.told_by("ber_curve.py", self.plot))
        rates = {float(ebn0): float(ber) for ebn0, ber in told}
        self.assertEqual(len(rates), 9)
        table = self.folder / "ber.csv"
        self.ctl("ber", "--wimax=1/2", "--ebn0=0.5:0.5:1.5", "--frames=2000", f"--csv={table}")
        known_rates = list(csv.DictReader(table.read_text().splitlines()))
        self.assertEqual(len(known_rates), 3)
        for known in known_rates:
            ours, theirs = rates[float(known["ebn0_db"])], float(known["ber"])
            # 200 frames, whose errors come in bursts; 0.25 dB are a factor of 3 and more here.
            self.assertLess(abs(np.log(ours / theirs)), np.log(2), known)

    def test_a_constellation_is_turned_back(self):
        recording = self.folder / "frame.sigmf-meta"
        flags = "--constellation=16APSK 3/4", "--snr=20", "--frequency=0.011", "--symbol-rate=1M", f"--out={recording}"
        self.ctl("carrier-signal", *flags)
        told = self.told_by("constellation.py", recording, "16APSK 3/4", self.plot)
        frequency, deviation, snr = map(float, re.search(r"locked: (\S+) \+- (\S+) Hz\nEs/N0 (\S+) dB", told).groups())
        self.assertLess(abs(frequency - 11e3), 6 * deviation)
        self.assertAlmostEqual(snr, 20, delta=0.3)

    def test_tones_are_in_their_channels(self):
        recording = self.folder / "wide.sigmf-meta"
        flags = "--rate=8M", "--samples=262144", "--format=ci16", "--tone=1.03M:-12", "--tone=-2.02M:-20"
        self.ctl("wideband-signal", *flags, f"--out={recording}")
        self.assertEqual(json.loads(recording.read_text())["global"]["core:datatype"], "ci16_le")
        told = self.told_by("spectrum.py", recording, self.plot, "1e6", "-2e6")
        lines = {int(f): int(line) for f, line in re.findall(r"(\S+) Hz: 8192 samples, .* at (\S+) Hz", told)}
        self.assertEqual(set(lines), {1000000, -2000000})
        self.assertAlmostEqual(lines[1000000], 30000, delta=250)  # half a bin of 488 Hz
        self.assertAlmostEqual(lines[-2000000], -20000, delta=250)

    def test_a_likelihood_has_its_minimum_at_the_frequency(self):
        told = self.told_by("likelihood.py", self.plot)
        frequency, deviation = map(float, re.search(r"(\S+) \+- (\S+) Hz \(converged\)", told).groups())
        self.assertLess(abs(frequency - 12345.6), 5 * deviation)
        self.assertLess(deviation, 15)

    def test_text_comes_out_of_a_wideband_recording(self):
        rate, offset = 16, 0.3  # samples a symbol, and by how many symbols their pulses are late
        symbols = self.symbols_of(TEXT)
        t = np.arange(-40 * rate, 40 * rate) / rate - offset + 1e-9
        pulse = np.sin(0.75 * np.pi * t) + t * np.cos(1.25 * np.pi * t)
        pulse /= np.pi * t * (1 - t**2)
        samples = np.convolve(np.kron(symbols, np.eye(1, rate)[0]), pulse)[40 * rate : -40 * rate]
        time = np.arange(samples.size)
        samples *= np.exp(2j * np.pi * 1.302e6 / 8e6 * time)
        samples += 3 * np.exp(-2j * np.pi * 0.2 * time)  # a stronger neighbour
        samples += 0.9 * np.random.default_rng(2).standard_normal((samples.size, 2)) @ [1, 1j]
        self.assertLess(abs(self.clock_error_of(samples)), 3)

    @unittest.skipUnless(importlib.util.find_spec("gnuradio"), "no GNU Radio")
    def test_text_comes_out_of_a_recording_of_gnu_radio_s(self):
        from gnuradio import blocks, channels, filter, gr
        from gnuradio.filter import firdes

        flow = gr.top_block()
        taps = firdes.root_raised_cosine(16, 16, 1, 0.25, 16 * 80 + 1)
        sink = blocks.vector_sink_c()
        channel = channels.channel_model(0.3, 1.298e6 / 8e6, 1.00002, [1], 3)
        flow.connect(blocks.vector_source_c(self.symbols_of(TEXT)), filter.interp_fir_filter_ccf(16, taps), channel, sink)
        flow.run()
        # Its clock is fast: it has fewer samples of each symbol.
        self.assertAlmostEqual(self.clock_error_of(np.array(sink.data())), -20, delta=3)

    def symbols_of(self, text):
        """QPSK as receiver.py wants it, between symbols that are nothing to it."""
        code = bo.WimaxCode("1/2", 2304)
        data = np.frombuffer(text.ljust(-(-len(text) // 144) * 144).encode(), np.uint8).reshape(-1, 144)
        words = self.client.encode(np.unpackbits(data, axis=1), code, output="codeword").bits
        marker = np.unpackbits(np.frombuffer(bytes.fromhex("034776C7272895B0"), np.uint8))
        frames = np.hstack([np.tile(marker, (len(words), 1)), words]).reshape(-1)
        noise = np.random.default_rng(1).integers(0, 2, (2, 1000))
        bits = np.concatenate([noise[0], frames, noise[1]])
        return (1 - 2.0 * bits).view(np.complex128) * np.sqrt(0.5)

    def clock_error_of(self, samples):
        """In ppm, as receiver.py finds it, which gives back the text."""
        pairs = samples.astype(np.complex64).view(np.float32).reshape(-1, 2)
        base = self.folder / "wide"
        (pairs * 3000).astype("<i2").tofile(f"{base}.sigmf-data")
        about = {"core:datatype": "ci16_le", "core:sample_rate": 8e6, "core:version": "1.0.0"}
        base.with_suffix(".sigmf-meta").write_text(json.dumps({"global": about, "captures": [], "annotations": []}))
        command = ["/usr/bin/python3", EXAMPLES / "receiver.py", self.server.target, f"{base}.sigmf-meta", "1.3e6"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, TEXT + "\n"), done.stderr)
        return float(re.search(r"locked, clock (\S+) ppm", done.stderr)[1])

    def test_each_is_short(self):
        for script in EXAMPLES.glob("*.py"):
            self.assertLess(len(script.read_text().splitlines()), 40, script.name)


if __name__ == "__main__":
    unittest.main()
