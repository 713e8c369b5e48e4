"""carrier_recovery of samples: symbol timing, and receivers that stand on it."""

import subprocess
import unittest

import numpy as np
from gnuradio import baseband_offload as bo
from gnuradio import blocks

import support
import wideband
from support import Flow

SAMPLES = 5000  # of a frame, 5 / 2 a symbol
ROLL_OFF = 0.25
# Of each frame: the first symbol's place, symbols; the clock's error; cycles per symbol.
FRAMES = ((0.2, 30e-6, 0.01), (0.7, -50e-6, -0.02), (0.45, 0.0, 0.003))
ESN0_DB = 20
GAIN = 3.0


def pulse(t):
    """Root raised cosine of unit energy; `t` in symbols."""
    t = t + 1e-9  # not where it is 0 / 0
    a = ROLL_OFF
    return (np.sin(np.pi * t * (1 - a)) + 4 * a * t * np.cos(np.pi * t * (1 + a))) / (np.pi * t * (1 - (4 * a * t) ** 2))


def frame(symbols, offset, clock_error, frequency, seed):
    """Samples of a frame whose symbol 0 is symbols[20], in noise."""
    random = np.random.default_rng(seed)
    samples = np.zeros(SAMPLES, complex)
    for k, symbol in enumerate(symbols, -20):
        place = 2.5 * (offset + k * (1 + clock_error))
        m = np.arange(max(0, int(place) - 75), min(SAMPLES, int(place) + 76))
        samples[m] += symbol * pulse((m - place) / 2.5)
    turns = frequency * (np.arange(SAMPLES) / 2.5 - offset) / (1 + clock_error)
    noise = random.normal(size=(2, SAMPLES)) * np.sqrt(2.5 / 2) * 10 ** (-ESN0_DB / 20)  # 2.5 samples are one behind the filter
    return GAIN * (samples * np.exp(2j * np.pi * turns) + noise[0] + 1j * noise[1])


class TimingTest(support.ServerTest):
    RATE = {"samples_per_symbol": 2.5, "roll_off": ROLL_OFF, "frame_samples": SAMPLES}
    KNOWN = tuple(np.exp(1j * np.pi / 4 * np.array([1, 1, 3, 7, 5, 1, 3, 3, 7, 1, 5, 5, 3, 1, 7, 7])))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(1)
        cls.sent = np.exp(1j * np.pi / 4 * (2 * random.integers(0, 4, (len(FRAMES), SAMPLES // 2)) + 1))
        cls.sent[:, 20 : 20 + len(cls.KNOWN)] = cls.KNOWN
        cls.received = np.array([frame(*of, seed=i) for i, of in enumerate(zip(cls.sent, *zip(*FRAMES)))], np.complex64)

    def run_flow(self, **options):
        block = bo.carrier_recovery(self.connection(), known=self.KNOWN, coarse=bo.coarse_method.power, **self.RATE, **options)
        flow = Flow(block, self.received.reshape(-1), sink=blocks.vector_sink_c, ports=("status", "carrier"))
        return flow, flow.run()

    def test_symbols_come_out_of_samples_and_tags_tell_their_timing(self):
        flow, symbols = self.run_flow()
        count = bo.carrier_recovery.symbols_of(SAMPLES, 2.5)
        self.assertEqual(len(symbols), len(FRAMES) * count)
        tags = flow.tags()
        self.assertEqual(sorted(tags), [i * count for i in range(len(FRAMES))])
        for i, (offset, clock_error, frequency) in enumerate(FRAMES):
            told = tags[i * count]
            self.assertTrue(told["lock"] and told["timing_lock"], told)
            self.assertEqual(told["timing_lock_state"], "locked")
            for name, value in (("offset", offset), ("clock_error", clock_error), ("frequency", frequency)):
                self.assertLess(told[f"{name}_stddev"], 0.01)
                self.assertLess(abs(told[name] - value), 6 * told[f"{name}_stddev"], name)
            self.assertLess(abs(told["snr_db"] - ESN0_DB), 0.5)
            self.assertLess(abs(told["gain"] / GAIN - 1), 0.02)
            sent = GAIN * self.sent[i, 20 : 20 + count]
            whole = slice(5, -5)  # symbols at the ends lack a part of their pulse
            distance = np.abs(symbols[i * count : (i + 1) * count] - sent)[whole]
            # The noise, and what timing and phase are off by.
            self.assertLess(np.sqrt(np.mean(distance**2)), 1.1 * GAIN * 10 ** (-ESN0_DB / 20))

    def test_with_unit_gain_symbols_lie_at_the_points(self):
        flow, symbols = self.run_flow()
        _, unit = self.run_flow(unit_gain=True)
        gains = [flow.tags()[place]["gain"] for place in sorted(flow.tags())]
        expected = symbols.reshape(len(FRAMES), -1) / np.array(gains)[:, None]
        np.testing.assert_allclose(unit, expected.reshape(-1), rtol=1e-6)

    def test_a_frame_without_a_signal_comes_out_as_nothing(self):
        block = bo.carrier_recovery(self.connection(), unit_gain=True, **self.RATE)
        flow = Flow(block, np.zeros(SAMPLES, np.complex64), sink=blocks.vector_sink_c)
        self.assertEqual(flow.run().any(), False)
        self.assertEqual((flow.tags()[0]["timing_lock"], flow.tags()[0]["timing_lock_state"]), (False, "no_signal"))

    def test_symbols_are_counted_as_the_server_counts_them(self):
        for samples, rate, clock_error, symbols in ((33, 2, 0, 16), (34, 2, 0, 16), (150005, 2.5, 1e-5, 60001), (4001, 10 / 3, 1e-3, 1198)):
            self.assertEqual(bo.carrier_recovery.symbols_of(samples, rate, clock_error), symbols)
            options = {"samples_per_symbol": rate, "frame_samples": samples, "max_clock_error": clock_error}
            noise = np.random.default_rng(2).normal(size=(samples, 2)).astype(np.float32).view(np.complex64).reshape(-1)
            flow = Flow(bo.carrier_recovery(self.connection(), **options), noise, sink=blocks.vector_sink_c)
            self.assertEqual(len(flow.run()), symbols)
            self.assertEqual(flow.messages["status"].kept(), [])

    def test_what_is_out_of_range_is_named(self):
        for options, what in (
            ({"samples_per_symbol": 1.9}, "samples_per_symbol 1.9 "),
            ({"samples_per_symbol": float("nan")}, "samples_per_symbol nan"),
            ({"samples_per_symbol": np.pi}, "samples_per_symbol 3.1415926535897931 is no fraction"),
            ({"roll_off": 0.01}, "roll_off 0.01"),
            ({"max_clock_error": 0.002}, "max_clock_error 0.002"),
            ({"frame_samples": 40}, "frame_samples 40: number of symbols 15"),
            ({"frame_samples": -1}, "frame_samples -1: "),
            ({"frame_samples": 2**31 - 1}, "frame_samples 2147483647: "),
            ({"known": [1], "known_positions": [2000]}, "known_positions' entry 2000"),
        ):
            with self.subTest(what), self.assertRaises(ValueError) as raised:
                bo.carrier_recovery(self.connection(), **{**self.RATE, **options})
            self.assertIn(what, str(raised.exception))


class ReceiverTest(support.ServerTest):
    def test_bytes_come_out_of_a_wideband_recording(self):
        frames, recording, received = 20, self.folder / "wide.sigmf-data", self.folder / "received"
        wideband.record(self.server.target, frames, recording)
        script = support.PROJECT / "client/gnuradio/examples/receiver.py"
        command = ["/usr/bin/python3", script, self.server.target, recording, str(int(wideband.RATE)), str(wideband.FREQUENCY), received]
        subprocess.run(command, check=True, timeout=300)
        self.assertEqual(received.read_bytes(), wideband.information(frames).tobytes())


if __name__ == "__main__":
    unittest.main()
