"""common/metric_names.h and the reasons in server/metrics/unserved.h, read as text."""

import re
from typing import NamedTuple

import rules

_FILE = rules.PROJECT / "common" / "metric_names.h"
_REASONS = rules.PROJECT / "server" / "metrics" / "unserved.h"
_METRIC = re.compile(r'Metric k\w+ = \{\s*"(\w+)",\s*"([\w ]*)",\s*((?:"[^"]*"\s*)+)\}')
HISTOGRAM_ENDS = ("_bucket", "_sum", "_count")


class Metric(NamedTuple):
    labels: frozenset
    help: str


def metrics():
    """What stands in the list, by name."""
    text = _FILE.read_text()
    found = {
        name: Metric(frozenset(labels.split()), "".join(re.findall(r'"([^"]*)"', told)))
        for name, labels, told in _METRIC.findall(text)
    }
    assert len(found) == text.count("inline constexpr Metric "), "a line of another form"
    return found


def series_names():
    """The names that series may have, those of histograms included."""
    plain = set(metrics())
    return plain | {name + end for name in plain for end in HISTOGRAM_ENDS}


def reasons():
    """Why a request may not be served."""
    array = re.search(r"kUnservedReasonNames = \{(.*?)\};", _REASONS.read_text(), re.DOTALL)
    return re.findall(r'"(\w+)"', array.group(1))
