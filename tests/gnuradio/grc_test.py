"""What GNU Radio Companion has of the module: blocks, and example flow graphs that run."""

import csv
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

os.environ["QT_QPA_PLATFORM"] = "offscreen"
import pmt  # noqa: E402
import yaml  # noqa: E402
from gnuradio import baseband_offload as bo  # noqa: E402
from PyQt5 import Qt  # noqa: E402

import support  # noqa: E402
import wideband  # noqa: E402
from support import PROJECT, processes  # noqa: E402

GRC = PROJECT / "client/gnuradio/grc"
EXAMPLES = PROJECT / "client/gnuradio/examples"


def grcc(graph, folder):
    """Compiles it; its module."""
    environment = {**os.environ, "GRC_BLOCKS_PATH": str(GRC), "HOME": str(folder)}
    done = subprocess.run(["/usr/bin/python3", "/usr/bin/grcc", "-o", folder, graph], capture_output=True, text=True,
                          timeout=300, check=False, env=environment)
    made = folder / f"{graph.stem}.py"
    if done.returncode != 0 or not made.exists():
        raise ValueError(f"grcc {graph}: {done.returncode}\n{done.stdout}{done.stderr}")
    spec = importlib.util.spec_from_file_location(graph.stem, made)
    module = importlib.util.module_from_spec(spec)
    sys.modules[graph.stem] = module
    spec.loader.exec_module(module)
    return module


class ExamplesTest(support.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.application = Qt.QApplication.instance() or Qt.QApplication(["test"])

    def graph(self, name, **options):
        module = grcc(EXAMPLES / f"{name}.grc", self.folder)
        return getattr(module, name)(target=self.server.target, **options)

    def run_until(self, top, condition):
        top.start()
        try:
            support.wait_for(top.name(), condition)
        finally:
            top.stop()
            top.wait()

    def test_every_example_is_tried_here(self):
        tried = {name for name in dir(self) if name.startswith("test_example_")}
        self.assertEqual({f"test_example_{path.stem}" for path in EXAMPLES.glob("*.grc")}, tried)

    def test_example_ldpc_ber(self):
        """The bit error rate is basebandctl's, within the 95 % limits of both."""
        ebn0, frames = 1.4, 1500
        top = self.graph("ldpc_ber", ebn0=ebn0, frames=frames)
        # Of packed bytes.
        self.run_until(top, lambda: top.ber.nitems_read(1) == frames * 144)
        measured = 10 ** top.log_ber.level()
        command = [processes.program("basebandctl"), f"--target={self.server.target}", "ber", f"--ebn0={ebn0}", f"--frames={frames}"]
        subprocess.run([*command, "--iterations=10", f"--csv={self.folder}/ber.csv"], check=True, timeout=300, capture_output=True)
        with open(self.folder / "ber.csv", encoding="utf-8", newline="") as file:
            (told,) = csv.DictReader(file)
        low, ber, high = (float(told[name]) for name in ("ber_low95", "ber", "ber_high95"))
        # Both have the same width; their difference has its square root of 2.
        self.assertGreater(measured, ber - 2**0.5 * (ber - low))
        self.assertLess(measured, ber + 2**0.5 * (high - ber))

    def test_example_apsk_tail(self):
        frames, offset = 200, 0.0123
        top = self.graph("apsk_tail", frames=frames, offset=offset, esn0=20)
        self.run_until(top, lambda: top.results.num_messages() == frames)
        for i in range(frames):
            result = pmt.to_python(top.results.get_message(i))
            self.assertTrue(result["lock"])
            self.assertLess(abs(result["frequency"] - offset), 6 * result["frequency_stddev"])
            self.assertLess(abs(result["snr_db"] - 20), 1)

    def test_example_wideband_receiver(self):
        frames, recording, received = 5, self.folder / "wide.sigmf-data", self.folder / "received"
        wideband.record(self.server.target, frames, recording)
        files = {"recording": str(recording), "received": str(received)}
        top = self.graph("wideband_receiver", samp_rate=wideband.RATE, frequency=wideband.FREQUENCY, **files)
        top.run()
        told = pmt.to_python(top.results.get_message(0))
        self.assertTrue(told["lock"] and told["timing_lock"], told)
        self.assertLess(abs(told["clock_error"] - wideband.CLOCK_ERROR), 6 * told["clock_error_stddev"])
        top.sink.close()
        self.assertEqual(received.read_bytes(), wideband.information(frames).tobytes())

    def test_example_channels_64(self):
        samples = 2 * 6400 * 64
        top = self.graph("channels_64", samples=samples, samp_rate=6.4e6)
        self.run_until(top, lambda: top.choice.nitems_read(63) == samples // 64)
        counts = top.downconverter.counts()
        self.assertEqual((counts.taken, counts.done, counts.dropped), (samples, samples, 0))


class BlocksTest(unittest.TestCase):
    def setUp(self):
        self.blocks = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in GRC.glob("*.yml")}
        self.assertGreaterEqual(len(self.blocks), 6)

    def test_every_block_makes_something_of_the_module(self):
        for name, block in self.blocks.items():
            with self.subTest(name):
                self.assertEqual(name, f"{block['id']}.block.yml")
                self.assertTrue(block["documentation"].strip())
                made = block["templates"].get("make", "") + block["templates"].get("var_make", "")
                for word in made.split("baseband_offload.")[1:]:
                    self.assertTrue(hasattr(bo, word.split("(")[0].split(".")[0]), word)

    def test_numbers_have_checks(self):
        for name, block in self.blocks.items():
            checks = " ".join(block.get("asserts", []))
            for parameter in block["parameters"]:
                if parameter["dtype"] in ("int", "real") and not parameter.get("category"):
                    with self.subTest(f"{name}: {parameter['id']}"):
                        self.assertIn(parameter["id"], checks + ("stop_edge" if "pass_edge" in checks else ""))

    def test_what_is_out_of_range_does_not_compile(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for example, block, parameter, value in (
            ("ldpc_ber", "decoder", "max_iterations", "101"),
            ("apsk_tail", "carrier", "frame_symbols", "15"),
            ("wideband_receiver", "symbols", "samples_per_symbol", "1.9"),
            ("channels_64", "downconverter", "pass_edge", "samp_rate"),
        ):
            graph = yaml.safe_load((EXAMPLES / f"{example}.grc").read_text(encoding="utf-8"))
            changed = [b for b in graph["blocks"] if b["name"] == block]
            changed[0]["parameters"][parameter] = value
            path = folder / f"{example}.grc"
            path.write_text(yaml.safe_dump(graph), encoding="utf-8")
            with self.subTest(parameter), self.assertRaisesRegex(ValueError, "Assertion"):
                grcc(path, folder)


if __name__ == "__main__":
    unittest.main()
