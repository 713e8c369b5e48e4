"""All that has to hold in deploy/kubernetes: `problems` finds what does not."""
import json
import os
import pathlib
import re
import subprocess
import tempfile

import yaml

import basebandd
import comments
import envoy
import kustomize
import placement
import pods
import schema

# What is rendered: an overlay and components with it. Each component is in at least one.
CASES = {
    "base": ("base", ()),
    "gpu-rack": ("overlays/gpu-rack", ()),
    "cpu-lab": ("overlays/cpu-lab", ()),
    "node-socket": ("overlays/node-socket", ()),
    "mig": ("overlays/gpu-rack", ("mig",)),
    "rack": ("overlays/gpu-rack", ("autoscaling", "certificate", "monitoring")),
    "lab-scaled": ("overlays/cpu-lab", ("autoscaling",)),
    "node-slice": ("overlays/node-socket", ("mig", "monitoring")),
    "mps": ("overlays/gpu-rack", ("mps",)),
    "time-slicing": ("overlays/gpu-rack", ("time-slicing",)),
    "own-cores": ("overlays/gpu-rack", ("priority", "exclusive-cores")),
    "node-share": ("overlays/node-socket", ("exclusive-cores", "mps", "priority")),
    "envoy": ("overlays/gpu-rack", ("envoy",)),
    "edge": ("overlays/gpu-rack", ("monitoring", "metrics-token", "envoy", "certificate", "exclusive-cores", "mps")),
    "lab-cores": ("overlays/cpu-lab", ("exclusive-cores", "priority")),
}
# Whose settings the comments of a folder speak of; of all others: gpu-rack's.
SETTINGS_OF = {"overlays/cpu-lab": "cpu-lab", "overlays/node-socket": "node-socket", "components/mig": "mig",
               "components/mps": "mps", "components/time-slicing": "time-slicing",
               "components/envoy": "envoy"}


def write_case(tree, case, folder):
    """Writes the case's kustomization into `folder`, as a user would have it."""
    overlay, components = CASES[case]
    up = pathlib.PurePath(os.path.relpath(tree, folder))
    text = json.dumps({  # which is YAML too
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [str(up / overlay)], "components": [str(up / "components" / c) for c in components]})
    pathlib.Path(folder, "kustomization.yaml").write_text(text)


def problems(tree, program, metrics):
    """Of the manifests in `tree`, for this Basebandd; `metrics` are the names of all that it exports."""
    tree, found, settings = pathlib.Path(tree), [], {}
    for case in CASES:
        try:
            with tempfile.TemporaryDirectory() as folder:
                write_case(tree, case, folder)
                objects = kustomize.render(folder)
            found += [f"{case}: {p}" for o in objects for p in schema.problems(o)]
            found += [f"{case}: {p}" for p in _check_objects(objects, program, settings, case, tree)]
        except (kustomize.Unsupported, basebandd.Refused, KeyError, IndexError, TypeError) as error:
            found.append(f"{case}: {type(error).__name__}: {error}")
    for path in sorted(tree.rglob("*.yaml")):
        name = path.relative_to(tree)
        if name.name != "prometheus-rule.yaml":  # its numbers are those of deploy/prometheus
            of = settings.get(SETTINGS_OF.get(str(name.parent), "gpu-rack"), {})
            found += comments.problems(name, path.read_text(), program.flags, of)
    found += _check_components_used(tree)
    found += _check_adapter(tree, metrics)
    return found + list(_check_rule(tree))


def _check_objects(objects, program, all_settings, case, tree):
    by_kind = {}
    for o in objects:
        by_kind.setdefault(o["kind"], []).append(o)
    workloads = by_kind.get("Deployment", []) + by_kind.get("DaemonSet", [])
    if len(workloads) != 1:
        yield f"{len(workloads)} workloads"
        return
    workload = workloads[0]
    for o in objects:
        if o["kind"] not in kustomize.CLUSTER_WIDE and \
                o["metadata"].get("namespace") != workload["metadata"].get("namespace"):
            yield f"the {o['kind']} {o['metadata']['name']} is in another namespace than its pods"
    settings = pods.settings_of(workload, objects, program)
    all_settings[case] = settings
    yield from pods.problems(workload, settings, program.version)
    yield from _check_workload(workload)
    yield from placement.problems(tree, CASES[case][1], objects, workload, settings)
    if "envoy" in CASES[case][1]:
        yield from envoy.problems(objects, workload, settings)
    account = workload["spec"]["template"]["spec"]["serviceAccountName"]
    if [a["metadata"]["name"] for a in by_kind["ServiceAccount"]] != [account]:
        yield f"the service account {account} is not there"
    for o in by_kind.get("PodDisruptionBudget", []):
        if workload["kind"] == "DaemonSet" or not pods.is_selected(workload, o["spec"]["selector"]):
            yield "the PodDisruptionBudget protects nothing"
    yield from _check_service(by_kind["Service"], workload)
    yield from _check_policies(by_kind["NetworkPolicy"], workload)
    for o in by_kind.get("HorizontalPodAutoscaler", []):
        target = {key: workload[key] for key in ("apiVersion", "kind")}
        target["name"] = workload["metadata"]["name"]
        if o["spec"]["scaleTargetRef"] != target or "replicas" in workload["spec"]:
            yield "the autoscaler has no say in the number of pods"
    for o in by_kind.get("ServiceMonitor", []):
        labels = by_kind["Service"][0]["metadata"]["labels"]
        named = [p["name"] for p in by_kind["Service"][0]["spec"]["ports"]]
        if not o["spec"]["selector"]["matchLabels"].items() <= labels.items() or \
                [e["port"] for e in o["spec"]["endpoints"]] != ["metrics"] or "metrics" not in named:
            yield "the ServiceMonitor finds no metrics"
        if settings["tokens_file"] != "off" and "basicAuth" not in o["spec"]["endpoints"][0]:
            yield "the ServiceMonitor has no token, and basebandd asks for one"
    for o in by_kind.get("Certificate", []):
        secrets = [v["secret"]["secretName"] for v in workload["spec"]["template"]["spec"]["volumes"] if "secret" in v]
        if o["spec"]["secretName"] not in secrets:
            yield f"the Certificate is in a Secret of its own, not in {secrets}"


def _check_workload(workload):
    spec = workload["spec"]
    if not pods.is_selected(workload, spec["selector"]):
        yield f"the {workload['kind']} does not select its own pods"
    if workload["kind"] == "Deployment" and spec["strategy"]["rollingUpdate"]["maxUnavailable"] != 0:
        yield "a rolling update takes pods away before new ones are ready"
    if workload["kind"] == "DaemonSet" and "updateStrategy" in spec:
        yield "two pods of a node would share a socket"


def _check_service(services, workload):
    for service in services:
        if service["spec"].get("clusterIP") != "None":
            yield "the Service has a cluster IP: a client would stay with one pod"
        if not pods.is_selected(workload, {"matchLabels": service["spec"]["selector"]}):
            yield "the Service selects no pod"
        named = pods.ports(workload)
        if {p["targetPort"]: p["port"] for p in service["spec"]["ports"]} != named:
            yield f"the Service's ports are not those of the pods, {named}"


def _check_policies(policies, workload):
    """What comes in is named by port; who may is named too; nothing goes out."""
    named, closed = set(), set()
    for policy in policies:
        spec = policy["spec"]
        if not pods.is_selected(workload, spec["podSelector"]):
            yield f"the policy {policy['metadata']['name']} is of no pod"
        closed |= set(spec["policyTypes"])
        if spec.get("egress"):
            yield "pods may call out"
        for rule in spec["ingress"]:
            named |= {p["port"] for p in rule["ports"]}
            if not rule.get("from") or not all(
                    any(peer.get(s, {}).get("matchLabels") for s in ("podSelector", "namespaceSelector"))
                    for peer in rule["from"]):
                yield f"everybody may reach {rule['ports']}"
            if any(p["port"].endswith("metrics") for p in rule["ports"]) and rule["from"] != [
                    {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]:
                yield f"the metrics are open to {rule['from']}"
    if closed != {"Ingress", "Egress"}:
        yield f"policies close {closed} alone"
    if named != set(pods.ports(workload)):
        yield f"policies open {named}, and the pods have {set(pods.ports(workload))}"


def _check_components_used(tree):
    used = {c for _, components in CASES.values() for c in components}
    for path in (tree / "components").iterdir():
        if path.name not in used:
            yield f"the component {path.name} is rendered in no case"


def _check_adapter(tree, metrics):
    """The autoscaler's metrics are made by the adapter's rules, of metrics that there are."""
    folder = tree / "components" / "autoscaling"
    autoscaler = yaml.load((folder / "autoscaler.yaml").read_text(), yaml.CSafeLoader)
    rules = yaml.load((folder / "prometheus-adapter-values.yaml").read_text(), yaml.CSafeLoader)["rules"]["custom"]
    asked = {m["pods"]["metric"]["name"] for m in autoscaler["spec"]["metrics"]}
    made = {rule["name"]["as"] for rule in rules}
    if asked != made:
        yield f"the autoscaler asks for {asked}, and the adapter makes {made}"
    for rule in rules:
        for name in re.findall(r"baseband_\w+", rule["seriesQuery"] + rule["metricsQuery"]):
            if name not in metrics:
                yield f"prometheus-adapter-values.yaml: there is no metric {name}"


def _check_rule(tree):
    """prometheus-rule.yaml is what its script makes of deploy/prometheus/rules.yml."""
    folder = tree / "components" / "monitoring"
    made = subprocess.run([folder / "make-rule.sh"], stdout=subprocess.PIPE, text=True, check=True).stdout
    if made != (folder / "prometheus-rule.yaml").read_text():
        yield "prometheus-rule.yaml is not made of deploy/prometheus/rules.yml: run make-rule.sh"
