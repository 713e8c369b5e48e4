"""What is refused, by whom, and in which words; what is tried again."""

import asyncio
import contextlib
import hashlib
import itertools
import pathlib
import re
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from fractions import Fraction

import numpy as np

import baseband_offload as bo
import support
from baseband_offload import _messages

CODE = bo.WifiCode("1/2", 648)
LLRS = np.full(648, 40, np.int8)


class ArgumentsTest(unittest.TestCase):
    """Of a client that never connects."""

    def setUp(self):
        self.client = bo.Client("unix:/nowhere")
        self.addCleanup(self.client.close)

    def refused(self, error, text, method, *arguments, **options):
        with self.assertRaises(error) as caught:
            getattr(self.client, method)(*arguments, **options)
        self.assertNotIsInstance(caught.exception, bo.BasebandError)
        self.assertIn(text, str(caught.exception))

    def test_arrays_are_named_with_their_dtype_and_shape(self):
        refused = self.refused
        refused(TypeError, "llrs has dtype float64, not int8", "decode", np.zeros(648), CODE)
        refused(TypeError, "llrs is list, not a numpy array", "decode", [1] * 648, CODE)
        refused(TypeError, "bits has dtype int64, not uint8 or bool", "encode", np.zeros(324, int), CODE)
        refused(TypeError, "symbols has dtype complex256", "recover_carrier", np.zeros(20, np.clongdouble), "QPSK")
        refused(TypeError, "samples has dtype >i2", "downconvert", np.zeros((8, 2), ">i2"), 1e6, [bo.Channel(0, taps=np.ones(1))])
        refused(ValueError, "llrs has shape (2, 649): its last axis is more than 648", "decode", np.zeros((2, 649), np.int8), CODE)
        refused(ValueError, "llrs has shape (0, 648): it is empty", "decode", np.zeros((0, 648), np.int8), CODE)
        refused(ValueError, "bits has shape (3, 325): its last axis is not 324", "encode", np.zeros((3, 325), np.uint8), CODE)
        refused(ValueError, "its last axis is not 41", "encode", np.zeros(324, np.uint8), CODE, packed=True)
        refused(ValueError, "bits holds 2, which is no bit", "encode", np.full(324, 2, np.uint8), CODE)
        refused(ValueError, "samples has shape (4, 3)", "downconvert", np.zeros((4, 3), np.int16), 1e6, [bo.Channel(0, taps=np.ones(1))])
        refused(ValueError, "frame_symbols 15 is not in [16, 1048576]", "recover_carrier", np.zeros(15, np.complex64), "QPSK")

    def test_parameters_are_named_with_their_range(self):
        refused = self.refused
        algorithms = "'fast' is not one of normalized_min_sum, sum_product, bit_flipping"
        refused(ValueError, algorithms, "decode", LLRS, CODE, algorithm="fast")
        refused(ValueError, "max_iterations 101 is not in [1, 100]", "decode", LLRS, CODE, max_iterations=101)
        refused(ValueError, "n_filler 324 is not in [0, 323]", "decode", LLRS, CODE, n_filler=324)
        refused(TypeError, "code 'wifi' is str, not a NrCode, a WimaxCode, a WifiCode or a CustomCode", "decode", LLRS, "wifi")
        for scalars, text in (([1], "scalars [1] is list, not a dict"), ({"a": "1"}, "scalars['a'] '1' is str, not a number")):
            with self.assertRaisesRegex(TypeError, re.escape(text)):
                bo.Expression("x", scalars=scalars)
        with self.assertRaisesRegex(TypeError, "arrays .* is list, not a dict"):
            bo.Expression("x", arrays=[np.zeros(3)])
        with self.assertRaisesRegex(TypeError, "is list, not a str"):
            bo.Expression(["x"])
        refused(ValueError, "axes 5 is not in [1, 4]", "minimize", "x", [bo.Axis(0, 1, 2)] * 5)
        refused(ValueError, "y has shape (2, 4)", "minimize", bo.Sinusoids(np.zeros((2, 4)), 1.0), [bo.Axis(0, 1, 2)])
        known = {"known": np.ones(2, complex), "known_positions": [1]}
        refused(ValueError, "known_positions has 1 places, not 2", "recover_carrier", np.zeros(20, complex), "QPSK", **known)

    def test_what_samples_need_is_asked_for(self):
        samples = np.zeros(200, np.complex64)
        four = {"samples_per_symbol": 4, "roll_off": 0.2}
        for text, options in {
            "samples_per_symbol needs roll_off": {"samples_per_symbol": 4},
            "roll_off and max_clock_error need samples_per_symbol": {"roll_off": 0.2},
            "samples_per_symbol 16.5 is not in [2, 16]": {"samples_per_symbol": 16.5, "roll_off": 0.2},
            "samples_per_symbol 3.1415926 is no fraction of terms up to 4096": {"samples_per_symbol": 3.1415926, "roll_off": 0.2},
            "samples_per_symbol 4097/2048 is no fraction": {"samples_per_symbol": Fraction(4097, 2048), "roll_off": 0.2},
            "samples_per_symbol nan is no number": {"samples_per_symbol": float("nan"), "roll_off": 0.2},
            "roll_off 0.01 is not in [0.05, 1]": {"samples_per_symbol": 4, "roll_off": 0.01},
            "taps and taps_per_symbol need samples_per_symbol": {"taps": np.ones(3)},
            "taps and taps_per_symbol need each other": {**four, "taps": np.ones(3)},
            "taps has shape (4,), not (an odd number from 3 to 513,)": {**four, "taps": np.ones(4), "taps_per_symbol": 4},
            "taps has shape (1,), not (an odd number from 3": {**four, "taps": np.ones(1), "taps_per_symbol": 4},
            "taps[2] 1e+39 is not a finite float32": {**four, "taps": np.array([0, 1, 1e39]), "taps_per_symbol": 4},
            "taps[0] nan is not a finite float32": {**four, "taps": np.array([np.nan, 1, 0]), "taps_per_symbol": 4},
            "taps_per_symbol 17 is not in [2, 16]": {**four, "taps": np.ones(3), "taps_per_symbol": 17},
            "max_clock_error 1 is not in [0, 0.001]": {"samples_per_symbol": 4, "roll_off": 0.2, "max_clock_error": 1},
        }.items():
            with self.subTest(text):
                self.refused(ValueError, text, "recover_carrier", samples, "QPSK", **options)

    def test_a_float_rate_is_the_fraction_that_it_is_but_for_rounding(self):
        samples = np.zeros(2000, np.complex64)

        def taken(rate):
            header = bo.recover_carrier_request(samples, "QPSK", samples_per_symbol=rate, roll_off=0.2).header
            timing = _messages.message_class("RecoverCarrierRequest").FromString(header).groups[0].timing
            return timing.samples_per_symbol_numerator, timing.samples_per_symbol_denominator

        for rate in (2.6, 1.248e6 / 480e3, np.float64(2.6), np.float32(2.6), Fraction(13, 5), "13/5", "2.6"):
            with self.subTest(repr(rate)):
                self.assertEqual(taken(rate), (13, 5))
        random = np.random.default_rng(1)
        for denominator in random.integers(1, 2048, 200).tolist():
            numerator = int(random.integers(2 * denominator, min(16 * denominator, 4096) + 1))
            exact = Fraction(numerator, denominator)
            for kind in (float, np.float32):
                self.assertEqual(taken(kind(numerator / denominator)), (exact.numerator, exact.denominator))

    def test_a_code_rate_has_one_name_however_it_is_spelled(self):
        for rate, spelled in {"1/2": "1_2", "2/3A": "2_3a", "3/4B": "3/4b", "5/6": "5-6"}.items():
            with self.subTest(spelled):
                code = bo.WimaxCode(spelled, 576)
                self.assertEqual((code, code.rate), (bo.WimaxCode(rate, 576), rate))
        for rate, spelled in {"1/2": "1_2", "3/4": "3-4"}.items():
            self.assertEqual(bo.WifiCode(spelled, 648), bo.WifiCode(rate, 648))

    def test_one_alone_is_not_taken_for_many(self):
        samples, channel = np.zeros((200, 2), np.int16), bo.Channel(0, taps=np.ones(1))
        request = bo.decode_request(LLRS, CODE)

        async def async_stream(pieces):
            return [found async for found in bo.AsyncClient("unix:/nowhere").downconvert_stream(pieces, 1e6, [channel])]

        async def async_submit():
            return [found async for found in bo.AsyncClient("unix:/nowhere").submit(request)]

        for text, make in {
            "is Channel, not a list of Channel": lambda: self.client.downconvert(samples, 1e6, channel),
            "channels[1] 5 is int, not a Channel": lambda: self.client.downconvert(samples, 1e6, [channel, 5]),
            "retunes Retune(": lambda: bo.downconvert_request(samples, 1e6, [channel], retunes=bo.Retune(0, 0, 0.0)),
            "is Axis, not a list of Axis": lambda: self.client.minimize("x", bo.Axis(0, 1, 2)),
            "is Request, not a list of Request": lambda: bo.join(request),
            "pieces is one ndarray": lambda: self.client.downconvert_stream(samples, 1e6, [channel]),
            "pieces is one Piece": lambda: self.client.downconvert_stream(bo.Piece(samples), 1e6, [channel]),
            "requests is one Request": lambda: self.client.submit(request),
            "pieces is one ndarray, not": lambda: asyncio.run(async_stream(samples)),
            "requests is one Request, not": lambda: asyncio.run(async_submit()),
        }.items():
            with self.subTest(text), self.assertRaises(TypeError) as caught:
                make()
            self.assertIn(text, str(caught.exception))

    def test_a_text_that_is_no_unicode_is_named(self):
        with self.assertRaises(ValueError) as caught:
            bo.recover_carrier_request(np.zeros(200, np.complex64), "QPSK\ud800")
        self.assertIn("name 'QPSK\\ud800': ", str(caught.exception))

    def test_a_contract_of_another_version_is_told_as_such(self):
        for text, make in {
            "it has no SymbolTiming.wings": lambda: _messages.message("SymbolTiming", wings=2),
            "it has no Wings": lambda: _messages.message("Wings"),
            "it has no WingKind": lambda: _messages.enum_number("kind", "WingKind", "left"),
        }.items():
            with self.subTest(text), self.assertRaises(RuntimeError) as caught:
                make()
            self.assertIn(f"built from another version than this package: {text}", str(caught.exception))

    def test_codes_and_blocks_are_checked_when_they_are_made(self):
        for text, make in {
            "zc 17 is not a lifting size": lambda: bo.NrCode(1, 17),
            "base_graph 3 is not in [1, 2]": lambda: bo.NrCode(3, 16),
            "parity_rows 3 is not in [4, 42]": lambda: bo.NrCode(2, 16, parity_rows=3),
            "n 577 is not one of": lambda: bo.WimaxCode("1/2", 577),
            "rate '7/8' is not one of 1/2, 2/3, 3/4, 5/6": lambda: bo.WifiCode("7/8", 648),
            "rate '3/4' is not one of 1/2, 2/3A, 2/3B, 3/4A, 3/4B, 5/6": lambda: bo.WimaxCode("3/4", 576),
            "down 0 is not in [1, 4096]": lambda: bo.Channel(0, down=0),
            "up 0 is not in [1, 4096]": lambda: bo.Channel(0, up=0),
            "down 4097 is not in [1, 4096]": lambda: bo.Channel(0, down=4097),
            "columns 2 is not in [3, 128]": lambda: bo.CustomCode(np.zeros((2, 2), int), 8),
            "g 101 is not a multiple": lambda: bo.TransportBlock(100, 101, 2),
            "taps[1] -1e+39 is not a finite float32": lambda: bo.Channel(0, taps=np.array([1, -1e39]))._message(),
            "gain 0 is 0, which stands for 1": lambda: bo.Channel(0, taps=np.ones(1), gain=0),
            "a channel needs either pass_edge_hz or taps": lambda: bo.Channel(0)._message(),
        }.items():
            with self.subTest(text), self.assertRaises(ValueError) as caught:
                make()
            self.assertIn(text, str(caught.exception))

    def test_all_51_lifting_sizes_are_taken_and_no_other(self):
        def is_taken(zc):
            with contextlib.suppress(ValueError):
                return bool(bo.NrCode(1, zc))
            return False

        sizes = {case["zc"] for case in support.vectors("nr_encode.jsonl")}
        self.assertEqual(len(sizes), 51)
        self.assertEqual({zc for zc in range(-1, 500) if is_taken(zc)}, sizes)

    def test_what_is_no_port_is_not_checked_as_one(self):
        for target in ("unix:/a:99999", "unix-abstract:a:0", "vsock:1:0", "[fd00::1]:50151"):
            with self.subTest(target):
                bo.Client(target).close()

    def test_options_are_checked_when_a_client_is_made(self):
        for text, options in {
            "target is empty": {"target": ""},
            "it takes no http://, but HOST:PORT": {"target": "http://127.0.0.1:50151"},
            "'grpc://b:1': it takes no grpc://": {"target": "10.0.0.1:1,grpc://b:1"},
            "dns:///NAME:PORT: leave https:// out": {"target": "https://b:1"},
            "'foo' is not HOST:PORT, unix:PATH or a list ADDRESS:PORT,ADDRESS:PORT": {"target": "foo"},
            "'127.0.0.1' is not HOST:PORT": {"target": "127.0.0.1"},
            "'foo:' is not HOST:PORT": {"target": "foo:"},
            "'unix:' is not HOST:PORT": {"target": "unix:"},
            "'dns:///gpu1' is not HOST:PORT": {"target": "dns:///gpu1"},
            "'fd00::99999' is not HOST:PORT": {"target": "fd00::99999"},
            "port 99999 is not in [1, 65535]": {"target": "127.0.0.1:99999"},
            "port 0 is not in [1, 65535]": {"target": "unixhost:0"},
            "port 70000 is not in [1, 65535]": {"target": "dns://8.8.8.8:53/gpu1:70000"},
            "port 65536 is not in [1, 65535]": {"target": "ipv6:%5Bfd00::1%5D:65536"},
            "connections 65 is not in [1, 64]": {"connections": 65},
            "max_attempts 0 is not in [1, 5]": {"max_attempts": 0},
            "initial_backoff must be > 0": {"initial_backoff": 0.0},
            "in clear text": {"target": "example.org:50151", "token": "secret"},
            "localhost:50151 in clear text": {"target": "localhost:50151", "token": "secret"},
            "token has a byte": {"token": "two words"},
            "is not a list of IPv4 addresses": {"target": "a:1,b:2"},
            "needs server_name": {"target": "127.0.0.1:1,127.0.0.1:2", "tls": bo.Tls()},
            "a Unix socket speaks none": {"target": "unix:/x", "tls": bo.Tls()},
        }.items():
            with self.subTest(text), self.assertRaises(ValueError) as caught:
                bo.Client(**options)
            self.assertIn(text, str(caught.exception))
        for text, options in {
            "tls needs cert and key": {"cert": b"x"},
            "tls.ca holds no certificate": {"ca": b"path.pem"},
            "tls.server_name has": {"server_name": "a b"},
        }.items():
            with self.subTest(text), self.assertRaises(ValueError) as caught:
                bo.Tls(**options)
            self.assertIn(text, str(caught.exception))
        for options in ({"timeout": 0}, {"priority": "urgent"}, {"request_id": "a b"}):
            with self.subTest(options), self.assertRaises(ValueError):
                bo.CallOptions(**options)

    def test_what_is_of_another_type_is_named_with_its_value(self):
        symbols, channel = np.zeros(200, np.complex64), bo.Channel(0, taps=np.ones(1))
        for text, make in {
            "timeout '10' is str, not a number": lambda: bo.CallOptions(timeout="10"),
            "timeout None is NoneType, not a number": lambda: bo.CallOptions(timeout=None),
            "request_id 7 is int, not a str": lambda: bo.CallOptions(request_id=7),
            "target 50151 is int, not a str": lambda: bo.Client(50151),
            "connections '4' is str, not a whole number": lambda: bo.Client(connections="4"),
            "max_attempts 2.5 is float, not a whole number": lambda: bo.Client(max_attempts=2.5),
            "max_backoff '1s' is str, not a number": lambda: bo.Client(max_backoff="1s"),
            "token b'secret' is bytes, not a str": lambda: bo.Client(token=b"secret"),
            "tls True is bool, not a Tls": lambda: bo.Client(tls=True),
            "tls.ca 'ca.pem' is str, not bytes, the contents": lambda: bo.Tls(ca="ca.pem"),
            "timeout '1' is str, not a number": lambda: self.client.connect("1"),
            "in_flight '8' is str, not a whole number": lambda: next(self.client.submit([], in_flight="8")),
            "response_timeout '8' is str": lambda: self.client.open_submit_stream(response_timeout="8"),
            "zc '384' is str, not a whole number": lambda: bo.NrCode(1, "384"),
            "down 4.0 is float, not a whole number": lambda: bo.Channel(0, down=4.0),
            "taps_per_symbol 4.5 is float, not a whole number": lambda: bo.recover_carrier_request(
                symbols, "QPSK", samples_per_symbol=4, roll_off=0.2, taps=np.ones(3), taps_per_symbol=4.5
            ),
            "rate 0.5 is float, not a str": lambda: bo.WifiCode(0.5, 648),
            "output 3 is int, not a str": lambda: bo.Channel(0, taps=np.ones(1), output=3),
            "design None is NoneType, not a str": lambda: bo.Channel(0, pass_edge_hz=1e3, design=None),
            "block 'x' is str, not a TransportBlock or a CodeBlock": lambda: bo.encode_shared_channel_request(np.zeros(9, np.uint8), "x"),
            "block 4 is int, not a TransportBlock or a CodeBlock": lambda: bo.decode_shared_channel_request(np.zeros(9, np.int8), 4),
            "separation 3 is int, not a list": lambda: bo.minimize_request("x", [bo.Axis(0, 1, 2)], separation=3),
            "fixed_columns 3 is int, not a list": lambda: bo.Sinusoids(np.zeros(8), 1.0, fixed_columns=3),
            "g '100' is str, not a whole number": lambda: bo.TransportBlock(100, "100", 2),
            "max_iterations 8.5 is float, not a whole number": lambda: bo.decode_request(LLRS, CODE, max_iterations=8.5),
            "scale_factor '1' is str, not a number or None": lambda: bo.decode_request(LLRS, CODE, scale_factor="1"),
            "fine None is NoneType, not a str": lambda: bo.recover_carrier_request(symbols, "QPSK", fine=None),
            "sweep 3 is int, not a Sweep": lambda: bo.recover_carrier_request(symbols, "QPSK", sweep=3),
            "symbol_rate_hz '1M' is str, not a number": lambda: bo.recover_carrier_request(symbols, "QPSK", symbol_rate_hz="1M"),
            "sample_rate_hz '1e6' is str, not a number": lambda: bo.downconvert_request(symbols, "1e6", [channel]),
            "begin '0' is str, not a number": lambda: bo.minimize_request("x", [bo.Axis("0", 1, 2)]),
            "functional 5 is int, not a str, an Expression": lambda: bo.minimize_request(5, [bo.Axis(0, 1, 2)]),
        }.items():
            with self.subTest(text), self.assertRaises(TypeError) as caught:
                make()
            self.assertIn(text, str(caught.exception))
        with self.assertRaisesRegex(ValueError, "power -1: .*range"):
            bo.recover_carrier_request(symbols, "QPSK", power=-1)
        with self.assertRaisesRegex(ValueError, "samples_per_symbol 'many' is no number"):
            bo.recover_carrier_request(symbols, "QPSK", samples_per_symbol="many", roll_off=0.2)

    def test_requests_of_several_operations_are_not_joined(self):
        channel = bo.Channel(0, taps=np.ones(1))
        encode = bo.encode_request(np.zeros(324, np.uint8), CODE)
        downconvert = bo.downconvert_request(np.zeros(9, np.complex64), 1e6, [channel])
        for requests in ([], [encode, bo.decode_request(LLRS, CODE)], [downconvert]):
            with self.assertRaises(ValueError):
                bo.join(requests)


class NoServerTest(unittest.TestCase):
    def test_a_server_that_is_not_there_is_unavailable_after_all_attempts(self):
        with bo.Client("unix:/nowhere/at/all", initial_backoff=0.01, max_backoff=0.02) as client:
            with self.assertRaises(bo.Unavailable) as caught:
                client.decode(LLRS, CODE)
        self.assertEqual(caught.exception.code, "UNAVAILABLE")
        self.assertIsInstance(caught.exception, ConnectionError)

    def test_it_is_waited_for_if_that_is_asked_for(self):
        with support.Server() as server:
            server.kill()
            with bo.Client(server.target) as client:
                threading.Timer(0.5, server.start).start()
                decoded = client.decode(LLRS, CODE, options=bo.CallOptions(wait_for_ready=True, timeout=120))
        self.assertTrue(decoded.parity_ok)

    def test_who_connects_is_told_that_nobody_is_there(self):
        with bo.Client("unix:/nowhere/at/all") as client, self.assertRaises(bo.DeadlineExceeded) as caught:
            client.connect(0.1)
        self.assertIn("not connected within 0.1 s", str(caught.exception))
        self.assertIsInstance(caught.exception, TimeoutError)

    def test_a_server_that_says_nothing_takes_no_longer_than_the_timeout(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as silent:
            silent.bind(f"{folder}/silent")
            silent.listen()
            with bo.Client(f"unix:{folder}/silent") as client:
                with self.assertRaises((bo.DeadlineExceeded, bo.Unavailable)):
                    client.decode(LLRS, CODE, options=bo.CallOptions(timeout=0.2, wait_for_ready=True))


class ClosedClientTest(unittest.TestCase):
    def test_what_is_in_flight_or_comes_later_is_cancelled(self):
        for wait_for_ready in (False, True):
            with self.subTest(wait_for_ready), support.FakeServer() as server:
                client = bo.Client(server.target)
                threading.Thread(target=lambda: (server.began.wait(60), client.close())).start()
                with self.assertRaises(bo.Cancelled):
                    client.decode(LLRS, CODE, options=bo.CallOptions(wait_for_ready=wait_for_ready))
                for late in (
                    client.get_capabilities,
                    client.check_health,
                    client.connect,
                    client.open_submit_stream,
                    lambda: client.minimize("x", [bo.Axis(0, 1, 2)]),
                ):
                    with self.assertRaises(bo.Cancelled):
                        late()

    def test_an_async_call_in_flight_or_later_is_cancelled(self):
        async def main(target):
            client = bo.AsyncClient(target)
            call = asyncio.create_task(client.decode(LLRS, CODE))
            await asyncio.to_thread(server.began.wait, 60)
            await client.close()
            for late in (call, client.decode(LLRS, CODE)):
                with self.assertRaises(bo.Cancelled):
                    await asyncio.wait_for(late, 60)

        with support.FakeServer() as server:
            asyncio.run(main(server.target))

    def test_a_call_between_two_attempts_is_cancelled(self):
        client = bo.Client("unix:/nowhere/at/all", initial_backoff=1.0)
        threading.Timer(0.3, client.close).start()
        with self.assertRaises(bo.Cancelled):
            client.decode(LLRS, CODE)


class ServerErrorsTest(support.ServerTest):
    FLAGS = ("--max-request-mib=1",)

    def test_the_server_s_text_names_field_value_and_range(self):
        with self.assertRaises(bo.InvalidArgument) as caught:
            self.client.decode(LLRS, CODE, scale_factor=2.0)
        self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")
        self.assertIn("scale_factor 2 is not in (0, 1]", caught.exception.message)
        self.assertIsInstance(caught.exception, ValueError)
        self.assertIsNone(caught.exception.__cause__)
        with self.assertRaises(bo.InvalidArgument) as caught:
            self.client.recover_carrier(np.ones(20, np.complex64), "7PSK")
        self.assertIn("7PSK", caught.exception.message)

    def test_every_pair_of_carrier_stages_has_an_answer_or_a_refusal_that_names_the_field(self):
        symbols = np.exp(0.5j * np.pi * np.arange(200) ** 2).astype(np.complex64)
        timed = {"samples_per_symbol": 2, "roll_off": 0.5}
        refused = set()
        for coarse, fine, curve, known, timing in itertools.product(
            (None, "none", "power", "known_symbols"),
            ("none", "interpolate", "sweep", "remodulate", "pll"),
            (False, True),
            (None, symbols[:8]),
            ({}, timed),
        ):
            try:
                self.client.recover_carrier(
                    symbols, "QPSK", coarse=coarse, fine=fine, curve=curve, known=known, corrected=True, **timing
                )
            except bo.InvalidArgument as error:
                refused.add(error.message.replace("groups[0].", "").split(" ")[0])
        self.assertEqual(refused, {"curve", "known.values"})
        with self.assertRaisesRegex(bo.InvalidArgument, "curve true, coarse COARSE_METHOD_NONE: "):
            self.client.recover_carrier(symbols, "QPSK", coarse="none", curve=True)

    def test_a_block_that_is_no_number_fails_a_search_that_wants_it(self):
        with self.assertRaises(bo.OutOfRange):
            self.client.minimize("sqrt(x)", [bo.Axis(-1, 1, 3)], nan_policy="fail")

    def test_a_message_that_is_too_large_says_how_large_it_may_be(self):
        with self.assertRaises((bo.InvalidArgument, bo.ResourceExhausted)) as caught:
            self.client.decode(np.zeros((20000, 648), np.int8), CODE)
        self.assertIsNone(caught.exception.retry_after)

    def test_a_deadline_that_passes_is_told_as_one(self):
        self.server.inject("stall", "--stall=2s")
        began = time.monotonic()
        with self.assertRaises(bo.DeadlineExceeded):
            self.client.decode(LLRS, CODE, options=bo.CallOptions(timeout=0.3))
        self.assertGreaterEqual(time.monotonic() - began, 0.3)
        self.assertTrue(self.client.decode(LLRS, CODE).parity_ok)

    def test_a_failed_batch_is_internal_and_not_tried_again(self):
        self.server.inject("fail")
        with self.assertRaises(bo.Internal):
            self.client.decode(LLRS, CODE)
        self.assertTrue(self.client.decode(LLRS, CODE).parity_ok)

    def test_memory_that_was_missing_is_there_at_the_next_attempt(self):
        self.server.inject("no-memory", "--count=1")
        self.assertTrue(self.client.decode(LLRS, CODE).parity_ok)
        self.server.inject("no-memory", "--count=1")
        with bo.Client(self.server.target, max_attempts=1) as once:
            with self.assertRaises(bo.ResourceExhausted) as caught:
                once.decode(LLRS, CODE)
        self.assertGreater(caught.exception.retry_after, 0)

    def test_an_unknown_service_has_no_health(self):
        with self.assertRaises(bo.NotFound):
            self.client.check_health("no.such.Service")
        with self.assertRaises(bo.NotFound):
            self.client.check_health("x" * 300)
        self.assertEqual(self.client.check_health("baseband.v1.Baseband"), "serving")


class SecurityTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        command = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2 -subj /CN=rack1 -addext".split()
        command += ["subjectAltName=DNS:rack1.example", "-out", self.folder / "cert", "-keyout", self.folder / "key"]
        subprocess.run(command, check=True, capture_output=True)
        (self.folder / "tokens").write_text(f"me user {hashlib.sha256(b'the-token').hexdigest()}\n")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            target = f"127.0.0.1:{probe.getsockname()[1]}"
        flags = [f"--tls-cert={self.folder / 'cert'}", f"--tls-key={self.folder / 'key'}", f"--tokens-file={self.folder / 'tokens'}"]
        self.server = self.enterContext(support.Server(*flags, target=target))
        self.ca = (self.folder / "cert").read_bytes()

    def client(self, **options):
        client = bo.Client(self.server.target, connections=1, **options)
        self.addCleanup(client.close)
        return client

    def test_only_who_knows_certificate_name_and_token_is_served(self):
        tls = bo.Tls(ca=self.ca, server_name="rack1.example")
        client = self.client(tls=tls, token="the-token")
        client.connect(120)
        self.assertTrue(client.decode(LLRS, CODE).parity_ok)
        with self.assertRaises(bo.Unauthenticated):
            self.client(tls=tls, token="another-token").decode(LLRS, CODE)
        for wrong in ({"tls": bo.Tls(ca=self.ca, server_name="rack2.example")}, {"tls": bo.Tls(server_name="rack1.example")}, {}):
            with self.subTest(wrong), self.assertRaises(bo.Unavailable):
                self.client(**wrong, max_attempts=1).decode(LLRS, CODE)


class SeveralServersTest(unittest.TestCase):
    def test_calls_go_to_those_that_serve(self):
        targets = []
        for _ in range(2):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                targets.append(f"127.0.0.1:{probe.getsockname()[1]}")
        servers = [self.enterContext(support.Server(target=target)) for target in targets]
        client = self.enterContext(bo.Client(",".join(targets)))
        client.connect(120)
        for number in range(60):
            if number == 20:
                servers[0].kill()
            if number == 40:
                servers[0].start()
            self.assertTrue(client.decode(LLRS, CODE).parity_ok)


if __name__ == "__main__":
    unittest.main()
