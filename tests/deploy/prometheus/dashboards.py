"""deploy/grafana/*.json: the dashboards, and the queries that Grafana makes of them."""

import json

from rules import PROJECT

FOLDER = PROJECT / "deploy" / "grafana"
FILES = ("operators.json", "radio.json")


def load(name):
    return json.loads((FOLDER / name).read_text())


def panels(dashboard):
    """All but the headings of rows."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries(dashboard):
    """(what asks, expression with Grafana's variables) of all panels and annotations."""
    found = [
        (f"{dashboard['title']}: {panel['title']} {target['refId']}", target["expr"])
        for panel in panels(dashboard)
        for target in panel.get("targets", [])
    ]
    found += [
        (f"{dashboard['title']}: annotation {annotation['name']}", annotation["expr"])
        for annotation in dashboard["annotations"]["list"]
    ]
    return found


def variables(dashboard):
    return {variable["name"]: variable for variable in dashboard["templating"]["list"]}


def interpolated(expr, values):
    """`expr` with `values` in place of variables, the longest names first."""
    for name in sorted(values, key=len, reverse=True):
        expr = expr.replace("$" + name, values[name])
    if "$" in expr:
        raise ValueError(f"a variable is left in {expr}")
    return expr
