"""Many requests at a time: Submit streams, AsyncClient, and servers that go in between."""

import asyncio
import dataclasses
import threading
import time
import unittest

import numpy as np

import baseband_offload as bo
import support
from baseband_offload import _messages

CODE = bo.WifiCode("1/2", 648)
LLRS = np.full((2, 648), 40, np.int8)
PATIENT = {"max_attempts": 5, "initial_backoff": 2.0, "max_backoff": 10.0}


def requests(count):
    """Whose answers differ: block n decodes to ones in its first n bits."""
    for number in range(count):
        bits = np.zeros(324, np.uint8)
        bits[: number % 300] = 1
        yield bo.encode_request(bits, CODE, output="full_codeword")


class SubmitTest(support.ServerTest):
    FLAGS = ("--submit-requests=16",)

    def test_each_request_has_its_own_answer(self):
        seen = set()
        for answer in self.client.submit(requests(500)):
            self.assertEqual(answer.result().bits[:324].sum(), answer.index % 300)
            seen.add(answer.index)
        self.assertEqual(seen, set(range(500)))

    def test_answers_come_while_requests_are_still_read(self):
        given = []

        def endless():
            for number, request in enumerate(requests(10**9)):
                given.append(number)
                yield request

        for count, _ in enumerate(self.client.submit(endless(), in_flight=8), 1):
            if count == 20:
                break
        self.assertLessEqual(len(given), 20 + 8 + 1)

    def test_a_refused_request_has_its_error_and_the_others_go_on(self):
        mixed = [bo.decode_request(LLRS, CODE, scale_factor=factor) for factor in (0.75, 2.0, 0.75)]
        answers = {answer.index: answer for answer in self.client.submit(mixed)}
        self.assertIsInstance(answers[1].error, bo.InvalidArgument)
        self.assertIn("scale_factor 2 is not in (0, 1]", answers[1].error.message)
        with self.assertRaises(bo.InvalidArgument):
            answers[1].result()
        for index in (0, 2):
            self.assertTrue(answers[index].result().parity_ok.all())

    def test_all_operations_travel_on_one_stream(self):
        block = bo.TransportBlock(tb_bytes=100, g=2000, qm=2, base_graph=2)
        data = np.arange(100, dtype=np.uint8)
        with self.client.open_submit_stream() as stream:
            futures = [
                stream.submit(bo.encode_request(np.zeros(324, np.uint8), CODE)),
                stream.submit(bo.decode_request(LLRS, CODE), priority="high", timeout=60),
                stream.submit(bo.recover_carrier_request(np.exp(2j * np.pi * 0.01 * np.arange(99)), "QPSK")),
                stream.submit(bo.downconvert_request(np.zeros(9, np.int8), 1e6, [bo.Channel(0, taps=np.ones(2))])),
                stream.submit(bo.encode_shared_channel_request(data, block)),
            ]
        results = [future.result(timeout=0) for future in futures]
        self.assertEqual(results[0].bits.size, 324)
        self.assertAlmostEqual(float(results[2].frequency), 0.01, places=4)
        decoded = self.client.call(bo.decode_shared_channel_request(
            np.where(np.unpackbits(results[4].sent), np.int8(-9), np.int8(9)), block))
        np.testing.assert_array_equal(decoded.data, data)

    def test_without_credits_it_waits_or_says_so(self):
        self.server.inject("stall", "--stall=1s")
        with self.client.open_submit_stream() as stream:
            futures = [stream.submit(request) for request in requests(1)]
            with self.assertRaises(bo.ResourceExhausted) as caught:
                for request in requests(1000):
                    futures.append(stream.submit(request, wait_for_credits=False))
            self.assertIn("no credits", caught.exception.message)
            futures.append(stream.submit(next(requests(1))))  # waits
        self.assertTrue(all(future.exception(timeout=0) is None for future in futures))

    def test_a_request_s_timeout_ends_it_alone(self):
        with self.client.open_submit_stream() as stream:
            stream.submit(next(requests(1))).result()
            self.server.inject("stall", "--stall=1s")
            late = stream.submit(bo.decode_request(LLRS, CODE), timeout=0.2)
            self.assertIsInstance(late.exception(), bo.DeadlineExceeded)
            self.assertTrue(stream.submit(bo.decode_request(LLRS, CODE)).result().parity_ok.all())

    def test_a_stream_that_is_left_by_an_error_cancels_what_it_has(self):
        self.server.inject("stall", "--stall=1s")
        with self.assertRaises(KeyError), self.client.open_submit_stream() as stream:
            future = stream.submit(bo.decode_request(LLRS, CODE))
            raise KeyError
        self.assertIsInstance(future.exception(timeout=60), bo.Cancelled)
        with self.assertRaises(bo.FailedPrecondition):
            stream.submit(next(requests(1)))

    def test_a_client_that_is_closed_cancels_all(self):
        client = self.server.client()
        stream = client.open_submit_stream()
        stream.submit(bo.decode_request(LLRS, CODE)).result()
        self.server.inject("stall", "--stall=1s")
        future = stream.submit(bo.decode_request(LLRS, CODE))
        client.close()
        self.assertIsInstance(future.exception(timeout=60), bo.Cancelled)
        for late in (lambda: client.decode(LLRS, CODE), lambda: stream.submit(bo.decode_request(LLRS, CODE))):
            with self.assertRaises(bo.Cancelled):
                late()
        stream.finish()

    def test_a_search_is_no_request_of_a_stream(self):
        with self.client.open_submit_stream() as stream, self.assertRaises(ValueError):
            stream.submit(bo.minimize_request("x", [bo.Axis(0, 1, 2)]))


class FakeServerTest(unittest.TestCase):
    """What a good server does not do, or not at that moment."""

    def open(self, answer, **options):
        server = self.enterContext(support.FakeServer(answer))
        client = self.enterContext(bo.Client(server.target, max_attempts=1))
        return server, client, client.open_submit_stream(**options)

    def assert_ends(self, stream):
        finish = threading.Thread(target=stream.finish, daemon=True)
        finish.start()
        for thread in (finish, stream._keeper):
            thread.join(30)
            self.assertFalse(thread.is_alive(), thread.name)
        self.assertEqual(stream.in_flight, 0)

    def test_what_is_answered_is_not_kept_until_its_deadline(self):
        _, _, stream = self.open(support.encoded)
        for request in requests(300):
            stream.submit(request, timeout=600).result(timeout=60)
        self.assertLessEqual(len(stream._deadlines), 67)
        for _, _, item in stream._deadlines:
            self.assertEqual((item.request, item.parts), (None, []))
        self.assert_ends(stream)

    def test_an_answer_beside_its_deadline_is_the_only_one(self):
        _, _, stream = self.open(support.encoded)
        stream.submit(next(requests(1))).result(timeout=60)
        is_late = threading.Event()

        def read(_):  # the deadline passes meanwhile
            is_late.wait(1)
            return "answer"

        slow = dataclasses.replace(next(requests(1)), read=read)
        self.assertEqual(stream.submit(slow, timeout=0.5).result(timeout=60), "answer")
        self.assert_ends(stream)

    def test_an_answer_that_cannot_be_read_is_internal(self):
        for answer in (b"\xff\xff\xff", b"\x08\xff", b"\x0d\x01\x00\x00\x00\x80", b"\x08" + b"\xff" * 11):
            with self.subTest(answer):
                _, _, stream = self.open(lambda _: answer)
                futures = [stream.submit(request) for request in requests(3)]
                for future in futures:
                    self.assertIsInstance(future.exception(timeout=60), bo.Internal)
                self.assert_ends(stream)

    def test_an_error_of_who_reads_an_answer_is_its_future_s(self):
        def read(_):
            raise ZeroDivisionError

        _, _, stream = self.open(support.encoded)
        future = stream.submit(dataclasses.replace(next(requests(1)), read=read))
        self.assertIsInstance(future.exception(timeout=60), ZeroDivisionError)
        self.assertEqual(stream.submit(next(requests(1))).result(timeout=60).bits.shape, (648,))
        self.assert_ends(stream)

    def test_a_client_that_is_closed_ends_stream_and_threads(self):
        for timeout in (None, 60):
            with self.subTest(timeout):
                server, client, stream = self.open(lambda _: None)
                futures = [stream.submit(request, timeout=timeout) for request in requests(20)]
                self.assertTrue(server.began.wait(60))
                client.close()
                for future in futures:
                    self.assertIsInstance(future.exception(timeout=60), bo.Cancelled)
                self.assert_ends(stream)

    def test_a_client_that_is_closed_before_a_request_is_sent_again_cancels_it(self):
        def refuse(request):
            return _messages.message("SubmitResponse", id=request.id, code=14, retry_after_us=500000).SerializeToString()

        server = self.enterContext(support.FakeServer(refuse))
        client = self.enterContext(bo.Client(server.target, max_attempts=5))
        stream = client.open_submit_stream()
        future = stream.submit(next(requests(1)))
        self.assertTrue(server.began.wait(60))
        time.sleep(0.2)
        client.close()
        self.assertIsInstance(future.exception(timeout=60), bo.Cancelled)
        self.assert_ends(stream)


class RestartTest(unittest.TestCase):
    def test_a_server_that_is_started_anew_loses_no_request(self):
        for how in ("kill", "stop"):
            with self.subTest(how), support.Server() as server, server.client(**PATIENT) as client:
                seen = []
                for answer in client.submit(requests(3000), in_flight=32):
                    self.assertEqual(answer.result().bits[:324].sum(), answer.index % 300)
                    seen.append(answer.index)
                    if len(seen) == 1000:
                        getattr(server, how)()
                        server.start()
                self.assertEqual(sorted(seen), list(range(3000)))

    def test_who_waits_for_ready_loses_no_request_of_an_outage(self):
        """Of three times what the attempts of one who does not wait last."""
        with support.Server() as server, server.client() as client:
            llrs = np.full((4, CODE.sent), 40, np.int8)

            def requests():
                for number in range(60):
                    if number == 30:
                        server.kill()
                        threading.Timer(2.0, server.start).start()
                    yield bo.decode_request(llrs, CODE)

            answers = list(client.submit(requests(), in_flight=8, wait_for_ready=True))
            self.assertEqual([answer.error for answer in answers], [None] * 60)

    def test_one_that_does_not_come_back_is_unavailable(self):
        with support.Server() as server, server.client(initial_backoff=0.01, max_backoff=0.02) as client:
            answers = client.submit(requests(12), in_flight=4)
            next(answers).result()
            server.kill()
            errors = [answer.error for answer in answers if answer.error]
            self.assertTrue(errors)
            for error in errors:
                self.assertIsInstance(error, bo.Unavailable)

    def test_calls_survive_a_restart(self):
        with support.Server() as server, server.client(**PATIENT) as client:
            threading.Timer(0.3, lambda: (server.kill(), server.start())).start()
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                self.assertTrue(client.decode(LLRS, CODE).parity_ok.all())

    def test_a_signal_s_stream_is_unavailable_when_its_past_is_gone(self):
        with support.Server() as server, server.client() as client:
            pieces = (np.zeros(1000, np.complex64) for _ in iter(int, 1))
            found = client.downconvert_stream(pieces, 4e6, [bo.Channel(1e6, down=10, pass_edge_hz=1e5)])
            next(found)
            server.kill()
            with self.assertRaises(bo.Unavailable):
                for _ in found:
                    pass


class AsyncTest(support.ServerTest):
    def run_with_client(self, main):
        async def run():
            async with bo.AsyncClient(self.server.target) as client:
                return await main(client)

        return asyncio.run(run())

    def test_its_results_are_the_client_s(self):
        symbols = np.exp(2j * np.pi * 0.01 * np.arange(99))
        signal = np.exp(2j * np.pi * 0.1 * np.arange(4000)).astype(np.complex64)
        channels = [bo.Channel(1e5, down=4, pass_edge_hz=1e5)]
        axes = [bo.Axis.linspace(-1, 2, 301)]
        block = bo.TransportBlock(tb_bytes=100, g=2000, qm=2, base_graph=2)
        data = np.arange(100, dtype=np.uint8)

        async def main(client):
            return await asyncio.gather(
                client.encode(np.ones(324, np.uint8), CODE),
                client.decode(LLRS, CODE),
                client.recover_carrier(symbols, "QPSK"),
                client.downconvert(signal, 1e6, channels),
                client.minimize("(x - 1)^2", axes),
                client.encode_shared_channel(data, block),
                client.decode_shared_channel(np.full(2000, 9, np.int8), block),
                client.constellation("QPSK"),
                client.check_health(),
                client.get_capabilities(),
            )

        found = self.run_with_client(main)
        np.testing.assert_array_equal(found[0].bits, self.client.encode(np.ones(324, np.uint8), CODE).bits)
        np.testing.assert_array_equal(found[1].bits, self.client.decode(LLRS, CODE).bits)
        self.assertEqual(found[2].frequency, self.client.recover_carrier(symbols, "QPSK").frequency)
        np.testing.assert_array_equal(found[3].channels[0], self.client.downconvert(signal, 1e6, channels).channels[0])
        self.assertEqual(found[4].point, [1.0])
        np.testing.assert_array_equal(found[5].sent, self.client.encode_shared_channel(data, block).sent)
        self.assertTrue(found[6].crc_ok)  # zeros have a right CRC
        np.testing.assert_array_equal(found[7], self.client.constellation("QPSK"))
        self.assertEqual((found[8], found[9]["devices"][0]["kind"]), ("serving", "cpu"))

    def test_many_in_flight_have_their_answers_as_they_come(self):
        async def source():
            for request in requests(300):
                yield request

        async def main(client):
            seen = []
            async for answer in client.submit(source(), in_flight=16):
                self.assertEqual(answer.result().bits[:324].sum(), answer.index)
                seen.append(answer.index)
            return seen

        self.assertEqual(sorted(self.run_with_client(main)), list(range(300)))

    def test_a_stream_of_pieces_and_a_search_that_is_left(self):
        async def main(client):
            pieces = (np.zeros(1000, np.complex64) for _ in range(5))
            channels = [bo.Channel(1e6, down=10, pass_edge_hz=1e5)]
            ends = [found.next_sample async for found in client.downconvert_stream(pieces, 4e6, channels)]
            axes = [bo.Axis.linspace(-500, 500, 1201)] * 3
            async for now in client.search(bo.minimize_request(bo.Schwefel(), axes, progress_interval=0.01)):
                break
            return ends, now

        ends, now = self.run_with_client(main)
        self.assertEqual(ends, [1000, 2000, 3000, 4000, 5000])
        self.assertIsInstance(now, bo.Progress)

    def test_errors_are_the_client_s_and_a_cancelled_task_ends(self):
        async def main(client):
            with self.assertRaises(bo.InvalidArgument):
                await client.decode(LLRS, CODE, scale_factor=2.0)
            self.server.inject("stall", "--stall=1s")
            call = asyncio.create_task(client.decode(LLRS, CODE))
            await asyncio.sleep(0.1)
            call.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await call
            return (await client.decode(LLRS, CODE)).parity_ok.all()

        self.assertTrue(self.run_with_client(main))

    def test_nobody_there_is_unavailable(self):
        async def main():
            async with bo.AsyncClient("unix:/nowhere", initial_backoff=0.01, max_backoff=0.02) as client:
                await client.decode(LLRS, CODE)

        with self.assertRaises(bo.Unavailable):
            asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
