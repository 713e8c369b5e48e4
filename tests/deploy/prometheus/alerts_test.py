"""Each alert fires when its cause is there, and none before.

The rules wait for minutes and hours; here they are hurried, see rules.py.
"""

import contextlib
import pathlib
import tempfile
import unittest

import provocations
import rules
from certificates import Certificates
from gpu_page import GpuPage
from processes import Basebandd, free_port, wait_for
from prometheus import Prometheus

MAX_CONNECTIONS = 8
# A minute without a scrape is a second here, which a busy machine may well take.
SCRAPES_LATE = {"BasebandDown", "BasebandAbsent"}


class AlertsTest(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.servers = []

    def server(self, name, *flags):
        server = self.stack.enter_context(Basebandd(self.folder, name, *flags))
        self.servers.append(server)
        return server

    def test_each_fires_for_its_cause(self):
        stack = self.stack
        files = Certificates(self.folder)
        files.issue(days=90)
        # A stalled lane is no lost device here.
        small = ("--staging-mib=8", "--max-request-mib=4", "--lane-input-mib=8")
        overloaded = self.server("overloaded", "--watchdog=0s", *small)
        narrow = self.server("narrow")
        late = self.server("late")
        failing = self.server("failing")
        radio = self.server("radio")
        forgetful = self.server("forgetful", "--object-mib=0")
        crowded = self.server("crowded", f"--max-connections={MAX_CONNECTIONS}")
        port = free_port()
        flooded = self.server("flooded", f"--listen=127.0.0.1:{port}")
        door = self.server(
            *("door", "--listen=127.0.0.1:0"),
            *(f"--tls-cert={files.certificate}", f"--tls-key={files.key}"),
        )
        mortal = self.server("mortal", "--stall=1h")
        (self.folder / "tokens").write_text(f"somebody user {'0' * 64}\n", encoding="ascii")
        guarded = self.server("guarded", f"--tokens-file={self.folder}/tokens")
        tight = self.server("tight", "--watchdog=0s", "--memory-mib=100", "--drain=1s")
        gpu = stack.enter_context(GpuPage(self.folder))

        instances = [server.instance for server in self.servers] + [gpu.instance]
        hurried = rules.hurried(rules.load())
        prometheus = stack.enter_context(Prometheus(self.folder, instances, hurried))
        wait_for("targets", lambda: len(prometheus.query("up == 1")) == len(instances))
        seen = f"min(count_over_time(up[1m])) > {rules.SHORTEST_RANGE_S * 2}"
        wait_for("a while of calm", lambda: prometheus.query(seen))
        self.assertEqual({alert for alert, _ in prometheus.fired()} - SCRAPES_LATE, set())
        prometheus.forget_what_fired()

        with contextlib.ExitStack() as going_on:
            expected = provocations.overload(going_on, prometheus, overloaded)
            expected |= provocations.lateness(going_on, prometheus, late)
            expected |= provocations.failures(going_on, prometheus, failing)
            expected |= provocations.bad_radio(going_on, radio)
            expected |= provocations.forgotten_soft_bits(going_on, forgetful)
            expected |= provocations.crowd(going_on, prometheus, crowded, MAX_CONNECTIONS)
            expected |= provocations.strangers(going_on, flooded, port)
            expected |= provocations.guesses(going_on, guarded)
            expected |= provocations.scarce_memory(going_on, prometheus, tight)
            expected |= provocations.no_memory(going_on, prometheus, door)
            expected |= provocations.gpu_trouble(prometheus, gpu)
            expected |= provocations.full_way_in(prometheus, narrow)
            expected |= provocations.certificates(prometheus, door, files)
            expected |= provocations.device_fault(mortal)
            expected |= provocations.losses(prometheus, mortal)
            prometheus.wait_until_fired(expected)

        absent = ("BasebandAbsent", "")
        self.assertNotIn(absent, prometheus.fired())
        for one in (*self.servers, gpu):
            one.end()
        prometheus.wait_until_fired({absent})
        expected.add(absent)
        self.assertEqual({alert for alert, _ in expected}, set(rules.alerts(hurried)))


if __name__ == "__main__":
    unittest.main()
