"""Renders a kustomization the way `kubectl kustomize` does, for the part of it that deploy/kubernetes uses.

Debian 12 packages no kustomize that knows components (its kubectl 1.20 has version 2.0.3). What is not done here is
refused, and manifests_test.py compares with the kubectl of the machine where that is new enough.
"""
import copy
import functools
import hashlib
import json
import pathlib
import re

import yaml

_FIELDS = {"apiVersion", "kind", "namespace", "resources", "components", "configMapGenerator", "images", "patches"}
CLUSTER_WIDE = {"Namespace", "RuntimeClass", "ClusterRole", "ClusterRoleBinding", "PriorityClass"}
# Lists that a strategic merge takes element by element, told apart by this key; all others it replaces.
_MERGE_KEYS = {"containers": "name", "initContainers": "name", "volumes": "name", "env": "name",
               "volumeMounts": "mountPath"}
_REFUSED_LISTS = {"ports", "tolerations", "topologySpreadConstraints", "imagePullSecrets"}


class Unsupported(Exception):
    pass


def render(folder):
    """The objects of the kustomization in `folder`, as dicts, ConfigMaps with the hash in their name."""
    objects = _load(pathlib.Path(folder), [])
    for config in [o for o in objects if o.get("$generated")]:
        del config["$generated"]
        name = config["metadata"]["name"]
        config["metadata"]["name"] = f"{name}-{_hash(config)}"
        for o in objects:
            _rename_config(o, name, config["metadata"]["name"])
    return objects


def _load(folder, objects):
    """`objects` with what the kustomization in `folder` adds and changes."""
    kustomization = _read_all(folder / "kustomization.yaml")[0]
    unknown = set(kustomization) - _FIELDS
    if unknown:
        raise Unsupported(f"{folder}: {sorted(unknown)}")
    if kustomization["kind"] == "Kustomization":
        objects = list(objects)
    for name in kustomization.get("resources", []):
        path = folder / name
        objects += _load(path, []) if path.is_dir() else _read_all(path)
    for name in kustomization.get("components", []):
        objects = _load(folder / name, objects)
    for entry in kustomization.get("configMapGenerator", []):
        _generate(folder, entry, objects)
    for entry in kustomization.get("patches", []):
        objects = _patch(folder, entry, objects)
    for image in kustomization.get("images", []):
        _set_image(image, objects)
    if "namespace" in kustomization:
        for o in objects:
            if o["kind"] not in CLUSTER_WIDE:
                o["metadata"]["namespace"] = kustomization["namespace"]
    return objects


def _read_all(path):
    """The objects of the file; what an alias stands for is a copy, which can be changed alone."""
    return [json.loads(o) for o in _parse(path.read_text())]


@functools.lru_cache(None)
def _parse(text):
    return [json.dumps(o) for o in yaml.load_all(text, yaml.CSafeLoader)]


def _generate(folder, entry, objects):
    _only(entry, {"name", "files", "behavior"})
    data = {pathlib.Path(f).name: (folder / f).read_text() for f in entry["files"]}
    existing = [o for o in objects if o["kind"] == "ConfigMap" and o["metadata"]["name"] == entry["name"]]
    if entry.get("behavior", "create") == "replace":
        existing[0]["data"] = data
    elif not existing and "behavior" not in entry:
        objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": entry["name"]}, "data": data,
                        "$generated": True})
    else:
        raise Unsupported(f"{folder}: configMapGenerator {entry}")


def _patch(folder, entry, objects):
    _only(entry, {"path", "patch", "target", "options"})
    text = (folder / entry["path"]).read_text() if "path" in entry else entry["patch"]
    patch = json.loads(_parse(text)[0])
    target = entry.get("target") or {"kind": patch["kind"], "name": patch["metadata"]["name"]}
    _only(target, {"kind", "name"})
    matching = [o for o in objects if re.fullmatch(target["kind"], o["kind"]) and
                re.fullmatch(target["name"], o["metadata"]["name"])]
    if not matching:
        raise Unsupported(f"{folder}: a patch matches no object: {target}")
    for o in matching:
        if isinstance(patch, dict) and patch.get("$patch") == "delete":
            objects = [other for other in objects if other is not o]
        elif isinstance(patch, dict):
            _merge(o, {k: v for k, v in patch.items() if k not in ("apiVersion", "kind")})
        else:
            kind = o["kind"]
            for operation in patch:
                _apply(o, operation)
            if not entry.get("options", {}).get("allowKindChange"):
                o["kind"] = kind
    return objects


def _merge(into, patch):
    """Strategic merge."""
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        elif isinstance(value, list) and key in _MERGE_KEYS:
            into[key] = _merge_list(into.get(key, []), value, _MERGE_KEYS[key])
        elif isinstance(value, list) and key in _REFUSED_LISTS and key in into:
            raise Unsupported(f"a strategic merge of {key}")
        else:
            into[key] = copy.deepcopy(value)


def _merge_list(old, patch, key):
    result, new = list(old), []
    for element in patch:
        same = [o for o in result if o[key] == element[key]]
        if element.get("$patch") == "delete":
            result = [o for o in result if o[key] != element[key]]
        elif same:
            _merge(same[0], element)
        else:
            new.append(copy.deepcopy(element))
    return new + result


def _apply(o, operation):
    """One operation of RFC 6902."""
    *way, last = [p.replace("~1", "/").replace("~0", "~") for p in operation["path"].split("/")[1:]]
    for step in way:
        o = o[int(step)] if isinstance(o, list) else o[step]
    where = last if isinstance(o, dict) else len(o) if last == "-" else int(last)
    if operation["op"] == "remove":
        del o[where]
    elif operation["op"] == "add" and isinstance(o, list):
        o.insert(where, operation["value"])
    elif operation["op"] in ("add", "replace"):
        if operation["op"] == "replace":
            o[where]  # has to be there
        o[where] = operation["value"]
    else:
        raise Unsupported(f"operation {operation['op']}")


def _set_image(image, objects):
    _only(image, {"name", "newName", "newTag"})
    for o in objects:
        pod = o.get("spec", {}).get("template", {}).get("spec", {})
        for container in pod.get("containers", []) + pod.get("initContainers", []):
            name, _, tag = container["image"].partition(":")
            if name == image["name"]:
                tag = image.get("newTag", tag)
                container["image"] = image.get("newName", name) + (f":{tag}" if tag else "")


def _hash(config):
    """Ten digits that follow from the content, as kustomize's do; which ones is different."""
    return hashlib.sha256(json.dumps(config["data"], sort_keys=True).encode()).hexdigest()[:10]


def _rename_config(o, old, new):
    for volume in o.get("spec", {}).get("template", {}).get("spec", {}).get("volumes", []):
        if volume.get("configMap", {}).get("name") == old:
            volume["configMap"]["name"] = new


def _only(entry, known):
    if set(entry) - known:
        raise Unsupported(f"{sorted(set(entry) - known)} in {entry}")
