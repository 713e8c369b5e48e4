"""Servers that go, come back, hang, refuse and lie, under a flow graph."""

import contextlib
import signal
import unittest

import numpy as np
from gnuradio import baseband_offload as bo

import support
from support import Flow, wait_for

CODE = bo.ldpc_code.wimax("1/2", 576)
BYTES = CODE.k // 8
PER_S = 1000  # frames that come


def numbered(frames):
    """Frames of information that tell which they are, packed."""
    information = np.zeros((frames, BYTES), np.uint8)
    information[:, :4] = np.arange(frames, dtype=">u4").view(np.uint8).reshape(-1, 4)
    return information


def number_of(word):
    return int.from_bytes(bytes(word[:4]), "big")


class FailuresTest(support.ServerTest):
    def encoder(self, **options):
        return bo.ldpc_encoder(CODE, self.connection(in_flight=4, **options))

    def flow(self, block, frames, gate):
        """Frames, of which those from the `gate`-th on come when they are released."""
        return Flow(block, numbered(frames).reshape(-1), items_per_s=PER_S * BYTES, gate=gate * BYTES)

    def words(self, flow):
        return flow.data().reshape(-1, CODE.n // 8)

    @contextlib.contextmanager
    def restart(self, block, after):
        """Kills the server when so many frames are through, and starts it when the block is out."""
        wait_for("frames", lambda: block.counts().answered >= after)
        self.server.end(signal.SIGKILL)
        yield
        self.server.start()

    def test_push_back_loses_nothing_when_the_server_is_started_anew(self):
        frames = 5000
        block = self.encoder()
        with self.flow(block, frames, gate=4000) as flow:
            with self.restart(block, 200):
                wait_for("failing", lambda: "failing" in flow.messages["status"].states())
            flow.source.release()
            flow.wait()
        self.assertEqual([number_of(word) for word in self.words(flow)], list(range(frames)))
        counts = block.counts()
        self.assertEqual((counts.answered, counts.dropped), (frames, 0))
        wait_for("the messages", lambda: flow.messages["status"].states() == ["failing", "serving"])
        self.assertEqual({message["action"] for message in flow.messages["status"].kept()}, {"push_back"})
        self.assertNotIn("dropped", [key for tags in flow.tags().values() for key in tags])

    def test_drop_counts_and_tags_what_is_lost(self):
        block = self.encoder(on_failure=bo.failure_policy.drop)
        with self.flow(block, 100_000, gate=4000) as flow:
            with self.restart(block, 200):
                wait_for("dropped frames", lambda: block.counts().dropped >= 50)
            flow.source.release()
            wait_for("frames of the new server", lambda: "serving" in flow.messages["status"].states())
            flow.source.end()
            flow.wait()
        numbers = [number_of(word) for word in self.words(flow)]
        counts = block.counts()
        self.assertEqual(counts.answered, len(numbers))
        self.assertEqual(counts.dropped, counts.taken - len(numbers))
        self.assertEqual(numbers, sorted(set(numbers)))
        # A tag says of each gap how wide it is.
        gaps = {i * CODE.n // 8: number - before - 1
                for i, (before, number) in enumerate(zip([-1, *numbers], numbers)) if number != before + 1}
        self.assertEqual({place: tags["dropped"] for place, tags in flow.tags().items()}, gaps)
        kept = flow.messages["status"].kept()
        self.assertEqual([m["state"] for m in kept if m["state"] in ("failing", "serving")], ["failing", "serving"])
        self.assertEqual(max(m["dropped"] for m in kept), counts.dropped)

    def test_an_end_without_a_server_is_over_when_all_is_dropped(self):
        block = bo.ldpc_encoder(CODE, bo.connection("127.0.0.1:1", on_failure=bo.failure_policy.drop))
        flow = Flow(block, numbered(50).reshape(-1))
        self.assertEqual(len(flow.run()), 0)
        self.assertEqual(block.counts().dropped, 50)

    def test_a_slow_server_makes_the_flow_graph_wait(self):
        self.server.inject("stall", "--stall=1s", "--count=1")
        block = self.encoder()
        flow = Flow(block, numbered(300).reshape(-1))
        flow.run()
        self.assertEqual([number_of(word) for word in self.words(flow)], list(range(300)))
        self.assertEqual(flow.messages["status"].kept(), [])

    def test_push_back_waits_for_a_server_that_is_full(self):
        frames = 1000
        with support.processes.Basebandd(self.folder, "full", "--queue-requests=1") as server:
            server.inject("stall", "--stall=1s", "--count=1000")  # each batch, until it is taken back
            # Of at most 28 frames a request: many more requests than the server takes at a time.
            block = bo.ldpc_encoder(CODE, bo.connection(server.target, in_flight=16, request_kib=1))
            with Flow(block, numbered(frames).reshape(-1)) as flow:
                wait_for("failing", lambda: "failing" in flow.messages["status"].states())
                server.inject("stall", "--stall=1ms", "--count=1")
                flow.wait()
        self.assertIn("RESOURCE_EXHAUSTED", flow.messages["status"].kept()[0]["error"])
        self.assertLessEqual(set(flow.messages["status"].states()), {"failing", "serving"})
        self.assertEqual([number_of(word) for word in self.words(flow)], list(range(frames)))
        self.assertEqual(block.counts().dropped, 0)

    def test_a_device_that_fails_is_asked_again(self):
        self.server.inject("fail", "--count=1")
        block = self.encoder()
        flow = Flow(block, numbered(100).reshape(-1))
        flow.run()
        wait_for("the messages", lambda: flow.messages["status"].states() == ["failing", "serving"])
        self.assertEqual([number_of(word) for word in self.words(flow)], list(range(100)))

    def test_a_stop_does_not_wait_for_a_server_that_hangs(self):
        for policy in (bo.failure_policy.push_back, bo.failure_policy.drop):
            with support.silent_server() as target, self.subTest(str(policy)):
                block = bo.ldpc_encoder(CODE, bo.connection(target, in_flight=2, timeout_s=3600, on_failure=policy))
                with Flow(block, numbered(40000).reshape(-1)) as flow:
                    wait_for("frames", lambda: block.counts().taken > 0)
                    flow.top.stop()
                    flow.wait()  # in time
                self.assertEqual(block.counts().dropped, block.counts().taken)

    def test_who_takes_too_long_has_failed(self):
        with support.silent_server() as target:
            block = bo.ldpc_encoder(CODE, bo.connection(target, timeout_s=0.2, on_failure=bo.failure_policy.drop))
            flow = Flow(block, numbered(3).reshape(-1))
            flow.run()
            self.assertEqual(block.counts().dropped, 3)
            self.assertIn("DEADLINE_EXCEEDED", flow.messages["status"].kept()[0]["error"])

    def test_a_stopped_flow_graph_runs_again(self):
        block = self.encoder()
        with self.flow(block, 4000, gate=1000) as flow:
            wait_for("frames", lambda: block.counts().answered >= 50)
            flow.top.stop()
            flow.top.wait()
            before = block.counts().answered
            flow.source.release()
            flow.top.start()
            wait_for("frames of the second run", lambda: block.counts().answered > before)

    def test_a_request_at_which_a_device_fails_again_and_again_is_refused(self):
        self.server.inject("fail", "--count=100")
        flow = Flow(self.encoder(), numbered(1).reshape(-1))
        self.assertEqual(len(flow.run()), 0)
        wait_for("the messages", lambda: flow.messages["status"].states() == ["failing", "refused"])
        self.server.end(signal.SIGKILL)  # and what is left of the faults
        self.server.start()

    # Its parity part is singular: the server refuses to encode with it.
    SINGULAR = bo.ldpc_code.custom(2, 4, 8, [0] * 8)

    def test_a_refusal_ends_the_stream_where_nothing_is_to_be_lost(self):
        block = bo.ldpc_encoder(self.SINGULAR, self.connection())
        flow = Flow(block, np.zeros(2000, np.uint8))
        self.assertEqual(len(flow.run()), 0)
        self.assertEqual(flow.messages["status"].states()[:1], ["refused"])
        self.assertIn("INVALID_ARGUMENT", flow.messages["status"].kept()[0]["error"])

    def test_a_refusal_is_dropped_where_frames_may_be(self):
        block = bo.ldpc_encoder(self.SINGULAR, self.connection(on_failure=bo.failure_policy.drop))
        flow = Flow(block, np.zeros(2000, np.uint8))
        self.assertEqual(len(flow.run()), 0)
        self.assertEqual(block.counts().dropped, 1000)
        self.assertEqual(set(flow.messages["status"].states()), {"refused"})


if __name__ == "__main__":
    unittest.main()
