"""The scripts of client/python/examples: that they draw, and that what they tell is right."""

import csv
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np
from matplotlib import image

import support

EXAMPLES = support.PACKAGE / "examples"


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

    def test_each_is_short(self):
        for script in EXAMPLES.glob("*.py"):
            self.assertLess(len(script.read_text().splitlines()), 40, script.name)


if __name__ == "__main__":
    unittest.main()
