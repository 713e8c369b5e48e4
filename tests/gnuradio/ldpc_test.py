"""ldpc_encoder and ldpc_decoder, against answers of other implementations."""

import re
import subprocess
import unittest

import numpy as np
import pmt
from gnuradio import baseband_offload as bo
from gnuradio import blocks, fec, gr

import support
from support import Flow, processes

WIMAX = ("1/2", 2304)


def soft(llrs):
    """What a demodulator of GNU Radio would give: positive means 1, natural logarithms."""
    return llrs.astype(np.float32) / -4


def noisy_words(code, frames, ebn0_db, seed):
    """Words of all zeros through noise: what BPSK brings, 0 as -1, and its variance."""
    sigma2 = 1 / (2 * code.k / code.n * 10 ** (ebn0_db / 10))
    noise = np.random.default_rng(seed).normal(0, np.sqrt(sigma2), frames * code.n)
    return (noise - 1).astype(np.float32), sigma2


class EncoderTest(support.ServerTest):
    def test_code_words_are_those_of_the_standards(self):
        cases = support.vectors("nr_encode.jsonl")[::9] + support.vectors("wimax_wifi_encode.jsonl")[::7]
        cases.append(support.vectors("wimax_wifi_encode.jsonl")[-1])  # of 802.11n
        self.assertGreater(len(cases), 25)
        for case in cases:
            code = support.code_of(case)
            information = np.unpackbits(support.packed(case["info"]), count=code.k)
            word = np.unpackbits(support.packed(case["codeword"]))
            word = word[: case.get("n_full", code.n)][-code.n :]
            with self.subTest(code=code.name):
                block = bo.ldpc_encoder(code, self.connection(), packed_input=False, packed=False)
                np.testing.assert_array_equal(Flow(block, np.tile(information, 3)).run(), np.tile(word, 3))

    def test_packed_frames_begin_on_bytes(self):
        code = bo.ldpc_code.wifi("1/2", 648)
        bits = np.random.default_rng(1).integers(0, 2, (5, code.k), np.uint8)
        unpacked = bo.ldpc_encoder(code, self.connection(), packed_input=False, packed=False)
        words = Flow(unpacked, bits.reshape(-1)).run().reshape(5, code.n)
        packed = bo.ldpc_encoder(code, self.connection())
        encoded = Flow(packed, np.packbits(bits, axis=1).reshape(-1)).run()
        np.testing.assert_array_equal(encoded, np.packbits(words, axis=1).reshape(-1))

    def test_fillers_are_zeros_that_are_not_read(self):
        code = bo.ldpc_code.nr(2, 36, rows=10)
        bits = np.random.default_rng(2).integers(0, 2, code.k - 17, np.uint8)
        with_fillers = bo.ldpc_encoder(code, self.connection(), n_filler=17, packed_input=False, packed=False)
        whole = bo.ldpc_encoder(code, self.connection(), packed_input=False, packed=False)
        np.testing.assert_array_equal(
            Flow(with_fillers, bits).run(), Flow(whole, np.append(bits, np.zeros(17, np.uint8))).run()
        )


class DecoderTest(support.ServerTest):
    def test_noisy_words_decode_to_what_was_sent(self):
        groups = {}
        for case in support.vectors("noisy_decode.jsonl"):
            groups.setdefault(case["group"], []).append(case)
        self.assertGreater(len(groups), 10)
        for name, cases in groups.items():
            code, n_filler = support.code_of(cases[0]), 0
            if "bg" in cases[0]:
                rows = cases[0]["llr_count"] // cases[0]["zc"] + 2 - (22 if cases[0]["bg"] == 1 else 10)
                code = bo.ldpc_code.nr(cases[0]["bg"], cases[0]["zc"], rows)
                n_filler = code.k - cases[0]["k_prime"]
            if code.n != cases[0]["llr_count"]:
                continue  # ends within a block of the matrix
            llrs = np.concatenate([support.packed(case["llr"]).view(np.int8) for case in cases])
            information = [np.unpackbits(support.packed(case["info"]), count=code.k - n_filler) for case in cases]
            with self.subTest(group=name):
                block = bo.ldpc_decoder(code, self.connection(), n_filler=n_filler, packed=False)
                flow = Flow(block, soft(llrs))
                np.testing.assert_array_equal(flow.run(), np.concatenate(information))
                tags = flow.tags()
                self.assertEqual(sorted(tags), [i * (code.k - n_filler) for i in range(len(cases))])
                self.assertTrue(all(tag["parity_ok"] and 1 <= tag["iterations"] <= 10 for tag in tags.values()))

    def test_bits_iterations_and_parity_are_those_of_the_cpp_client(self):
        code = bo.ldpc_code.wimax(*WIMAX)
        frames = 40
        received, sigma2 = noisy_words(code, frames, 1.2, seed=3)  # where not all decode
        llrs = np.clip(np.rint(received * np.float32(-4 * 2 / sigma2)), -127, 127).astype(np.int8)
        (self.folder / "llrs").write_bytes(llrs.tobytes())
        command = [processes.program("basebandctl"), f"--target={self.server.target}", "decode"]
        command += [self.folder / "llrs", "--wimax=1/2", "--n=2304", "--iterations=12", "--blocks"]
        done = subprocess.run([*command, "-o", self.folder / "bits"], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)  # some parity checks do not hold
        flow = Flow(bo.ldpc_decoder(code, self.connection(), llr_scale=2 / sigma2, max_iterations=12), received)
        decoded = flow.run()
        self.assertEqual(decoded.tobytes(), (self.folder / "bits").read_bytes())
        tags = [flow.tags()[i * code.k // 8] for i in range(frames)]
        told = re.findall(r"block \d+: (\d+) iterations?, (ok|PARITY FAILED)", done.stdout)
        self.assertEqual([(int(iterations), parity == "ok") for iterations, parity in told],
                         [(tag["iterations"], tag["parity_ok"]) for tag in tags])
        self.assertGreater(len({tag["parity_ok"] for tag in tags}), 1)

    def test_a_negative_scale_is_for_who_means_0_by_positive(self):
        code = bo.ldpc_code.wifi("5/6", 648)
        received, _ = noisy_words(code, 3, 6, seed=4)
        block = bo.ldpc_decoder(code, self.connection(), llr_scale=-4)
        self.assertEqual(Flow(block, -received).run().tobytes(), bytes(3 * 68))

    def test_what_is_no_number_is_unknown(self):
        code = bo.ldpc_code.wimax(*WIMAX)
        received, _ = noisy_words(code, 2, 6, seed=5)
        received[::9] = np.nan
        received[1::9] = -np.inf
        decoded = Flow(bo.ldpc_decoder(code, self.connection(), llr_scale=4), received).run()
        self.assertEqual(decoded.tobytes(), bytes(2 * code.k // 8))

    def test_the_end_of_the_stream_leaves_nothing_behind(self):
        code = bo.ldpc_code.wifi("1/2", 648)
        for frames in (0, 1, 2, 37):
            for options in ({"in_flight": 1, "request_kib": 1}, {"in_flight": 64}):
                received, _ = noisy_words(code, frames + 1, 6, seed=6)
                received = received[: frames * code.n + code.n // 2]
                with self.subTest(frames=frames, **options):
                    block = bo.ldpc_decoder(code, self.connection(**options), llr_scale=4)
                    self.assertEqual(len(Flow(block, received).run()), frames * 41)
                    counts = block.counts()
                    self.assertEqual((counts.taken, counts.answered, counts.dropped), (frames, frames, 0))

    def test_tags_of_a_frame_move_to_its_first_byte(self):
        code = bo.ldpc_code.wimax(*WIMAX)
        received, _ = noisy_words(code, 4, 6, seed=7)
        tags = []
        for offset in (0, 2303, 2304, 3 * 2304 + 5):
            tag = gr.tag_t()
            tag.offset, tag.key, tag.value = offset, pmt.intern(f"at {offset}"), pmt.from_long(offset)
            tags.append(tag)
        flow = Flow(bo.ldpc_decoder(code, self.connection(), llr_scale=4), received, tags=tags)
        flow.run()
        came = {place: sorted(value for key, value in tag.items() if key.startswith("at")) for place, tag in flow.tags().items()}
        self.assertEqual(came, {0: [0, 2303], 144: [2304], 288: [], 432: [3 * 2304 + 5]})

    def test_frames_gather_while_requests_are_on_their_way(self):
        code = bo.ldpc_code.wimax("1/2", 576)
        received, _ = noisy_words(code, 3000, 6, seed=8)
        block = bo.ldpc_decoder(code, self.connection(in_flight=2), llr_scale=4)
        self.assertEqual(Flow(block, received).run().tobytes(), bytes(3000 * code.k // 8))
        self.assertLess(block.counts().requests, 1500)

    def test_a_request_has_no_more_bytes_than_allowed_and_a_frame_at_least(self):
        received, _ = noisy_words(bo.ldpc_code.wimax(*WIMAX), 12, 6, seed=9)
        block = bo.ldpc_decoder(bo.ldpc_code.wimax(*WIMAX), self.connection(request_kib=1), llr_scale=4)
        Flow(block, received).run()
        self.assertEqual(block.counts().requests, 12)


class FecTest(support.ServerTest):
    """The decoder object in gr-fec's own blocks."""

    CODE = bo.ldpc_code.wimax(*WIMAX)

    def decode(self, received, **options):
        """What extended_decoder gives, and its objects."""
        threading = options.pop("threading", None)
        objects = [bo.fec_decoder(self.CODE, self.connection(), **options) for _ in range(2 if threading else 1)]
        block = fec.extended_decoder(decoder_obj_list=objects if threading else objects[0], threading=threading,
                                     ann=None, puncpat="11", integration_period=10000)
        top, sink = gr.top_block(), blocks.vector_sink_b()
        top.connect(blocks.vector_source_f(received.tolist()), block, sink)
        top.run()
        return np.array(sink.data(), np.uint8), objects

    def test_it_decodes_as_the_block_does(self):
        received, sigma2 = noisy_words(self.CODE, 64, 1.4, seed=10)  # where not all decode
        block = bo.ldpc_decoder(self.CODE, self.connection(), llr_scale=2 / sigma2, packed=False)
        flow = Flow(block, received)
        bits = flow.run()
        failed = sum(not tags["parity_ok"] for tags in flow.tags().values())
        self.assertGreater(failed, 0)
        for options in ({"frames": 1}, {"frames": 16}, {"frames": 16, "threading": "capillary"}):
            with self.subTest(**options):
                decoded, objects = self.decode(received, llr_scale=2 / sigma2, **options)
                np.testing.assert_array_equal(decoded, bits)
                self.assertEqual(sum(o.parity_failures() for o in objects), failed)
                self.assertEqual(sum(o.dropped() for o in objects), 0)

    def test_what_is_dropped_comes_out_as_zeros(self):
        server = bo.connection("127.0.0.1:1", on_failure=bo.failure_policy.drop)
        lost = bo.fec_decoder(self.CODE, server, frames=4)
        top, sink = gr.top_block(), blocks.vector_sink_b()
        top.connect(blocks.vector_source_f([1.0] * 8 * self.CODE.n), fec.decoder(lost, 4, 1), sink)
        top.run()
        self.assertEqual((len(sink.data()), any(sink.data()), lost.dropped()), (8 * self.CODE.k, False, 8))

    def test_what_is_out_of_range_is_named(self):
        for frames in (0, 65537):
            with self.assertRaisesRegex(ValueError, f"frames {frames} is not in"):
                bo.fec_decoder(self.CODE, bo.connection(), frames=frames)


class ExampleTest(support.ServerTest):
    def test_the_guide_s_example_decodes(self):
        command = ["/usr/bin/python3", support.PROJECT / "tests/gnuradio/example.py", self.server.target]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        self.assertEqual(done.stdout, "0 of 144000 bytes are not as sent\n")


class ParametersTest(unittest.TestCase):
    def test_what_is_out_of_range_is_named(self):
        code, server = bo.ldpc_code.wimax(*WIMAX), bo.connection()
        for make, what in (
            (lambda: bo.ldpc_code.nr(3, 384), "base_graph 3"),
            (lambda: bo.ldpc_code.nr(1, 17), "zc 17"),
            (lambda: bo.ldpc_code.nr(1, 384, 3), "parity_rows 3"),
            (lambda: bo.ldpc_code.wimax("7/8", 2304), "rate '7/8'"),
            (lambda: bo.ldpc_code.wimax("1/2", 2305), "n 2305"),
            (lambda: bo.ldpc_code.wifi("1/2", 650), "n 650"),
            (lambda: bo.ldpc_code.custom(2, 4, 4, [0] * 7), "shifts has 7"),
            (lambda: bo.ldpc_decoder(code, server, max_iterations=0), "max_iterations 0"),
            (lambda: bo.ldpc_decoder(code, server, n_filler=1152), "n_filler 1152"),
            (lambda: bo.ldpc_decoder(code, server, llr_scale=0), "llr_scale 0"),
            (lambda: bo.ldpc_decoder(code, server, llr_scale=float("inf")), "llr_scale inf"),
            (lambda: bo.ldpc_encoder(code, server, n_filler=-1), "n_filler -1"),
            (lambda: bo.connection(in_flight=0), "in_flight 0"),
            (lambda: bo.connection(request_kib=40000), "request_kib 40000"),
            (lambda: bo.connection(timeout_s=0), "timeout_s 0"),
            (lambda: bo.connection(ca_file="/no/such"), "ca_file '/no/such'"),
            (lambda: bo.connection(cert_file="/etc/hostname"), "need a ca_file"),
        ):
            with self.subTest(what), self.assertRaises(ValueError) as raised:
                make()
            self.assertIn(what, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
