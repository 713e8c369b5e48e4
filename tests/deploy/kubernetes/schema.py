"""Whether an object has the form that its kind asks for: no unknown key, no wrong type, nothing missing.

The kinds of Kubernetes itself are checked by the models of Debian's python3-kubernetes, which were made from the API's
OpenAPI document (1.22); the kinds of operators by the tables below.
"""
import functools
import inspect
import json
import re

from kubernetes.client import models

_MODELS = {
    ("v1", "ConfigMap"): "V1ConfigMap",
    ("v1", "Service"): "V1Service",
    ("v1", "ServiceAccount"): "V1ServiceAccount",
    ("apps/v1", "Deployment"): "V1Deployment",
    ("apps/v1", "DaemonSet"): "V1DaemonSet",
    ("policy/v1", "PodDisruptionBudget"): "V1PodDisruptionBudget",
    ("networking.k8s.io/v1", "NetworkPolicy"): "V1NetworkPolicy",
    ("scheduling.k8s.io/v1", "PriorityClass"): "V1PriorityClass",
    # The form that 1.23 made v2 without a change.
    ("autoscaling/v2", "HorizontalPodAutoscaler"): "V2beta2HorizontalPodAutoscaler",
}

# What the models are too old for.
_LATER = {"V1Container": {"restartPolicy": "str"}}  # 1.29: of a sidecar

# A mapping: its keys, a ! after those that have to be there. A list of one: a list of these. A type: that.
_DURATION = re.compile(r"([0-9]+(ms|[smhd]))+")
_LABELS = {str: str}
_RULE = {"alert": str, "record": str, "expr!": str, "for": _DURATION, "keep_firing_for": _DURATION,
         "labels": _LABELS, "annotations": _LABELS}
_KEY = {"name!": str, "key!": str}  # of a Secret
_CRDS = {
    ("monitoring.coreos.com/v1", "ServiceMonitor"): {
        "selector!": {"matchLabels": _LABELS},
        "endpoints!": [{"port!": str, "path": str, "interval": _DURATION, "scrapeTimeout": _DURATION,
                        "basicAuth": {"username!": _KEY, "password!": _KEY}}],
    },
    ("monitoring.coreos.com/v1", "PrometheusRule"): {
        "groups!": [{"name!": str, "interval": _DURATION, "rules!": [_RULE]}],
    },
    ("cert-manager.io/v1", "Certificate"): {
        "secretName!": str, "issuerRef!": {"name!": str, "kind": str, "group": str}, "dnsNames": [str],
        "usages": [str], "duration": _DURATION, "renewBefore": _DURATION,
        "privateKey": {"algorithm": str, "size": int, "rotationPolicy": str},
    },
}
_METADATA = {"name!": str, "namespace": str, "labels": _LABELS, "annotations": _LABELS}


def problems(o):
    """What is wrong with the object, a line each."""
    return _problems(json.dumps(o))


@functools.lru_cache(None)
def _problems(text):
    o = json.loads(text)
    kind = (o.get("apiVersion"), o.get("kind"))
    if kind in _MODELS:
        return list(_check_model(o, _MODELS[kind], o["kind"]))
    if kind in _CRDS:
        form = {"apiVersion!": str, "kind!": str, "metadata!": _METADATA, "spec!": _CRDS[kind]}
        return list(_check_form(o, form, o["kind"]))
    return [f"{kind} is no kind that is known here"]


def _check_model(value, kind, at):
    """`kind` as the models write it: V1Pod, list[V1Container], dict(str, str), str, object .."""
    if kind == "object":  # a number or a name
        if not isinstance(value, (int, str)):
            yield f"{at} is no number and no name"
    elif kind.startswith("list["):
        yield from _check_list(value, at, lambda v, a: _check_model(v, kind[5:-1], a))
    elif kind.startswith("dict("):
        yield from _check_mapping(value, at, lambda v, a: _check_model(v, kind.split(", ")[1][:-1], a))
    elif kind in ("str", "int", "bool", "float"):
        if type(value).__name__ != kind:
            yield f"{at} is {value!r}, not of type {kind}"
    elif not isinstance(value, dict):
        yield f"{at} is {value!r}, not an object"
    else:
        yield from _check_fields(value, getattr(models, kind), at)


def _check_fields(value, model, at):
    names = {json: name for name, json in model.attribute_map.items()}
    later = _LATER.get(model.__name__, {})
    for key, field in value.items():
        if key in names:
            yield from _check_model(field, model.openapi_types[names[key]], f"{at}.{key}")
        elif key in later:
            yield from _check_model(field, later[key], f"{at}.{key}")
        else:
            yield f"{at} has no field {key}"
    for key, name in names.items():
        if value.get(key) is None and _is_required(model, name):
            yield f"{at} lacks {key}"


@functools.lru_cache(None)
def _is_required(model, name):
    """The setter of a field that has to be there refuses None."""
    return "must not be `None`" in inspect.getsource(getattr(model, name).fset)


def _check_form(value, form, at):
    if isinstance(form, re.Pattern):
        if not isinstance(value, str) or not form.fullmatch(value):
            yield f"{at} is {value!r}, not a duration"
    elif isinstance(form, list):
        yield from _check_list(value, at, lambda v, a: _check_form(v, form[0], a))
    elif isinstance(form, type):
        if type(value) is not form:
            yield f"{at} is {value!r}, not of type {form.__name__}"
    elif form == _LABELS:
        yield from _check_mapping(value, at, lambda v, a: _check_form(v, str, a))
    elif not isinstance(value, dict):
        yield f"{at} is {value!r}, not an object"
    else:
        for key, field in value.items():
            wanted = form.get(key) or form.get(key + "!")
            yield from _check_form(field, wanted, f"{at}.{key}") if wanted else [f"{at} has no field {key}"]
        for key in form:
            if key.endswith("!") and key[:-1] not in value:
                yield f"{at} lacks {key[:-1]}"


def _check_list(value, at, check):
    if not isinstance(value, list):
        yield f"{at} is {value!r}, not a list"
        return
    for i, element in enumerate(value):
        yield from check(element, f"{at}[{i}]")


def _check_mapping(value, at, check):
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        yield f"{at} is {value!r}, not a mapping of names"
        return
    for key, element in value.items():
        yield from check(element, f"{at}.{key}")
