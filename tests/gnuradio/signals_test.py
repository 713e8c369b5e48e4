"""carrier_recovery and downconverter, against numpy."""

import signal
import unittest

import numpy as np
import pmt
from gnuradio import baseband_offload as bo
from gnuradio import blocks, gr

import support
from support import Flow, wait_for

FRAME = 512
OFFSETS = (0.01, -0.03, 0.002)  # cycles per symbol


def frames_of(offsets, esn0_db, seed, known=()):
    """QPSK through a carrier that is off and noise: what is sent, and what is received."""
    random = np.random.default_rng(seed)
    sent = np.exp(1j * np.pi / 4 * (2 * random.integers(0, 4, (len(offsets), FRAME)) + 1))
    sent[:, : len(known)] = known
    n = np.arange(FRAME)
    carrier = np.exp(1j * (2 * np.pi * np.array(offsets)[:, None] * n + 1))
    noise = random.normal(size=(2, *sent.shape)) * 10 ** (-esn0_db / 20) / np.sqrt(2)
    return sent, (sent * carrier + noise[0] + 1j * noise[1]).astype(np.complex64)


def tag(offset, key, value=0):
    made = gr.tag_t()
    made.offset, made.key, made.value = offset, pmt.intern(key), pmt.from_long(value)
    return made


def carrier_flow(block, received, **options):
    return Flow(block, received.reshape(-1), sink=blocks.vector_sink_c, ports=("status", "carrier"), **options)


class CarrierTest(support.ServerTest):
    KNOWN = tuple(np.exp(1j * np.pi / 4 * np.array([1, 1, 3, 7, 5, 1, 3, 3, 7, 1, 5, 5, 3, 1, 7, 7])))

    def recovery(self, **options):
        return bo.carrier_recovery(self.connection(), frame_symbols=FRAME, **options)

    def check(self, flow, offsets):
        tags = flow.tags()
        self.assertEqual(sorted(tags), [i * FRAME for i in range(len(offsets))])
        for told, offset in zip((tags[i] for i in sorted(tags)), offsets):
            self.assertTrue(told["lock"], told)
            self.assertEqual(told["lock_state"], "locked")
            self.assertLess(abs(told["frequency"] - offset), 6 * told["frequency_stddev"])

    def test_frames_come_out_corrected_and_tags_say_by_how_much(self):
        sent, received = frames_of(OFFSETS, 25, seed=1, known=self.KNOWN)
        flow = carrier_flow(self.recovery(known=self.KNOWN, coarse=bo.coarse_method.power, symbol_rate_hz=1e6), received)
        corrected = flow.run().reshape(sent.shape)
        self.check(flow, OFFSETS)
        for told in flow.tags().values():
            self.assertAlmostEqual(told["frequency_hz"], told["frequency"] * 1e6, delta=1e-6)
            self.assertEqual(told["ambiguity"], 1)
            self.assertLess(abs(told["snr_db"] - 25), 1)
            self.assertLess(abs(told["evm"] - 10 ** (-25 / 20)), 0.01)
        # The noise, and what the phase is off by.
        self.assertLess(np.sqrt(np.mean(np.abs(corrected - sent) ** 2)), 1.3 * 10 ** (-25 / 20))
        wait_for("messages", lambda: len(flow.messages["carrier"].kept()) == len(OFFSETS))
        self.assertEqual(flow.messages["carrier"].kept(), [flow.tags()[i] for i in sorted(flow.tags())])

    def test_frames_begin_at_tags(self):
        _, received = frames_of(OFFSETS, 25, seed=2)
        gap = np.full(300, 9, np.complex64)
        samples = np.concatenate([gap, received[0], received[1], gap, received[2], gap])
        begins = (300, 300 + FRAME, 600 + 2 * FRAME)
        tags = [tag(begin, "frame") for begin in begins]
        tags += [tag(begins[2] + 7, "frame"), tag(len(samples) - 1, "frame"), tag(5, "other")]
        flow = carrier_flow(self.recovery(frame_tag="frame"), samples, tags=tags)
        self.assertEqual(len(flow.run()), 3 * FRAME)
        self.check(flow, OFFSETS)

    def test_a_frame_without_a_carrier_is_not_locked_and_comes_out(self):
        _, received = frames_of(OFFSETS, 25, seed=3)
        received[1] = 0
        flow = carrier_flow(self.recovery(), received)
        self.assertEqual(len(flow.run()), 3 * FRAME)
        self.assertEqual([flow.tags()[i * FRAME]["lock_state"] for i in range(3)], ["locked", "no_signal", "locked"])

    def test_a_sample_that_is_no_number_is_zero(self):
        _, received = frames_of(OFFSETS, 25, seed=4)
        received[0, 3], received[1, 4], received[2, 5] = np.nan, np.inf * 1j, 1e30
        flow = carrier_flow(self.recovery(), received)
        flow.run()
        self.check(flow, OFFSETS)
        self.assertEqual(flow.messages["status"].kept(), [])

    def test_points_of_ones_own_are_a_constellation(self):
        _, received = frames_of(OFFSETS, 25, seed=5)
        flow = carrier_flow(self.recovery(points=[1, 1j, -1, -1j]), received)
        flow.run()
        self.check(flow, OFFSETS)

    def test_a_constellation_that_there_is_not_is_refused(self):
        _, received = frames_of(OFFSETS, 25, seed=6)
        flow = carrier_flow(self.recovery(constellation="7PSK"), received)
        self.assertEqual(len(flow.run()), 0)
        self.assertIn("7PSK", flow.messages["status"].kept()[0]["error"])

    def test_what_is_out_of_range_is_named(self):
        for options, what in (
            ({"frame_symbols": 15}, "frame_symbols 15"),
            ({"points": [1]}, "points' size 1"),
            ({"known": [1, 1], "known_positions": [3]}, "known_positions has 1"),
            ({"known": [1, 1], "known_positions": [3, 3]}, "known_positions' entry 3"),
            ({"known": [1], "known_positions": [1024]}, "known_positions' entry 1024"),
            ({"known": [0]}, "magnitude in known 0"),
            ({"max_frequency": 0.6}, "max_frequency 0.6"),
            ({"symbol_rate_hz": -1}, "symbol_rate_hz -1"),
        ):
            with self.subTest(what), self.assertRaises(ValueError) as raised:
                bo.carrier_recovery(self.connection(), **options)
            self.assertIn(what, str(raised.exception))


RATE = 1e6
DOWN = 5
TAPS = np.hamming(41) / 41
CHANNELS = (1e5, -2.5e5, 123456.789)


def wideband(samples, seed=1):
    random = np.random.default_rng(seed)
    return (random.normal(size=samples) + 1j * random.normal(size=samples)).astype(np.complex64)


def expected(samples, phase_cycles):
    """The channel whose oscillator has this phase at each sample."""
    mixed = samples * np.exp(-2j * np.pi * (phase_cycles % 1))
    return np.convolve(mixed, TAPS)[: len(samples)][::DOWN]


def phase_of(frequency, count):
    return frequency / RATE * np.arange(count)


class DownconverterTest(support.ServerTest):
    # Sums of 41 float32 products of numbers about 1.
    TOLERANCE = 41 * 2.0**-23 * 4

    def block(self, frequencies=CHANNELS, request_kib=64, **options):
        settings = {name: options.pop(name) for name in ("on_failure", "in_flight", "timeout_s") if name in options}
        options = {"sample_rate_hz": RATE, "down": DOWN, "taps": TAPS, **options}
        return bo.downconverter(self.connection(request_kib=request_kib, **settings), frequencies_hz=frequencies, **options)

    def flow(self, block, samples, outputs=len(CHANNELS), **options):
        return Flow(block, samples, sink=blocks.vector_sink_c, outputs=outputs, **options)

    def command(self, block, **fields):
        told = pmt.make_dict()
        for name, value in fields.items():
            told = pmt.dict_add(told, pmt.intern(name), pmt.to_pmt(value))
        block._post(pmt.intern("command"), told)

    def test_channels_are_mixed_filtered_and_decimated(self):
        samples = wideband(100_000)
        flow = self.flow(self.block(), samples)
        flow.run()
        for i, frequency in enumerate(CHANNELS):
            np.testing.assert_allclose(flow.data(i), expected(samples, phase_of(frequency, len(samples))), atol=self.TOLERANCE, rtol=0)
        counts = flow.block.counts()
        self.assertEqual((counts.taken, counts.done, counts.dropped), (len(samples), len(samples), 0))

    def test_outputs_do_not_depend_on_how_the_signal_was_cut(self):
        samples = wideband(30_000)
        runs = []
        for options in ({"request_kib": 1, "in_flight": 1}, {"request_kib": 7, "in_flight": 16}, {"request_kib": 4096}):
            flow = self.flow(self.block(**options), samples)
            flow.run()
            runs.append(np.concatenate([flow.data(i) for i in range(len(CHANNELS))]))
        np.testing.assert_array_equal(runs[0], runs[1])
        np.testing.assert_array_equal(runs[0], runs[2])

    def test_integer_samples_are_of_full_scale_1(self):
        samples = np.random.default_rng(2).integers(-(2**15), 2**15, (20_000, 2), np.int16)
        as_complex = (samples[:, 0] + 1j * samples[:, 1]) / 2**15
        flow = self.flow(self.block(input=bo.wideband_format.sc16), samples.reshape(-1), vector=2)
        flow.run()
        np.testing.assert_allclose(flow.data(1), expected(as_complex, phase_of(CHANNELS[1], len(samples))), atol=self.TOLERANCE, rtol=0)

    def test_a_filter_is_designed_for_a_mask(self):
        n = np.arange(50_000)
        samples = (np.exp(2j * np.pi * 0.1 * n) + np.exp(2j * np.pi * 0.25 * n)).astype(np.complex64)
        block = bo.downconverter(self.connection(), sample_rate_hz=RATE, frequencies_hz=[1e5], down=10, pass_edge_hz=30e3)
        flow = self.flow(block, samples, outputs=1)
        settled = flow.run()[500:]
        self.assertLess(np.abs(np.abs(settled) - 1).max(), 0.012)  # a ripple of 0.1 dB, and 80 dB less beside it

    def test_retuned_by_messages_with_the_phase_that_was_asked_for(self):
        samples = wideband(200_000)
        first, second = 60_001, 130_007
        for mode in ("continuous", "coherent"):
            block = self.block(request_kib=8)
            flow = self.flow(block, samples)
            self.command(block, freq=-1e5, chan=1, sample=second, mode=mode)
            self.command(block, freq=3e5, chan=1, sample=first, mode=mode)
            flow.run()
            phase = phase_of(CHANNELS[1], len(samples))
            for begin, frequency in ((first, 3e5), (second, -1e5)):
                n = np.arange(begin, len(samples))
                start = phase[begin - 1] + (phase[begin - 1] - phase[begin - 2]) if mode == "continuous" else frequency / RATE * begin
                phase[begin:] = start + frequency / RATE * (n - begin)
            with self.subTest(mode):
                np.testing.assert_allclose(flow.data(1), expected(samples, phase), atol=self.TOLERANCE, rtol=0)
                np.testing.assert_allclose(flow.data(0), expected(samples, phase_of(CHANNELS[0], len(samples))), atol=self.TOLERANCE, rtol=0)
                heard = {place: tags["freq"] for place, tags in flow.tags(1).items()}
                self.assertEqual(sorted(heard), [-(-first // DOWN), -(-second // DOWN)])
                np.testing.assert_allclose([heard[place] for place in sorted(heard)], [3e5, -1e5], rtol=1e-12)
                self.assertEqual((flow.tags(0), block.counts().retunes), ({}, 2))

    def test_a_pair_retunes_channel_0_at_once(self):
        block = self.block()
        flow = self.flow(block, wideband(100_000))
        block._post(pmt.intern("command"), pmt.cons(pmt.intern("freq"), pmt.from_double(2e5)))
        flow.run()
        self.assertEqual([tags["freq"] for tags in flow.tags(0).values()], [2e5])

    def test_a_lock_for_a_change_keeps_frequencies_and_counts_samples_on(self):
        samples = wideband(400_000)
        block = self.block(request_kib=8)
        self.command(block, freq=3e5, chan=1, sample=20_000)
        self.command(block, freq=-2e5, chan=2, sample=250_000)
        flow = self.flow(block, samples, items_per_s=200_000, gate=100_000)
        with flow:
            wait_for("samples", lambda: block.counts().done > 60_000)
            flow.top.lock()
            extra = blocks.null_sink(8)
            flow.top.connect((block, 0), extra)
            flow.top.unlock()
            flow.source.release()
            flow.wait()
        self.assertEqual(block.counts().retunes, 2)
        # Where the second stream began, and its phase with it, is not told: one of DOWN places fits.
        for channel, frequency in ((0, CHANNELS[0]), (1, 3e5), (2, -2e5)):
            end = flow.data(channel)[-2000:]
            mixed = samples * np.exp(-2j * np.pi * phase_of(frequency, len(samples)))
            filtered = np.convolve(mixed[-20_000:], TAPS)[:20_000]
            best = max(abs(np.vdot(end, filtered[place::DOWN][-2000:])) for place in range(DOWN))
            self.assertAlmostEqual(best / np.vdot(end, end).real, 1, delta=1e-4)

    def test_a_command_that_makes_no_sense_changes_nothing(self):
        samples = wideband(50_000)
        block = self.block()
        flow = self.flow(block, samples)
        self.command(block, freq=2e6)
        self.command(block, freq=1e5, chan=3)
        self.command(block, freq=1e5, mode="sudden")
        self.command(block, chan=1)
        block._post(pmt.intern("command"), pmt.from_long(5))
        block._post(pmt.intern("command"), pmt.cons(pmt.intern("frequency"), pmt.from_double(1e5)))
        block._post(pmt.intern("command"), pmt.cons(pmt.intern("freq"), pmt.intern("100k")))
        for key, value in {"sampel": pmt.from_uint64(7), "sample": pmt.from_long(-7), "chan": pmt.from_double(1.0)}.items():
            message = pmt.dict_add(pmt.make_dict(), pmt.intern("freq"), pmt.from_double(1e5))
            block._post(pmt.intern("command"), pmt.dict_add(message, pmt.intern(key), value))
        flow.run()
        np.testing.assert_allclose(flow.data(0), expected(samples, phase_of(CHANNELS[0], len(samples))), atol=self.TOLERANCE, rtol=0)
        why = ["freq 2e+06", "chan 3", "mode 'sudden'", "freq is missing", "neither a pair nor a dictionary"]
        why += ["unknown key frequency", "freq 100k is not a number", "unknown key sampel", "sample -7 is not", "chan 1 is not a long"]
        wait_for("messages", lambda: len(flow.messages["status"].kept()) == len(why))
        self.assertEqual(set(flow.messages["status"].states()), {"bad_command"})
        for text, message in zip(why, flow.messages["status"].kept()):
            self.assertIn(f": {text}", message["error"])

    def killed_in_the_middle(self, block, samples, until_served=False):
        """The flow graph's run, in which the server is killed and started anew."""
        flow = self.flow(block, samples, items_per_s=100_000, gate=200_000)
        with flow:
            wait_for("samples", lambda: block.counts().done > 70_000)
            self.server.end(signal.SIGKILL)
            wait_for("the failure", lambda: "failing" in flow.messages["status"].states())
            self.server.start()
            done = block.counts().done
            flow.source.release()
            if until_served:
                wait_for("samples of the new server", lambda: block.counts().done > done)
                flow.source.end()
            flow.wait()
        return flow

    def test_push_back_goes_on_as_if_the_server_had_not_been_lost(self):
        samples = wideband(300_000)
        runs = []
        for run in (lambda flow: flow.run(), None):
            block = self.block(request_kib=16)
            for sample, frequency, mode in ((20_000, 3.3e5, "continuous"), (50_000, 1e5 / 3, "continuous"),
                                            (90_001, -4e5, "coherent"), (200_000, 1.5e5, "continuous")):
                self.command(block, freq=frequency, chan=2, sample=sample, mode=mode)
            if run is None:
                flow = self.killed_in_the_middle(block, samples)
                self.assertEqual(flow.messages["status"].states(), ["failing", "serving"])
            else:
                flow = self.flow(block, samples)
                run(flow)
            self.assertEqual((block.counts().done, block.counts().dropped), (len(samples), 0))
            runs.append([flow.data(i) for i in range(len(CHANNELS))])
        for whole, resumed in zip(*runs):
            np.testing.assert_array_equal(resumed, whole)

    def test_drop_counts_and_tags_what_is_lost(self):
        samples = wideband(3_000_000)
        block = self.block(request_kib=16, on_failure=bo.failure_policy.drop)
        flow = self.killed_in_the_middle(block, samples, until_served=True)
        counts = block.counts()
        self.assertGreater(counts.dropped, 0)
        self.assertEqual(counts.done + counts.dropped, counts.taken)
        samples = samples[: counts.taken]
        for i, frequency in enumerate(CHANNELS):
            tagged = {place: tags["dropped"] for place, tags in flow.tags(i).items() if "dropped" in tags}
            self.assertEqual(sum(tagged.values()), counts.dropped)
            whole = expected(samples, phase_of(frequency, len(samples)))
            end = flow.data(i)[-100:]  # behind the gap, in its place
            np.testing.assert_allclose(end, whole[-100:], atol=self.TOLERANCE, rtol=0)

    def test_a_stop_does_not_wait_for_a_server_that_hangs(self):
        with support.silent_server() as target:
            block = bo.downconverter(bo.connection(target, timeout_s=3600), sample_rate_hz=RATE, frequencies_hz=[0], taps=[1])
            with self.flow(block, wideband(500_000), outputs=1):
                wait_for("samples", lambda: block.counts().taken > 0)
            self.assertEqual(block.counts().dropped, block.counts().taken)

    def test_what_the_server_refuses_ends_the_stream(self):
        block = bo.downconverter(self.connection(), sample_rate_hz=RATE, frequencies_hz=[0], taps=[0, 0])
        flow = self.flow(block, wideband(1000), outputs=1)
        self.assertEqual(len(flow.run()), 0)
        self.assertEqual(flow.messages["status"].states(), ["refused"])

    def test_what_is_out_of_range_is_named(self):
        for options, what in (
            ({"sample_rate_hz": 0}, "sample_rate_hz 0"),
            ({"frequencies_hz": []}, "frequencies_hz' size 0"),
            ({"frequencies_hz": [1.1e6]}, "frequencies_hz' entry 1.1e+06"),
            ({"down": 0}, "down 0"),
            ({"up": 4097}, "up 4097"),
            ({"taps": []}, "pass_edge_hz 0"),
            ({"taps": [], "pass_edge_hz": 6e5}, "pass_edge_hz 600000"),
            ({"taps": [], "pass_edge_hz": 1e4, "ripple_db": 4}, "ripple_db 4"),
            ({"taps": [], "pass_edge_hz": 1e4, "attenuation_db": 10}, "attenuation_db 10"),
        ):
            with self.subTest(what), self.assertRaises(ValueError) as raised:
                bo.downconverter(self.connection(), **{"sample_rate_hz": RATE, "frequencies_hz": [0], "taps": [1], **options})
            self.assertIn(what, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
