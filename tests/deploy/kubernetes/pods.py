"""How the numbers and names of a workload's pods hang together, with each other and with basebandd's settings."""
import re

CONFIG_FOLDER = "/etc/basebandd"
MIB = 1 << 20
RESERVE_MIB = 512   # CUDA's context, the program
END_SECONDS = 10    # from the end of a drain to the end of the process, generously
UNITS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def settings_of(workload, objects, program):
    """The settings that apply in the container. Refused if basebandd would not start."""
    configs = {o["metadata"]["name"]: o["data"] for o in objects if o["kind"] == "ConfigMap"}
    pod, container = _pod(workload)
    files = {}
    for mount in container["volumeMounts"]:
        volume = [v for v in pod["volumes"] if v["name"] == mount["name"]]
        if mount["mountPath"] == CONFIG_FOLDER and volume:
            files = configs.get(volume[0].get("configMap", {}).get("name"), {})
    return program.settings(container["args"], {f"{CONFIG_FOLDER}/{name}": text for name, text in files.items()})


def problems(workload, settings, version):
    pod, container = _pod(workload)
    for check in (_check_identity, _check_ports, _check_probes, _check_resources, _check_files, _check_volumes,
                  _check_security):
        yield from check(pod, container, settings)
    if pod.get("enableServiceLinks") is not False:
        yield "enableServiceLinks is not false: variables BASEBANDD_.. of Services end basebandd"
    if container["image"].partition(":")[2] != version:
        yield f"the image is {container['image']}, and basebandd is {version}"
    if pod["terminationGracePeriodSeconds"] < _seconds(settings["drain"]) + END_SECONDS:
        yield (f"terminationGracePeriodSeconds {pod['terminationGracePeriodSeconds']} cuts the drain short: "
               f"drain is {settings['drain']}")


def _seconds(setting):
    """Of a setting of whole seconds, as basebandd prints it."""
    return int(setting.removesuffix("s"))


def is_selected(workload, selector):
    labels = workload["spec"]["template"]["metadata"]["labels"]
    return all(labels.get(key) == value for key, value in selector["matchLabels"].items())


def ports(workload):
    """Number by name."""
    pod, _ = _pod(workload)
    return {port["name"]: port["containerPort"] for c in containers(pod) for port in c["ports"]}


def containers(pod):
    """basebandd first, then those beside it."""
    return pod["containers"] + pod.get("initContainers", [])


def to_bytes(quantity):
    number, unit = re.fullmatch("([0-9]+)([KMG]i|)", quantity).groups()
    return int(number) * UNITS[unit]


def _pod(workload):
    pod = workload["spec"]["template"]["spec"]
    return pod, pod["containers"][0]


def _check_identity(pod, container, settings):
    user, group = pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"]
    if f"admin=uid:{user}" not in settings["allow"] and settings["allow"] != ["none"]:
        yield f"allow {settings['allow']} does not let uid {user}, who is in the container, administer"
    for rule in settings["allow"]:
        if rule.startswith("user=gid:"):
            if rule != f"user=gid:{group}":
                yield f"allow {rule}, but the socket has the pod's group, {group}"
            if int(settings["socket_mode"], 8) & 0o060 != 0o060:
                yield f"socket_mode {settings['socket_mode']} keeps out the group that allow {rule} lets in"


def _check_ports(pod, container, settings):
    declared = {port["name"]: port["containerPort"] for port in container["ports"]}
    networked = [a for a in settings["listen"] if not a.startswith("unix:")]
    wanted = {"grpc": int(a.rpartition(":")[2]) for a in networked}
    wanted["metrics"] = int(settings["metrics_listen"].rpartition(":")[2])
    if declared != wanted:
        yield f"the container's ports are {declared}, and basebandd listens at {wanted}"
    for address in networked + [settings["metrics_listen"]]:
        if not address.startswith("0.0.0.0:"):
            yield f"{address} cannot be reached from outside of the pod"


def _check_probes(pod, container, settings):
    for name, path in (("startupProbe", "/readyz"), ("readinessProbe", "/readyz"), ("livenessProbe", "/livez")):
        if container[name]["httpGet"] != {"path": path, "port": "metrics"}:
            yield f"{name} asks {container[name]['httpGet']}, not {path} at the metrics port"
    patience = {n: container[n]["periodSeconds"] * container[n]["failureThreshold"]
                for n in ("startupProbe", "readinessProbe", "livenessProbe")}
    if patience["livenessProbe"] < 3 * _seconds(settings["watchdog"]):
        yield f"livenessProbe ends the pod after {patience['livenessProbe']} s; watchdog {settings['watchdog']} comes first"
    if patience["readinessProbe"] > _seconds(settings["drain"]):
        yield f"readinessProbe notices a drain after {patience['readinessProbe']} s, when it is over"
    if patience["startupProbe"] < 60:
        yield f"startupProbe gives a GPU {patience['startupProbe']} s to come up"


def _check_resources(pod, container, settings):
    limits = container["resources"]["limits"]
    for one in containers(pod):
        if one["resources"]["requests"] != one["resources"]["limits"]:
            yield "requests are not the limits: the pod is not Guaranteed"
        if not re.fullmatch("[1-9][0-9]*", one["resources"]["limits"]["cpu"]):
            yield f"cpu {one['resources']['limits']['cpu']} is no number of whole cores"
            return
    on_cpu = settings["device"] == "cpu"
    gpus = sum(int(n) for resource, n in limits.items() if resource.startswith("nvidia.com/"))
    if not on_cpu and settings["device"].startswith("cuda") != (gpus > 0):
        yield f"device is {settings['device']}, with {gpus} GPUs"
    for resource in limits:
        if resource.startswith("hugepages-"):
            yield f"{resource} lie idle: basebandd maps none of hugetlbfs"
    lanes = 2 if on_cpu else settings["lanes"] * max(gpus, 1)
    background = 2 if on_cpu else 2 * max(gpus, 1)
    spinning = lanes if settings["completion"] == "spin" else 0
    cores = settings["cpu_threads"] if on_cpu else spinning + settings["grpc_threads"]
    if cores > int(limits["cpu"]) or settings["grpc_threads"] == 0 or (on_cpu and settings["cpu_threads"] == 0):
        yield f"cpu {limits['cpu']} is less than {cores}, the threads that are always busy, or they go by the host's cores"
    needed = (settings["staging_mib"] + settings["reply_mib"] + settings["search_memory_mib"] + settings["grpc_mib"] +
              (settings["shm_mib"] if settings["shm_listen"] != "off" else 0) +
              (lanes + background) * (settings["lane_input_mib"] + settings["lane_output_mib"]))
    if to_bytes(limits["memory"]) < (needed + RESERVE_MIB) * MIB:
        yield f"memory {limits['memory']} is less than {needed} MiB, which the settings take, and {RESERVE_MIB} of reserve"


def _check_volumes(pod, container, settings):
    mounted = {m["name"] for c in containers(pod) for m in c["volumeMounts"]}
    if sorted(mounted) != sorted(v["name"] for v in pod["volumes"]):
        yield f"mounts {sorted(mounted)} are not the volumes"
    for one in containers(pod):
        paths = [m["mountPath"] for m in one["volumeMounts"]]
        if len(set(m["name"] for m in one["volumeMounts"])) != len(paths):
            yield f"{one['name']} has a volume twice"
        for path in paths:
            if any(path.startswith(f"{other}/") for other in paths):
                yield f"{path} is mounted inside of another mount, where nobody can make its directory"


def _check_files(pod, container, settings):
    mounts = {m["mountPath"]: m for m in container["volumeMounts"]}
    sockets = [a[len("unix:"):] for a in [*settings["listen"], settings["admin_listen"]] if a.startswith("unix:")]
    files = [settings[n] for n in ("tls_cert", "tls_key", "tls_client_ca", "tokens_file") if settings[n] != "off"]
    for path in sockets + files:
        mount = mounts.get(path.rpartition("/")[0])
        if mount is None or mount.get("readOnly", False) != (path in files):
            yield f"{path} is in no volume{'' if path in files else ' that can be written to'}"


def _check_security(pod, container, settings):
    wanted = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    for one in containers(pod):
        found = {key: value for key, value in one["securityContext"].items() if one is container or key != "runAsUser"}
        if found != wanted:
            yield f"the container's securityContext is {one['securityContext']}"
    context = pod["securityContext"]
    if context.get("runAsNonRoot") is not True or context.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield f"the pod's securityContext is {context}"
    if pod.get("automountServiceAccountToken") is not False:
        yield "the pod has a token of its service account"
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield f"{name} is set"
