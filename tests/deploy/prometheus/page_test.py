"""The metrics page of a server that has done work of every kind, and failed at some."""

import contextlib
import functools
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.request
import zlib

import names
import rules
from gpu_page import GpuPage
from processes import Basebandd, wait_for

MIX = rules.PROJECT / "tests" / "soak" / "mix.json"
MAX_PAGE_BYTES = 192 << 10  # deploy/README.md says so, of what is compressed, too
MAX_COMPRESSED_BYTES = 16 << 10
_SERIES = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def fetch(instance):
    with urllib.request.urlopen(f"http://{instance}/metrics", timeout=30) as answer:
        return answer.read().decode()


def promtool(page):
    """What it ends with, and says, of a page."""
    command = ["promtool", "check", "metrics"]
    told = subprocess.run(command, input=page, capture_output=True, text=True, check=False)
    return told.returncode, told.stdout, told.stderr


def series(page):
    """(name, labels, value) of each line that is one."""
    for line in page.splitlines():
        if not line.startswith("#"):
            name, labels, value = _SERIES.match(line).groups()
            yield name, dict(_LABEL.findall(labels or "")), float(value)


def families(page):
    """The metrics of a page by name, with the names of their labels."""
    found = {}
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", page, re.MULTILINE))
    for name, labels, _ in series(page):
        for end in names.HISTOGRAM_ENDS:
            if types.get(name.removesuffix(end)) == "histogram":
                name = name.removesuffix(end)
        found.setdefault(name, set()).add(frozenset(labels) - {"le"})
    return found


def total(page, metric, by, **labels):
    """The sums of a metric over the series that have `labels`, by the value of a label."""
    sums = {}
    for name, own, value in series(page):
        if name == metric and labels.items() <= own.items():
            sums[own[by]] = sums.get(own[by], 0) + value
    return sums


def served(page):
    """Requests that ended with OK, by operation."""
    return total(page, "baseband_requests_total", "rpc", code="OK")


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            gpu = stack.enter_context(GpuPage(folder))
            server = stack.enter_context(Basebandd(folder, "server"))
            cls.fresh = fetch(server.instance)
            cls.work(server)
            quiet = re.compile(r"^baseband_requests_in_flight\{.*\} [^0]", re.MULTILINE)
            wait_for("quiet", lambda: not quiet.search(fetch(server.instance)))
            cls.page = fetch(server.instance)
            cls.gpu_page = fetch(gpu.instance)

    @staticmethod
    def work(server):
        """Every operation, unary and by streams; and calls that end in other ways than with OK."""
        server.ctl("load", f"--scenario={MIX}", "--rate=60", "--duration=3s", "--warmup=0s")
        small = ("load", "encode", "--nr-bg=2", "--zc=64", "--rate=50")
        server.ctl(*small, "--duration=1s", "--stream")
        server.ctl("info")

        def has(reason):
            page = fetch(server.instance)
            return total(page, "baseband_requests_unserved_total", "reason")[reason] > 0

        with server.background(*small, "--duration=1h"):
            wait_for("traffic", lambda: served(fetch(server.instance))["Encode"] > 200)
            for fault, reason in (("fail", "failed"), ("no-memory", "staging_pool")):
                server.inject(fault, "--count=3")
                wait_for(reason, functools.partial(has, reason), every_s=0.2)

    def test_promtool_has_nothing_to_say(self):
        for page in (self.page, self.gpu_page):
            self.assertEqual(promtool(page), (0, "", ""))

    def test_promtool_would_say_it(self):
        wrong = "# HELP baseband_wrong_ms A.\n# TYPE baseband_wrong_ms gauge\nbaseband_wrong_ms 1\n"
        self.assertNotEqual(promtool(wrong), (0, "", ""))

    def test_it_has_the_metrics_of_the_list_with_their_labels_and_no_others(self):
        listed = names.metrics()
        shown = {**families(self.gpu_page), **families(self.page)}
        self.assertEqual(set(shown), set(listed))
        for name, labels in shown.items():
            self.assertEqual(labels, {listed[name].labels}, name)

    def test_each_says_what_it_is_in_a_sentence(self):
        told = re.findall(r"^# HELP (\w+) (.*)$", self.page + self.gpu_page, re.MULTILINE)
        self.assertEqual(dict(told), {name: m.help for name, m in names.metrics().items()})
        for name, sentence in told:
            self.assertRegex(sentence, r"^(1 if|[A-Z]).*\.$", name)

    def test_all_series_are_there_from_the_start_but_those_of_clients(self):
        def keys(page):
            return {
                (name, *sorted(labels.items()))
                for name, labels, _ in series(page)
                if name != "baseband_client_device_seconds_total"
            }

        self.assertEqual(keys(self.fresh), keys(self.page))

    def test_its_size_is_what_the_guide_says(self):
        sizes = f"less than {MAX_PAGE_BYTES >> 10} KiB, {MAX_COMPRESSED_BYTES >> 10} KiB compressed"
        self.assertIn(sizes, " ".join((rules.PROJECT / "deploy/README.md").read_text().split()))
        self.assertLess(len(self.page), MAX_PAGE_BYTES)
        self.assertLess(len(zlib.compress(self.page.encode())), MAX_COMPRESSED_BYTES)

    def test_work_of_every_kind_was_done(self):
        ended = served(self.page)
        coding = ("Encode", "Decode", "EncodeSharedChannel", "DecodeSharedChannel")
        for rpc in (*coding, "RecoverCarrier", "Downconvert", "Minimize", "Submit", "Admin"):
            self.assertGreater(ended[rpc], 0, rpc)
        blocks = total(self.page, "baseband_transport_blocks_total", "rpc")
        self.assertEqual(set(blocks), {"EncodeSharedChannel", "DecodeSharedChannel"})
        self.assertGreater(min(blocks.values()), 0)

    def test_each_request_that_did_not_end_with_ok_has_one_reason(self):
        ended = total(self.page, "baseband_requests_total", "rpc")
        good = served(self.page)
        unserved = total(self.page, "baseband_requests_unserved_total", "rpc")
        self.assertEqual(unserved, {rpc: ended[rpc] - good[rpc] for rpc in ended})
        reasons = total(self.page, "baseband_requests_unserved_total", "reason")
        self.assertEqual(set(reasons), set(names.reasons()))
        for reason in ("failed", "staging_pool"):
            self.assertGreater(reasons[reason], 0, reason)


if __name__ == "__main__":
    unittest.main()
