"""Rules, their unit tests, the runbook and the dashboards belong together."""

import re
import subprocess
import unittest

import dashboards
import names
import promql
import rules
from processes import program

SEVERITIES = {"critical", "warning"}
PROMETHEUS_OWN = {"ALERTS", "up"}

# Where metrics may be named, and words of that form that are none.
PLACES = ("README.md", "CONTRIBUTING.md", "client", "deploy", "docker", "kernels", "server", "tests")
KINDS = {".cc", ".cu", ".h", ".json", ".md", ".py", ".sh", ".yaml", ".yml"}
NO_METRICS = {
    *("baseband_status", "baseband_pb2", "baseband_pb2_grpc", "baseband_systemd_test"),
    *("baseband_device_busy_ratio", "baseband_queue_age_seconds"),  # prometheus-adapter makes them
    *("baseband_gpu_healthy", "baseband_queue_age"),  # mistakes that a test has to find
    *("baseband_no_such_total", "baseband_wrong_ms"),
    *("baseband_client_example", "baseband_client_stream_example"),  # programs
    *("baseband_bbdev", "baseband_c", "baseband_c_shared", "baseband_offload_static"),  # libraries
    *("baseband_offload", "baseband_offload0"),  # a driver of DPDK, and its first device
    *("baseband_gnuradio_python", "baseband_offload_python"),  # client/gnuradio, and its blocks in GRC
    "baseband_python",  # client/python
    *(f"baseband_offload_{block}" for block in ("carrier_recovery", "downconverter", "fec_decoder")),
    *("baseband_offload_ldpc_decoder", "baseband_offload_ldpc_encoder"),
    "baseband_is_sealed_memory",  # of common/shm/sealed_memory.h
}
# Functions in C, which knows no namespaces.
RING = (rules.PROJECT / "common/shm/ring.h").read_text()
FUNCTIONS = set(re.findall(r"\bbaseband_ring_\w+(?=\()", RING))


def run(*command):
    return subprocess.run(command, cwd=rules.FOLDER, capture_output=True, text=True, check=False)


def words_like_metrics():
    """(file, word) of all that has a metric's form, but for beginnings: they end in "_"."""
    for place in PLACES:
        top = rules.PROJECT / place
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.suffix in KINDS and "vectors" not in path.parts and path.is_file():
                text = path.read_text(errors="replace").replace("\\n", "\n")
                for word in re.findall(r"(?<![\w-])baseband_[a-z0-9_]*[a-z0-9]\b(?!_)", text):
                    yield path.relative_to(rules.PROJECT), word


def metrics_of(expr):
    return {selector.split("{")[0] for selector in promql.selectors(expr)}


class PromtoolTest(unittest.TestCase):
    def check(self, *command):
        result = run("promtool", *command)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_rules_are_right(self):
        self.check("check", "rules", "rules.yml")

    def test_the_configuration_is_right(self):
        self.check("check", "config", "prometheus.yml")

    def test_the_rules_do_what_their_unit_tests_say(self):
        self.check("test", "rules", "rules_test.yml")


class RulesTest(unittest.TestCase):
    def setUp(self):
        self.document = rules.load()
        self.alerts = rules.alerts(self.document)

    def test_each_alert_has_a_unit_test_in_which_it_fires_and_one_in_which_it_does_not(self):
        tests = rules.load("rules_test.yml")["tests"]
        cases = [case for test in tests for case in test["alert_rule_test"]]
        fires = {case["alertname"] for case in cases if case["exp_alerts"]}
        is_silent = {case["alertname"] for case in cases if not case["exp_alerts"]}
        self.assertEqual(fires, set(self.alerts))
        self.assertEqual(is_silent, set(self.alerts))

    def test_each_alert_says_how_bad_it_is_what_it_is_and_where_to_read_on(self):
        for name, rule in self.alerts.items():
            with self.subTest(name):
                self.assertTrue(name.startswith("Baseband"))
                self.assertIn(rule["labels"]["severity"], SEVERITIES)
                self.assertTrue(rule["annotations"]["summary"])
                self.assertTrue(rule["annotations"]["description"])
                link = f"deploy/prometheus/RUNBOOK.md#{name.lower()}"
                self.assertEqual(rule["annotations"]["runbook_url"], link)

    def test_the_runbook_has_an_entry_for_each_alert_and_for_nothing_else(self):
        runbook = (rules.FOLDER / "RUNBOOK.md").read_text()
        headings = re.findall(r"^### (\w+)$", runbook, re.MULTILINE)
        self.assertEqual(sorted(headings), sorted(self.alerts))

    def test_rules_use_metrics_that_there_are(self):
        recorded = {rule["record"] for rule in rules.all_rules(self.document) if "record" in rule}
        known = names.series_names() | recorded | PROMETHEUS_OWN
        for rule in rules.all_rules(self.document):
            self.assertEqual(metrics_of(rule["expr"]) - known, set(), rule)

    def test_in_a_hurry_nothing_but_durations_differs(self):
        hurried = rules.hurried(self.document)
        self.assertEqual(rules.without_durations(hurried), rules.without_durations(self.document))
        for slow, fast in zip(rules.ranges_s(self.document), rules.ranges_s(hurried)):
            self.assertEqual(slow, fast * rules.HURRY)
            self.assertGreaterEqual(fast, rules.SHORTEST_RANGE_S)

    def test_flags_that_are_named_exist(self):
        usage = run(program("basebandd"), "--help").stdout
        files = [*rules.FOLDER.glob("*.*"), *dashboards.FOLDER.glob("*.json")]
        named = re.findall(r"--([a-z]+-[a-z-]*[a-z])", "".join(path.read_text() for path in files))
        self.assertGreater(len(named), 20)
        self.assertEqual(set(named) - set(re.findall(r"--([a-z-]+)", usage)), set())


class NamesTest(unittest.TestCase):
    def test_whoever_names_a_metric_spells_it_as_the_list_does(self):
        document = rules.load()
        recorded = [rule.get("record", "") for rule in rules.all_rules(document)]
        groups = {group["name"] for group in document["groups"]}
        known = names.series_names() | groups | {name.split(":")[1] for name in recorded if name}
        found = list(words_like_metrics())
        self.assertGreater(len(found), 500)
        unknown = [(str(path), word) for path, word in found if word not in known | NO_METRICS | FUNCTIONS]
        self.assertEqual(unknown, [])
        self.assertLessEqual(NO_METRICS, {word for _, word in found})

    def test_names_are_as_prometheus_wants_them(self):
        for name in names.metrics():
            self.assertRegex(name, r"^(baseband|process)(_[a-z0-9]+)+$")
            for abbreviation in ("sec", "secs", "ms", "us", "byte", "num", "mem", "req", "conn"):
                self.assertNotIn(abbreviation, name.split("_"), name)

    def test_the_runbook_explains_each_reason_for_which_a_request_is_not_served(self):
        runbook = (rules.FOLDER / "RUNBOOK.md").read_text()
        entry = runbook[runbook.index("### BasebandRefusals") :]
        entry = entry[: entry.index("\n### ", 1)]
        explained = set(re.findall(r"`([a-z_]+)`", entry))
        self.assertEqual(set(names.reasons()) - explained, set())
        queried = re.findall(r'reason=~?\\?"([\w|.*]+)', (dashboards.FOLDER / "operators.json").read_text())
        for pattern in "|".join(queried).split("|"):
            known = [*names.reasons(), "thermal", "power", "hardware"]
            self.assertTrue(any(re.fullmatch(pattern, reason) for reason in known), pattern)


class DashboardsTest(unittest.TestCase):
    def setUp(self):
        self.dashboards = [dashboards.load(name) for name in dashboards.FILES]

    def test_each_panel_says_what_it_shows_and_in_which_unit(self):
        for dashboard in self.dashboards:
            for panel in dashboards.panels(dashboard):
                with self.subTest(f"{dashboard['title']}: {panel['title']}"):
                    self.assertTrue(panel["description"])
                    if panel["type"] != "text":
                        self.assertTrue(panel["fieldConfig"]["defaults"]["unit"])
                        self.assertEqual(panel["datasource"]["uid"], "${datasource}")
                        self.assertTrue(panel["targets"])

    def test_panels_have_their_own_numbers_and_places(self):
        for dashboard in self.dashboards:
            numbers = [panel["id"] for panel in dashboard["panels"]]
            self.assertEqual(len(numbers), len(set(numbers)))
            taken = set()
            for panel in dashboard["panels"]:
                at = panel["gridPos"]
                self.assertLessEqual(at["x"] + at["w"], 24)
                for x in range(at["x"], at["x"] + at["w"]):
                    for y in range(at["y"], at["y"] + at["h"]):
                        self.assertNotIn((x, y), taken, panel["title"])
                        taken.add((x, y))

    def test_variables_are_there(self):
        for dashboard in self.dashboards:
            variables = dashboards.variables(dashboard)
            self.assertLessEqual({"datasource", "instance", "rpc"}, set(variables))
            values = {name: "x" for name in (*variables, "__rate_interval")}
            for _, expr in dashboards.queries(dashboard):
                dashboards.interpolated(expr, values)

    def test_rates_follow_the_scrape_interval(self):
        for dashboard in self.dashboards:
            for who, expr in dashboards.queries(dashboard):
                for window in re.findall(r"rate\([^[]*\[([^]]*)\]", expr):
                    self.assertEqual(window, "$__rate_interval", who)

    def test_queries_use_metrics_that_there_are(self):
        recorded = {rule["record"] for rule in rules.all_rules(rules.load()) if "record" in rule}
        known = names.series_names() | recorded | PROMETHEUS_OWN
        for dashboard in self.dashboards:
            for who, expr in dashboards.queries(dashboard):
                variables = (*dashboards.variables(dashboard), "__rate_interval")
                plain = dashboards.interpolated(expr, {name: "1" for name in variables})
                self.assertEqual(metrics_of(plain) - known, set(), who)

    def test_provisioning_fits_prometheus_and_the_files(self):
        provisioning = dashboards.FOLDER / "provisioning"
        source = rules.yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text())
        config = rules.load("prometheus.yml")
        interval = source["datasources"][0]["jsonData"]["timeInterval"]
        self.assertEqual(interval, config["global"]["scrape_interval"])
        files = {path.name for path in dashboards.FOLDER.glob("*.json")}
        self.assertEqual(files, set(dashboards.FILES))


if __name__ == "__main__":
    unittest.main()
