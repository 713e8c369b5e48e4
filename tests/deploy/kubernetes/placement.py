"""The components that say where pods run and what they share, with the files beside them that a node's administrator takes.

Whether a component does what it says can be told only on nodes; here, whether its parts fit each other and basebandd.
"""
import re

import yaml

import pods

# NVIDIA's label nvidia.com/gpu.sharing-strategy on a node, and what its device plugin calls that.
_SHARING = {"mps": "mps", "time-slicing": "timeSlicing"}
_GPU = "nvidia.com/gpu"


def problems(tree, components, objects, workload, settings):
    """Of the objects that came of these components."""
    pod = workload["spec"]["template"]["spec"]
    yield from _check_priority(components, objects, pod)
    selector = pod.get("nodeSelector", {})
    if ("baseband-offload/exclusive-cores" in selector) != ("exclusive-cores" in components):
        yield f"pods go to {selector}, with the components {components}"
    if "exclusive-cores" in components:
        yield from _check_kubelet(_load(tree, "exclusive-cores", "kubelet-configuration.yaml"), pod)
    for strategy, key in _SHARING.items():
        if (selector.get("nvidia.com/gpu.sharing-strategy") == strategy) != (strategy in components):
            yield f"pods go to {selector}, with the components {components}"
        elif strategy in components:
            yield from _check_sharing(_load(tree, strategy, "device-plugin.yaml"), key, pod)
    if "mps" in components and settings["max_device_resets_per_hour"] != 0:
        yield "a server would try to reset a GPU that other MPS clients hold"
    if "time-slicing" in components and settings["completion"] != "block":
        yield f"lanes {settings['completion']} while others have their turn on the GPU"


def _load(tree, component, file):
    return yaml.load((tree / "components" / component / file).read_text(), yaml.CSafeLoader)


def _check_priority(components, objects, pod):
    classes = [o for o in objects if o["kind"] == "PriorityClass"]
    if ("priority" in components) != bool(classes):
        yield f"{len(classes)} PriorityClasses with the components {components}"
    if pod.get("priorityClassName") not in [o["metadata"]["name"] for o in classes] + [None] * (not classes):
        yield f"there is no PriorityClass {pod.get('priorityClassName')}"
    for o in classes:
        if not 0 < o["value"] <= 10**9 or o.get("globalDefault"):
            yield f"the priority {o['value']} is the cluster's own, none, or everybody's"


def _check_kubelet(kubelet, pod):
    wanted = {"cpuManagerPolicy": "static", "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
              "memoryManagerPolicy": "Static", "topologyManagerPolicy": "single-numa-node", "topologyManagerScope": "pod"}
    found = {key: kubelet.get(key) for key in wanted}
    if found != wanted:
        yield f"the kubelet gives no exclusive cores on one NUMA node: {found}"
    taken = [kubelet["systemReserved"]["memory"], kubelet["kubeReserved"]["memory"],
             kubelet["evictionHard"]["memory.available"]]
    reserved = [node["limits"]["memory"] for node in kubelet["reservedMemory"]]
    if sum(map(pods.to_bytes, reserved)) != sum(map(pods.to_bytes, taken)):
        yield f"reservedMemory {reserved} is not {taken} together: the kubelet does not start"
    for container in pods.containers(pod):
        if not re.fullmatch("[0-9]*[02468]", container["resources"]["limits"]["cpu"]):
            yield f"{container['name']} asks for no even number of cores: full-pcpus-only refuses the pod"


def _check_sharing(plugin, key, pod):
    sharing = plugin["sharing"]
    resources = sharing.get(key, {}).get("resources", [])
    asked = pod["containers"][0]["resources"]["limits"].get(_GPU)
    if list(sharing) != [key] or [r["name"] for r in resources] != [_GPU] or sharing[key].get("renameByDefault"):
        yield f"the device plugin shares no {_GPU} by {key}: {sharing}"
    elif resources[0]["replicas"] < 2 or asked != "1":
        yield f"{asked} of {resources[0]['replicas']} shares is not a part of a GPU"
