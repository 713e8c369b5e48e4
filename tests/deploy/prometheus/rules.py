"""deploy/prometheus/rules.yml, as it is and in a hurry."""

import copy
import pathlib
import re

import yaml

import promql

PROJECT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = PROJECT / "deploy" / "prometheus"

# What the rules call a minute is a second in the tests: the shortest range, 5m, still holds five
# samples of a scrape interval of 1 s.
HURRY = 60
SHORTEST_RANGE_S = 4


def load(name="rules.yml"):
    return yaml.safe_load((FOLDER / name).read_text())


def all_rules(document):
    return [rule for group in document["groups"] for rule in group["rules"]]


def alerts(document):
    """By name."""
    return {rule["alert"]: rule for rule in all_rules(document) if "alert" in rule}


def hurried(document, factor=HURRY):
    """A copy in which all durations, and nothing else, are divided by `factor`."""
    result = copy.deepcopy(document)
    for rule in all_rules(result):
        rule["expr"] = promql.divide_durations(rule["expr"], factor)
        if "for" in rule:
            rule["for"] = promql.divide_duration(rule["for"], factor)
    return result


def without_durations(document):
    """A copy with a D in place of each duration: found otherwise than `hurried` finds them."""
    result = copy.deepcopy(document)
    for rule in all_rules(result):
        rule["expr"] = re.sub(r"\b\d+(ms|[smhdwy])\b", "D", rule["expr"])
        if "for" in rule:
            rule["for"] = "D"
    return result


def ranges_s(document):
    """The ranges of all expressions, in seconds."""
    text = " ".join(rule["expr"] for rule in all_rules(document))
    return [promql.to_seconds(r) for r in re.findall(r"\[(\w+)\]", text)]
