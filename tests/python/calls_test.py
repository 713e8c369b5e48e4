"""What calls say of themselves before their request is read."""

import asyncio
import concurrent.futures
import unittest

import grpc
import numpy as np

import baseband_offload as bo

CODE = bo.WifiCode("1/2", 648)


class NotingServer(grpc.GenericRpcHandler):
    """Refuses every call that has one request. `calls` holds how many bytes that had, and all that the call
    announced."""

    def __init__(self):
        self.calls = []
        self.timeouts = []
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers((self,))
        self.target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def __enter__(self):
        self._server.start()
        return self

    def __exit__(self, *_):
        self._server.stop(0).wait(60)

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self._note)

    def _note(self, message, context):
        metadata = list(context.invocation_metadata())
        announced = [value for key, value in metadata if key == "baseband-request-bytes"]
        self.calls.append((len(message), announced))
        self.timeouts.append([int(value) for key, value in metadata if key == "baseband-timeout-us"])
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "noted")


class AnnouncedBytesTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(NotingServer())
        self.client = self.enterContext(bo.Client(self.server.target))

    def refused(self, call, *arguments):
        with self.assertRaises(bo.InvalidArgument):
            call(*arguments)
        return self.server.calls[-1]

    def test_a_call_announces_the_bytes_of_a_large_request_and_of_no_small_one(self):
        for blocks, is_large in ((1, False), (25, False), (26, True), (1000, True)):
            size, announced = self.refused(self.client.decode, np.zeros((blocks, 648), np.int8), CODE)
            self.assertEqual(size > 16 << 10, is_large)
            self.assertEqual(announced, [str(size)] if is_large else [])

    def test_a_call_of_less_than_a_second_says_how_many_microseconds_it_has(self):
        word = np.zeros((1, 648), np.int8)
        self.refused(self.client.decode, word, CODE)
        self.refused(lambda: self.client.decode(word, CODE, options=bo.CallOptions(timeout=0.9)))
        without, (us,) = self.server.timeouts
        self.assertEqual(without, [])
        self.assertGreater(us, 1000)  # not milliseconds
        self.assertLessEqual(us, 900_000)

    def test_so_does_a_search(self):
        signal = bo.Sinusoids(np.ones(4000), 1.0)
        size, announced = self.refused(self.client.minimize, signal, [bo.Axis(0.1, 0.1, 3)])
        self.assertEqual(announced, [str(size)])

    def test_so_does_a_call_of_asyncio(self):
        async def decode():
            async with bo.AsyncClient(self.server.target) as client:
                await client.decode(np.zeros((100, 648), np.int8), CODE)

        size, announced = self.refused(asyncio.run, decode())
        self.assertEqual(announced, [str(size)])


if __name__ == "__main__":
    unittest.main()
