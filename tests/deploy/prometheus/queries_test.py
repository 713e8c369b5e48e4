"""Under load, each panel of the dashboards and each selector of the rules has data."""

import contextlib
import pathlib
import tempfile
import unittest

import dashboards
import promql
import rules
from gpu_page import GpuPage
from processes import Basebandd, wait_for
from prometheus import Prometheus

MIX = rules.PROJECT / "tests" / "soak" / "mix.json"
# What Grafana makes of its variables: $__rate_interval is four scrape intervals of 1 s.
VALUES = {"instance": ".*", "slot": "0.001", "__rate_interval": "4s"}


class QueriesTest(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(Basebandd(folder, "server"))
        gpu = stack.enter_context(GpuPage(folder))
        self.prometheus = stack.enter_context(
            Prometheus(folder, [server.instance, gpu.instance], rules.load())
        )
        # All operations, by calls that have a deadline; a light load that outlives the test.
        load = ("--rate=60", "--deadline=5s", "--duration=1h")
        stack.enter_context(server.background("load", f"--scenario={MIX}", *load))
        stack.enter_context(server.harq())

    def expressions(self):
        """What must have data, by who asks it."""
        rpcs = "|".join(self.prometheus_label_values("baseband_batches_total", "rpc"))
        found = {}
        for name in dashboards.FILES:
            for who, expr in dashboards.queries(dashboards.load(name)):
                found[who] = dashboards.interpolated(expr, {**VALUES, "rpc": rpcs})
        for rule in rules.all_rules(rules.load()):
            for selector in promql.selectors(rule["expr"]):
                found[f"{rule.get('alert', rule.get('record'))}: {selector}"] = selector
        return found

    def prometheus_label_values(self, metric, label):
        result = self.prometheus.query(f"group by ({label}) ({metric})")
        return [labels[label] for labels, _ in result]

    def test_each_has_data(self):
        wait_for("a first scrape", lambda: self.prometheus.query("baseband_batches_total"))
        expressions = self.expressions()
        self.assertGreater(len(expressions), 100)
        missing = dict(expressions)

        def all_found():
            for who in [w for w, expr in missing.items() if self.prometheus.has_numbers(expr)]:
                del missing[who]
            return not missing

        wait_for(lambda: f"data of {missing}", all_found, limit_s=150, every_s=2)
        self.assertFalse(self.prometheus.has_numbers("rate(baseband_no_such_total[4s])"))


if __name__ == "__main__":
    unittest.main()
