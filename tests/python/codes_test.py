"""Encode, Decode and the shared channels, against answers of other implementations."""

import unittest

import numpy as np

import baseband_offload as bo
import support


def code_of(case):
    if "bg" in case:
        return bo.NrCode(case["bg"], case["zc"])
    return {"802.16e": bo.WimaxCode, "802.11n": bo.WifiCode}[case["standard"]](case["rate"], case["n"])


class EncodeTest(support.ServerTest):
    def test_code_words_are_those_of_the_standards(self):
        requests, words = [], []
        for case in support.vectors("nr_encode.jsonl") + support.vectors("wimax_wifi_encode.jsonl"):
            code = code_of(case)
            information = support.bits(case["info"], code.k)
            requests.append(bo.encode_request(information, code, output="full_codeword"))
            words.append((case, support.bits(case["codeword"], code.full)))
        self.assertGreater(len(words), 200)
        for (case, word), encoded in zip(words, self.client.call(bo.join(requests))):
            with self.subTest(code=case):
                np.testing.assert_array_equal(encoded.bits, word)

    def test_every_output_is_its_part_of_the_code_word(self):
        code = bo.NrCode(2, 36, parity_rows=10)
        information = np.random.default_rng(1).integers(0, 2, (3, 2, code.k - 17), np.uint8)
        outputs = {
            output: self.client.encode(information, code, n_filler=17, output=output).bits
            for output in ("parity", "codeword", "full_codeword")
        }
        full = outputs["full_codeword"]
        self.assertEqual(full.shape, (3, 2, code.full))
        np.testing.assert_array_equal(full[..., : code.k - 17], information)
        self.assertFalse(full[..., code.k - 17 : code.k].any())
        np.testing.assert_array_equal(outputs["parity"], full[..., code.k :])
        np.testing.assert_array_equal(outputs["codeword"], full[..., 2 * code.zc :])

    def test_packed_bits_are_those_of_the_vectors(self):
        case = support.vectors("wimax_wifi_encode.jsonl")[0]
        information = support.packed(case["info"])
        encoded = self.client.encode(information, code_of(case), output="codeword", packed=True)
        np.testing.assert_array_equal(encoded.bits, support.packed(case["codeword"]))

    def test_a_custom_code_is_the_standard_s_whose_matrix_it_has(self):
        # 802.11n Annex R, n = 648, R = 5/6.
        shifts = """
            17 13  8 21  9  3 18 12 10  0  4 15 19  2  5 10 26 19 13 13  1  0 -1 -1
             3 12 11 14 11 25  5 18  0  9  2 26 26 10 24  7 14 20  4  2 -1  0  0 -1
            22 16  4  3 10 21 12  5 21 14 19  5 -1  8  5 18 11  5  5 15  0 -1  0  0
             7  7 14 14  4 16 16 24 24 10  1  7 15  6 10 26  8 18 21 14  1 -1 -1  0
        """
        custom = bo.CustomCode(np.array(shifts.split(), int).reshape(4, 24), 27)
        information = np.random.default_rng(2).integers(0, 2, custom.k, np.uint8)
        np.testing.assert_array_equal(
            self.client.encode(information, custom).bits, self.client.encode(information, bo.WifiCode("5/6", 648)).bits
        )


class DecodeTest(support.ServerTest):
    def test_noisy_words_decode_to_what_was_sent(self):
        cases = support.vectors("noisy_decode.jsonl")
        self.assertGreater(len(cases), 100)
        for case in cases:
            code = bo.NrCode(case["bg"], case["zc"]) if "bg" in case else code_of(case)
            llrs = support.packed(case["llr"]).view(np.int8)
            n_filler = code.k - case["k_prime"] if "k_prime" in case else 0
            with self.subTest(case=case["group"]):
                decoded = self.client.decode(llrs, code, n_filler=n_filler)
                self.assertTrue(decoded.parity_ok)
                self.assertGreaterEqual(decoded.iterations, 1)
                np.testing.assert_array_equal(decoded.bits, support.bits(case["info"], code.k - n_filler))

    def test_blocks_keep_their_places(self):
        code = bo.WifiCode("3/4", 1296)
        sent = np.random.default_rng(3).integers(0, 2, (2, 5, code.k), np.uint8)
        words = self.client.encode(sent, code, output="codeword").bits
        llrs = np.where(words, np.int8(-20), np.int8(20))
        llrs[1, 3] = np.resize([20, -20, 20], code.sent)  # no code word
        decoded = self.client.decode(llrs, code, max_iterations=4)
        right = np.ones((2, 5), bool)
        right[1, 3] = False
        np.testing.assert_array_equal(decoded.parity_ok, right)
        np.testing.assert_array_equal(decoded.bits[right], sent[right])
        self.assertEqual(decoded.iterations[1, 3], 4)
        self.assertEqual(decoded.iterations[0, 0], 1)

    def test_soft_output_has_the_signs_of_the_code_word(self):
        for code, llr_count in ((bo.NrCode(1, 24), 24 * 40), (bo.NrCode(2, 24), 50 * 24), (bo.WimaxCode("2/3A", 576), 576)):
            with self.subTest(code=code):
                sent = np.random.default_rng(4).integers(0, 2, (3, code.k), np.uint8)
                word = self.client.encode(sent, code, output="full_codeword").bits
                of_sent = word[:, code.full - code.sent :]
                llrs = np.where(of_sent[:, :llr_count], np.int8(-30), np.int8(30))
                decoded = self.client.decode(llrs, code, soft_output=True)
                self.assertTrue(decoded.parity_ok.all())
                self.assertLessEqual(decoded.soft.shape[1], code.full)
                np.testing.assert_array_equal(decoded.soft < 0, word[:, : decoded.soft.shape[1]])

    def test_every_algorithm_and_schedule_decodes(self):
        code = bo.WimaxCode("1/2", 576)
        sent = np.random.default_rng(5).integers(0, 2, code.k, np.uint8)
        llrs = np.where(self.client.encode(sent, code, output="codeword").bits, np.int8(-20), np.int8(20))
        for algorithm in ("normalized_min_sum", "sum_product", "bit_flipping"):
            for schedule in ("layered", "flooding"):
                with self.subTest(f"{algorithm}, {schedule}"):
                    decoded = self.client.decode(
                        llrs, code, algorithm=algorithm, schedule=schedule, fixed_iterations=True, max_iterations=3
                    )
                    np.testing.assert_array_equal(decoded.bits, sent)
                    self.assertEqual(decoded.iterations, 3)

    def test_an_array_that_is_not_contiguous_is_taken_as_it_reads(self):
        code = bo.WifiCode("1/2", 648)
        sent = np.random.default_rng(6).integers(0, 2, (4, code.k), np.uint8)
        llrs = np.where(self.client.encode(sent, code, output="codeword").bits, np.int8(-20), np.int8(20))
        decoded = self.client.decode(np.asfortranarray(llrs)[::2], code)
        np.testing.assert_array_equal(decoded.bits, sent[::2])


class SharedChannelTest(support.ServerTest):
    def block(self, case, **changes):
        return bo.TransportBlock(
            **{
                "tb_bytes": case["a"] // 8,
                "g": case["g"],
                "qm": case["qm"],
                "base_graph": case["bg"],
                "layers": case["layers"],
                "tbs_lbrm": case["tbs_lbrm"],
                **changes,
            }
        )

    def test_transport_blocks_become_the_bits_of_the_standard(self):
        for case in support.vectors("nr_tb_chain.jsonl"):
            with self.subTest(case=case["case"]):
                block = self.block(case, rv=case["rv"])
                encoded = self.client.encode_shared_channel(support.packed(case["tb"]), block)
                np.testing.assert_array_equal(encoded.sent, support.packed(case["out"]))

    def test_transmissions_are_combined_and_decode(self):
        combined = 0
        for case in support.vectors("nr_tb_decode.jsonl"):
            with self.subTest(case=case["case"]):
                for number, sent in enumerate(case["tx"]):
                    harq = bo.Harq(f"case {case['case']}".encode(), number, block=1) if len(case["tx"]) > 1 else None
                    llrs = support.packed(sent["llr"]).view(np.int8)
                    decoded = self.client.decode_shared_channel(llrs, self.block(case, rv=sent["rv"]), harq=harq)
                    if harq:
                        combined += number > 0
                        self.assertEqual(decoded.harq, "combined" if number else "first")
                self.assertTrue(decoded.crc_ok)
                np.testing.assert_array_equal(decoded.data, support.packed(case["tb"]))
        self.assertGreater(combined, 0)

    def test_symbols_of_every_type_come_back(self):
        block = bo.TransportBlock(tb_bytes=251, g=4810 * 6, qm=6, code_rate=0.3, c_init=12345)
        data = np.random.default_rng(7).integers(0, 256, (2, 251), np.uint8)
        for output in ("float32", "float16", "int16"):
            with self.subTest(output):
                sent = self.client.encode_shared_channel(data, block, output=output).sent
                decoded = self.client.decode_shared_channel(sent, block, noise_variance=0.01)
                self.assertTrue(decoded.crc_ok.all())
                np.testing.assert_array_equal(decoded.data, data)

    def test_a_code_block_alone_loses_its_crc_on_the_way_back(self):
        block = bo.CodeBlock(base_graph=2, zc=32, e=900, qm=2, n_filler=9, crc="24b")
        data = np.random.default_rng(8).integers(0, 256, (3, (10 * 32 - 9 - 24 + 7) // 8), np.uint8)
        data[:, -1] &= 0x80  # 287 bits
        words = self.client.encode_shared_channel(data, block).sent
        llrs = np.where(np.unpackbits(words, axis=-1, count=900), np.int8(-20), np.int8(20))
        decoded = self.client.decode_shared_channel(llrs, block)
        self.assertTrue(decoded.crc_ok.all())
        np.testing.assert_array_equal(decoded.data, data)


if __name__ == "__main__":
    unittest.main()
