"""RecoverCarrier, Downconvert and Minimize, against what the signals were made of."""

import fractions
import re
import subprocess
import unittest

import numpy as np

import baseband_offload as bo
import support


class RecoverCarrierTest(support.ServerTest):
    def frames(self, frequencies, constellation="16APSK 2/3", sigma=0.03, phase=0.2):
        points = self.client.constellation(constellation)
        random = np.random.default_rng(1)
        sent = random.choice(points, (len(frequencies), 2000))
        turned = sent * np.exp(1j * (2 * np.pi * np.outer(frequencies, np.arange(2000)) + phase))
        return sent, turned + sigma * random.standard_normal((*sent.shape, 2)) @ [1, 1j]

    def test_each_frame_s_frequency_is_found_with_its_sign(self):
        frequencies = np.array([-0.03, -0.001, 0.0, 0.0123, 0.04])
        _, received = self.frames(frequencies)
        found = self.client.recover_carrier(received, "16APSK 2/3", symbol_rate_hz=1e6)
        self.assertTrue(found.locked.all())
        error = np.abs(found.frequency - frequencies)
        self.assertTrue((error < 6 * found.frequency_stddev).all())
        np.testing.assert_allclose(found.frequency_hz, found.frequency * 1e6)
        unknown = self.client.recover_carrier(received, "16APSK 2/3")
        self.assertTrue(np.isnan([unknown.frequency_hz, unknown.frequency_stddev_hz]).all())
        np.testing.assert_allclose(found.snr_db, -20 * np.log10(0.03 * np.sqrt(2)), atol=0.5)

    def test_known_symbols_resolve_the_phase(self):
        sent, received = self.frames([0.002], phase=2.5)
        found = self.client.recover_carrier(received[0], "16APSK 2/3", known=sent[0, :90], corrected=True)
        self.assertEqual(found.coarse, "power")
        self.assertEqual(found.ambiguity, 1)
        self.assertAlmostEqual(float(found.phase), 2.5, delta=0.02)
        self.assertEqual(found.corrected.dtype, np.complex64)
        np.testing.assert_allclose(found.corrected, sent[0], atol=0.25)

    def test_int16_and_float16_are_told_like_complex64(self):
        _, received = self.frames([0.01, -0.02])
        pairs = received.astype(np.complex64).view(np.float32).reshape(2, 2000, 2)
        for other in ((pairs * 16384).astype(np.int16), pairs.astype(np.float16)):
            found = self.client.recover_carrier(other, "16APSK 2/3", corrected=True)
            np.testing.assert_allclose(found.frequency, [0.01, -0.02], atol=1e-5)
            self.assertEqual((found.corrected.shape, found.corrected.dtype), (other.shape, other.dtype))

    def test_a_frame_of_nothing_is_a_result(self):
        found = self.client.recover_carrier(np.zeros((2, 100), np.complex64), "QPSK")
        self.assertEqual(found.lock.tolist(), ["no_signal"] * 2)
        self.assertFalse(found.locked.any())

    def test_the_curve_of_a_sweep_has_its_least_value_at_the_frequency(self):
        _, received = self.frames([0.01])
        sweep = bo.Sweep(range=1e-3, step=1e-5)
        found = self.client.recover_carrier(received, "16APSK 2/3", fine="sweep", sweep=sweep, curve=True)
        ((frequencies, evm),) = found.curves
        self.assertAlmostEqual(frequencies[np.argmin(evm)], 0.01, delta=2e-5)

    def sampled(self, offsets, rate=fractions.Fraction(5, 2), roll_off=0.3, clock_error=40e-6, symbols=1500):
        """16APSK as samples, a frame for each of `offsets`, with what was sent."""
        points = self.client.constellation("16APSK 2/3")
        random = np.random.default_rng(1)
        sent = random.choice(points, (len(offsets), symbols + 80))  # 40 more on either side
        time = np.arange(int(symbols * rate)) / float(rate)
        frames = []
        for offset, row in zip(offsets, sent):
            t = time[:, None] - offset - np.arange(-40, symbols + 40) * (1 + clock_error) + 1e-9
            pulses = np.sin(np.pi * t * (1 - roll_off)) + 4 * roll_off * t * np.cos(np.pi * t * (1 + roll_off))
            pulses /= np.pi * t * (1 - (4 * roll_off * t) ** 2)
            frames.append((pulses * (abs(t) < 40)) @ row)
        noise = 0.03 * np.sqrt(float(rate)) * random.standard_normal((*np.shape(frames), 2)) @ [1, 1j]
        return sent[:, 40:-40], np.array(frames) * np.exp(2j * np.pi * 0.01 * time) + noise

    def test_samples_become_symbols_with_their_timing(self):
        offsets = np.array([0.2, 0.75])
        sent, samples = self.sampled(offsets)
        rates = {"samples_per_symbol": fractions.Fraction(5, 2), "roll_off": 0.3}
        known = {"known": sent[0, :90]}
        found = self.client.recover_carrier(samples[0], "16APSK 2/3", **rates, **known, corrected=True)
        self.assertEqual((found.frame_symbols, found.corrected.shape, found.ambiguity), (1499, (1499,), 1))
        np.testing.assert_allclose(found.corrected[5:-5], sent[0, 5:1494], atol=0.25)

        found = self.client.recover_carrier(samples, "16APSK 2/3", **rates, symbol_rate_hz=1e6)
        timing = found.symbol_timing
        self.assertTrue(found.locked.all() and timing.locked.all() and timing.refined.all())
        self.assertTrue((np.abs(timing.offset - offsets) < 6 * timing.offset_stddev).all(), timing)
        self.assertTrue((np.abs(timing.clock_error - 40e-6) < 6 * timing.clock_error_stddev).all(), timing)
        np.testing.assert_allclose(found.snr_db, -20 * np.log10(0.03 * np.sqrt(2)), atol=0.6)
        np.testing.assert_allclose(found.frequency_hz, 10e3, atol=20)

        pairs = (samples.astype(np.complex64).view(np.float32) * 10000).astype(np.int16).reshape(2, -1, 2)
        again = self.client.recover_carrier(pairs, "16APSK 2/3", **rates, corrected=True)
        self.assertEqual((again.corrected.shape, again.corrected.dtype), ((2, 1499, 2), np.int16))
        np.testing.assert_allclose(again.symbol_timing.offset, timing.offset, atol=1e-4)

    def test_a_pulse_by_its_taps_is_the_one_of_its_roll_off(self):
        _, samples = self.sampled([0.2])
        t = np.arange(-64, 65) / 4 + 1e-9
        taps = np.sin(np.pi * t * 0.7) + 1.2 * t * np.cos(np.pi * t * 1.3)
        taps /= np.pi * t * (1 - (1.2 * t) ** 2)
        rates = {"samples_per_symbol": 2.5, "roll_off": 0.3}
        closed = self.client.recover_carrier(samples, "16APSK 2/3", **rates)
        for own in (taps, taps.astype(np.float32)):
            found = self.client.recover_carrier(samples, "16APSK 2/3", **rates, taps=own, taps_per_symbol=4)
            self.assertTrue(found.locked.all())
            np.testing.assert_allclose(found.symbol_timing.offset, closed.symbol_timing.offset, atol=1e-4)
        with self.assertRaisesRegex(bo.InvalidArgument, "timing.taps have"):
            rates["roll_off"] = 0.05
            self.client.recover_carrier(samples, "16APSK 2/3", **rates, taps=taps, taps_per_symbol=4)

    def test_a_frame_without_a_line_is_not_locked(self):
        tone = np.exp(0.1j * np.arange(4000))
        found = self.client.recover_carrier(tone, "QPSK", samples_per_symbol=4, roll_off=0.35)
        self.assertEqual((str(found.symbol_timing.lock), bool(found.locked)), ("no_line", False))

    def test_frames_of_samples_and_of_symbols_share_a_request(self):
        _, samples = self.sampled([0.4])
        _, symbols = self.frames([0.01, 0.02])
        rates = {"samples_per_symbol": 2.5, "roll_off": 0.3}
        requests = [
            bo.recover_carrier_request(symbols, "16APSK 2/3", corrected=True),
            bo.recover_carrier_request(samples, "16APSK 2/3", **rates, corrected=True),
            bo.recover_carrier_request(symbols[0], "16APSK 2/3"),
            bo.recover_carrier_request(samples[0], "16APSK 2/3", **rates),
        ]
        together = self.client.call(bo.join(requests))
        for request, found in zip(requests, together):
            alone = self.client.call(request)
            np.testing.assert_array_equal(found.frequency, alone.frequency)
            np.testing.assert_array_equal(found.corrected, alone.corrected)
            if alone.symbol_timing is not None:
                np.testing.assert_array_equal(found.symbol_timing.offset, alone.symbol_timing.offset)
        self.assertIsNone(together[0].symbol_timing)

    def test_points_of_one_s_own_are_told_as_the_standard_s(self):
        _, received = self.frames([0.01], "8PSK")
        own = self.client.recover_carrier(received, self.client.constellation("8PSK"))
        named = self.client.recover_carrier(received, "8psk")
        self.assertAlmostEqual(float(own.frequency[0]), float(named.frequency[0]), delta=1e-9)


class DownconvertTest(support.ServerTest):
    RATE = 8e6

    def tone(self, frequency, count, dtype=np.complex64):
        return (0.5 * np.exp(2j * np.pi * frequency / self.RATE * np.arange(count))).astype(dtype)

    def frequency_of(self, outputs, rate):
        return np.angle(np.vdot(outputs[:-1], outputs[1:])) * rate / (2 * np.pi)

    def test_a_tone_is_where_it_was_less_the_channel_s_frequency(self):
        channels = [
            bo.Channel(-1.2e6, down=10, pass_edge_hz=2e5),
            bo.Channel(fractions.Fraction(-1, 8), down=16, pass_edge_hz=2e5, gain=2.0),
            bo.Channel(1.2e6, down=10, pass_edge_hz=2e5),  # the other sign
        ]
        found = self.client.downconvert(self.tone(-1.1e6, 1 << 16), self.RATE, channels)
        settled = [outputs[-2000:] for outputs in found.channels]
        self.assertAlmostEqual(self.frequency_of(settled[0], 8e5), 1e5, delta=1)
        self.assertAlmostEqual(self.frequency_of(settled[1], 5e5), -1e5, delta=1)
        np.testing.assert_allclose(np.abs(settled[0]), 0.5, rtol=0.02)
        np.testing.assert_allclose(np.abs(settled[1]), 1.0, rtol=0.02)
        self.assertLess(np.abs(settled[2]).max(), 1e-3)  # 80 dB down, and a margin
        self.assertEqual(found.descriptions[1].frequency, fractions.Fraction(-1, 8))
        self.assertEqual(found.descriptions[0].output_rate_hz, 8e5)

    def test_complex128_is_taken_as_complex64(self):
        signal = np.exp(0.2j * np.arange(1 << 12))
        channels = [bo.Channel(1e5, down=8, pass_edge_hz=4e4)]
        wide, narrow = (self.client.downconvert(signal.astype(t), 1e6, channels) for t in (np.complex128, np.complex64))
        np.testing.assert_array_equal(wide.channels[0], narrow.channels[0])

    def test_pieces_with_history_and_a_stream_give_what_the_whole_gives(self):
        signal = self.tone(3.1e5, 30000)
        channels = [bo.Channel(3e5, down=10, pass_edge_hz=1e5), bo.Channel(2e5, down=7, taps=np.ones(5))]
        whole = self.client.downconvert(signal, self.RATE, channels).channels
        first = self.client.downconvert(signal[:10000], self.RATE, channels)
        begin = first.next_sample - first.history
        second = self.client.downconvert(
            signal[begin:], self.RATE, channels, first_sample=begin, history=first.history
        )
        pieces = (signal[at : at + 999] for at in range(0, 30000, 999))
        streamed = list(self.client.downconvert_stream(pieces, self.RATE, channels))
        self.assertEqual(streamed[-1].next_sample, 30000)
        for number, outputs in enumerate(whole):
            halves = np.concatenate([first.channels[number], second.channels[number]])
            np.testing.assert_array_equal(halves, outputs)
            np.testing.assert_array_equal(np.concatenate([found.channels[number] for found in streamed]), outputs)

    def test_integers_are_fractions_of_their_full_scale(self):
        channel = bo.Channel(0.0, taps=np.array([1.0]), output="int16")
        for dtype, full in ((np.int8, 128), (np.int16, 32768)):
            iq = np.tile(np.array([[full // 2, -full // 4]], dtype), (64, 1))
            found = self.client.downconvert(iq, self.RATE, [channel])
            self.assertEqual(found.channels[0].shape, (64, 2))
            np.testing.assert_allclose(found.channels[0], np.tile([16383.5, -8191.75], (64, 1)), atol=0.75)
        real = self.client.downconvert(iq[:, 0].copy(), self.RATE, [channel])
        self.assertFalse(real.channels[0][:, 1].any())

    def test_a_retune_comes_at_its_sample_and_a_gap_is_told(self):
        channel = bo.Channel(1e5, taps=np.array([1.0]))
        signal = self.tone(1e5, 3000)
        pieces = [
            bo.Piece(signal[:1000], retunes=[bo.Retune(0, 500, 0.0, "phase_coherent")]),
            bo.Piece(signal[2000:], first_sample=2000),
        ]
        first, second = self.client.downconvert_stream(pieces, self.RATE, [channel])
        np.testing.assert_allclose(first.channels[0][:500], 0.5, atol=1e-6)
        np.testing.assert_allclose(first.channels[0][500:], signal[500:1000], atol=1e-6)
        self.assertEqual((second.gap, second.first_output), (1000, [2000]))

    def test_a_stream_is_left_before_its_end(self):
        pieces = (np.zeros(1000, np.complex64) for _ in iter(int, 1))
        channel = bo.Channel(1e6, down=10, pass_edge_hz=1e5)
        for number, found in enumerate(self.client.downconvert_stream(pieces, 4e6, [channel])):
            if number == 3:
                break
        self.assertEqual(found.next_sample, 4000)
        self.assertEqual(self.client.check_health(), "serving")


class MinimizeTest(support.ServerTest):
    def test_the_minimum_of_a_formula_is_where_it_is(self):
        axes = [bo.Axis(-5, 0.5, 21, "u"), bo.Axis.linspace(-5, 5, 21, "v")]
        found = self.client.minimize(bo.Expression("(u - a)^2 + (v + 2)^2 - 1", {"a": 1.25}), axes, refinement="newton")
        np.testing.assert_allclose(found.point, [1.25, -2.0], atol=1e-6)
        self.assertAlmostEqual(found.value, -1.0)
        self.assertEqual((found.refinement_outcome, found.at_edge, found.evaluations >= 441), ("converged", False, True))
        np.testing.assert_allclose(found.curvature, [2, 2], rtol=1e-3)

    def test_arrays_and_profiles_of_a_formula(self):
        weights = np.array([3.0, 1.0, 2.0])
        expression = bo.Expression("sum(j, 0, 2, weight[j] * (x - j)^2)", arrays={"weight": weights})
        found = self.client.minimize(expression, [bo.Axis(0, 0.01, 301)], profile_bins=3, top=2, separation=[50])
        self.assertAlmostEqual(found.point[0], round(5 / 6, 2))
        x = np.arange(301) * 0.01
        values = (weights * (x[:, None] - np.arange(3)) ** 2).sum(axis=1)
        self.assertAlmostEqual(found.value, values.min())
        self.assertAlmostEqual(found.profile.min(), values.min())
        self.assertEqual((len(found.profile), len(found.top), found.top[0].index), (3, 2, int(values.argmin())))

    def test_maxima_are_found(self):
        found = self.client.minimize("sin(x)", [bo.Axis.linspace(0, 3, 301)], goal="maximum", refinement="brent")
        self.assertAlmostEqual(found.point[0], np.pi / 2, places=5)

    def test_likelihoods_find_what_the_signal_was_made_of(self):
        random = np.random.default_rng(1)
        n = np.arange(1000)
        noise = 0.5 * random.standard_normal((1000, 2)) @ [1, 1j]
        time = (n - 499.5) * 1e-3
        tone = np.exp(2j * np.pi * 0.1234 * n) + noise
        chirp = np.exp(2j * np.pi * (30 * time + 40 * time**2 / 2)) + noise
        replica = np.exp(1j * np.pi * random.integers(0, 4, 1000) / 2)
        delayed = np.roll(replica, 7) * np.exp(2j * np.pi * 3 * n * 1e-3) + noise
        cases = {
            "sinusoids": (bo.Sinusoids(tone, 1.0), [bo.Axis(0.12, 1e-4, 61)], [0.1234]),
            "chirp": (bo.Chirp(chirp, 1e-3), [bo.Axis(0, 0.5, 161), bo.Axis(20, 0.1, 201)], [40, 30]),
            "delay_doppler": (
                bo.DelayDoppler(delayed, replica, 1e-3),
                [bo.Axis(0, 5e-4, 41), bo.Axis(-10, 0.1, 201)],
                [7e-3, 3],
            ),
        }
        for name, (functional, axes, truth) in cases.items():
            with self.subTest(name):
                found = self.client.minimize(functional, axes, refinement="brent")
                self.assertTrue((np.abs(found.point - truth) < 6 * found.deviation).all(), found)

    def test_the_answer_is_basebandctl_s(self):
        command = [support.BUILD / "client/ctl/basebandctl", f"--target={self.server.target}", "minimize"]
        command += ["--builtin=schwefel", "--axis=x=-500:2:500", "--axis=y=-500:2:500"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
        value, x, y = map(float, re.search(r"Minimum (\S+) at x = (\S+), y = (\S+)", told).groups())
        found = self.client.minimize(bo.Schwefel(), [bo.Axis(-500, 2, 501)] * 2)
        self.assertAlmostEqual(found.value, value, places=9)
        self.assertEqual(found.point.tolist(), [x, y])

    def test_progress_is_told_and_a_search_is_left(self):
        axes = [bo.Axis.linspace(-500, 500, 1201)] * 3  # seconds
        told = []

        def progress(now):
            told.append(now)
            return len(told) < 2

        with self.assertRaises(bo.Cancelled):
            self.client.minimize(bo.Schwefel(), axes, progress=progress, progress_interval=0.01)
        self.assertEqual(len(told), 2)
        self.assertEqual(told[0].total_points, 1201**3)
        self.assertLessEqual(told[0].points, told[1].points)
        for now in self.client.search(bo.minimize_request(bo.Schwefel(), axes, progress_interval=0.01)):
            self.assertIsInstance(now, bo.Progress)
            break
        self.assertEqual(self.client.minimize("x", [bo.Axis(1, 1, 3)]).value, 1)  # there is room for the next


if __name__ == "__main__":
    unittest.main()
