"""A real Prometheus that looks every second, as deploy/prometheus/prometheus.yml tells it to."""

import json
import math
import time
import urllib.parse
import urllib.request

import yaml

import rules
from processes import Process, free_port, wait_for

INTERVAL = "1s"


class Prometheus:
    """Scrapes `instances`, evaluates `rule_document`; its data lies in `folder`."""

    def __init__(self, folder, instances, rule_document):
        config = yaml.safe_load((rules.FOLDER / "prometheus.yml").read_text())
        config["global"] = {"scrape_interval": INTERVAL, "evaluation_interval": INTERVAL}
        (folder / "targets").mkdir()
        for name, document in {
            "prometheus.yml": config,
            "rules.yml": rule_document,
            "targets/test.yml": [{"targets": list(instances)}],
        }.items():
            (folder / name).write_text(yaml.safe_dump(document, sort_keys=False))
        self._address = f"127.0.0.1:{free_port()}"
        self._since = time.time()
        self._process = Process(
            [
                "prometheus",
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address={self._address}",
                "--log.level=warn",
            ],
            folder / "prometheus.log",
        )

    def __enter__(self):
        wait_for(lambda: f"Prometheus is ready\n{self._process.text()}", self._is_ready)
        return self

    def __exit__(self, *unused):
        self._process.__exit__(*unused)

    def _is_ready(self):
        if not self._process.is_running():
            raise RuntimeError(f"Prometheus has ended:\n{self._process.text()}")
        try:
            with urllib.request.urlopen(f"http://{self._address}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def query(self, expr):
        """The instant vector (or scalar) now: a list of (labels, value)."""
        url = f"http://{self._address}/api/v1/query?" + urllib.parse.urlencode({"query": expr})
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                data = json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{expr}: {error.read().decode()}") from error
        if data["resultType"] == "scalar":
            return [({}, float(data["result"][1]))]
        return [(one["metric"], float(one["value"][1])) for one in data["result"]]

    def has_numbers(self, expr):
        """Whether a query has any result that is a number."""
        return any(math.isfinite(value) for _, value in self.query(expr))

    def forget_what_fired(self):
        self._since = time.time()

    def fired(self):
        """(alert, instance) of all that has fired, or did so when forget_what_fired was called;
        instance is "" where there is none."""
        past_s = int(time.time() - self._since) + 1
        result = self.query(f'last_over_time(ALERTS{{alertstate="firing"}}[{past_s}s])')
        return {(labels["alertname"], labels.get("instance", "")) for labels, _ in result}

    def wait_until_fired(self, alerts):
        """For all of `alerts`, as `fired` has them."""
        wait_for(
            lambda: f"{sorted(alerts - self.fired())} to fire",
            lambda: alerts <= self.fired(),
            limit_s=180,
        )
