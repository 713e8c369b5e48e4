"""The Envoy of components/envoy: whether its configuration fits the pod around it and basebandd behind it.

Debian packages no Envoy to ask. Which fields there are, and their ranges, was held against its API by hand
(deploy/kubernetes/README.md says which); here are the names and numbers that have to agree.
"""
import functools
import pathlib
import re

import yaml

import pods

_TOP = pathlib.Path(__file__).resolve().parents[3]
_HEADER_BYTES = 32  # that HTTP/2 counts for each header besides its text
_CONFIG_FOLDER, _TLS_FOLDER = "/etc/envoy", "/etc/basebandd-tls"
_HEAP = "envoy.resource_monitors.fixed_heap"
_CONNECTIONS = "envoy.resource_monitors.global_downstream_max_connections"


def problems(objects, workload, settings):
    pod = workload["spec"]["template"]["spec"]
    sidecar = [c for c in pod.get("initContainers", []) if c["name"] == "envoy"][0]
    files = _files(objects, pod, sidecar)
    config = files["envoy.yaml"]
    for check in (_check_sidecar, _check_socket):
        yield from check(config, pod, sidecar, settings)
    yield from _check_tls(config, files)
    for check in (_check_identity, _check_routes, _check_limits, _check_cluster):
        yield from check(config, settings)
    yield from _check_memory(config, pods.to_bytes(sidecar["resources"]["limits"]["memory"]))


def _files(objects, pod, sidecar):
    """Those that it finds in its folder, parsed."""
    mounted = [m["name"] for m in sidecar["volumeMounts"] if m["mountPath"] == _CONFIG_FOLDER]
    volume = [v["configMap"]["name"] for v in pod["volumes"] if v["name"] in mounted][0]
    data = [o["data"] for o in objects if o["kind"] == "ConfigMap" and o["metadata"]["name"] == volume][0]
    return {name: _parse(text) for name, text in data.items()}


@functools.lru_cache(None)
def _parse(text):
    return yaml.load(text, yaml.CSafeLoader)


def _listener(config, name):
    return [x for x in config["static_resources"]["listeners"] if x["name"] == name][0]


def _manager(listener):
    """Its http_connection_manager, which comes last."""
    return listener["filter_chains"][0]["filters"][-1]["typed_config"]


def _routes(manager):
    return [r for host in manager["route_config"]["virtual_hosts"] for r in host["routes"]]


def _cluster(config, name):
    return [c for c in config["static_resources"]["clusters"] if c["name"] == name][0]


def _address(cluster):
    return cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]["address"]


def _monitor(config, name):
    return [m["typed_config"] for m in config["overload_manager"]["resource_monitors"] if m["name"] == name][0]


def _upstream(config):
    return list(_cluster(config, "basebandd")["typed_extension_protocol_options"].values())[0]


def _seconds(duration):
    return float(duration.removesuffix("s"))


def _check_sidecar(config, pod, sidecar, settings):
    if sidecar.get("restartPolicy") != "Always":
        yield "Envoy is no sidecar: it would have to end before basebandd starts"
    if f"{_CONFIG_FOLDER}/envoy.yaml" not in sidecar["args"]:
        yield f"Envoy is started with {sidecar['args']}"
    declared = {port["name"]: port["containerPort"] for port in sidecar["ports"]}
    wanted = {name: _listener(config, listener)["address"]["socket_address"]["port_value"]
              for name, listener in (("grpc", "clients"), ("envoy-metrics", "state"))}
    if declared != wanted:
        yield f"Envoy's ports are {declared}, and it listens at {wanted}"
    state = {r["match"].get("path"): r["route"]["cluster"] for r in _routes(_manager(_listener(config, "state")))}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        if state.get(sidecar[probe]["httpGet"]["path"]) != "admin":
            yield f"{probe} of Envoy asks for what it does not have: {state}"
    allowed = [path["exact"] for path in config["admin"].get("allow_paths", [])]
    if sorted(allowed) != sorted(state):
        yield f"of Envoy's administration {allowed} can be had, and {sorted(state)} are asked for"
    admin = config["admin"]["address"]["socket_address"]
    if admin["address"] != "127.0.0.1" or _address(_cluster(config, "admin"))["socket_address"] != admin:
        yield f"Envoy's administration is at {admin}"
    if not _listener(config, "state").get("bypass_overload_manager"):
        yield "a full Envoy answers no probe, and is ended"


def _check_socket(config, pod, sidecar, settings):
    path = _address(_cluster(config, "basebandd"))["pipe"]["path"]
    if settings["listen"] != [f"unix:{path}"]:
        yield f"Envoy connects to {path}, and basebandd listens at {settings['listen']}"
    shared = [{m["name"] for m in c["volumeMounts"] if m["mountPath"] == path.rpartition("/")[0]}
              for c in (sidecar, pod["containers"][0])]
    if shared[0] != shared[1] or not shared[0]:
        yield f"{path} is in no volume that Envoy and basebandd share"
    if int(settings["socket_mode"], 8) & 0o060 != 0o060:
        yield f"socket_mode {settings['socket_mode']} keeps Envoy out, which has basebandd's group alone"
    user = sidecar["securityContext"].get("runAsUser")
    if user in (None, pod["securityContext"]["runAsUser"]) or any(f"uid:{user}" in rule for rule in settings["allow"]):
        yield f"Envoy is user {user}, who has a role by {settings['allow']}, or basebandd's own"


def _check_tls(config, files):
    chain = _listener(config, "clients")["filter_chains"][0]
    context = chain["transport_socket"]["typed_config"]
    common = context["common_tls_context"]
    if not {"id", "cluster"} <= set(config.get("node", {})):
        yield "Envoy has no name, and would not start with secrets in files"
    if context.get("require_client_certificate") is not True:
        yield "who shows no certificate gets past Envoy"
    for secret in [*common["tls_certificate_sds_secret_configs"], common["validation_context_sds_secret_config"]]:
        path = secret["sds_config"]["path_config_source"]["path"]
        found = files.get(path.removeprefix(f"{_CONFIG_FOLDER}/"), {"resources": []})["resources"]
        if [s["name"] for s in found] != [secret["name"]]:
            yield f"{path} has no secret {secret['name']}"
        for value in (v for s in found for v in s.values() if isinstance(v, dict)):
            names = {v["filename"] for v in value.values() if "filename" in v}
            if not names <= {f"{_TLS_FOLDER}/{n}" for n in ("tls.crt", "tls.key", "ca.crt")} or not names:
                yield f"{names} are not in the Secret"
            if value.get("watched_directory") != {"path": _TLS_FOLDER}:
                yield f"a renewed {sorted(names)} is not noticed"
    if common["alpn_protocols"] != ["h2"] or _manager(_listener(config, "clients"))["codec_type"] != "HTTP2":
        yield "Envoy speaks more than HTTP/2 with clients"


def _check_identity(config, settings):
    """Neither a client nor Envoy tells basebandd who calls; only a token does."""
    manager = _manager(_listener(config, "clients"))
    removed = manager["route_config"].get("request_headers_to_remove", [])
    if manager.get("forward_client_cert_details") != "SANITIZE" or "x-forwarded-client-cert" not in removed:
        yield "x-forwarded-client-cert goes on to basebandd"
    if manager.get("use_remote_address") is not True or "x-forwarded-for" not in removed:
        yield "x-forwarded-for is believed, or goes on to basebandd"
    if manager.get("generate_request_id") is not False:
        yield "x-request-id is Envoy's, not the client's"
    if settings["tokens_file"] == "off" or any(rule.startswith("user=") for rule in settings["allow"]):
        yield f"allow {settings['allow']} gives callers a role without a token"


@functools.lru_cache(None)
def _text(file):
    return (_TOP / file).read_text()


def _methods():
    """(path, whether there is a stream) of all that basebandd serves to clients, but reflection."""
    rpcs = re.findall(r"rpc (\w+)\(([^)]*)\) returns \(([^)]*)\)", _text("proto/baseband/v1/baseband.proto"))
    for name, request, response in rpcs:
        yield f"/baseband.v1.Baseband/{name}", "stream " in request + response
    yield "/grpc.health.v1.Health/Check", False
    yield "/grpc.health.v1.Health/Watch", True


def _route_of(config, path):
    for route in _routes(_manager(_listener(config, "clients"))):
        match = route["match"]
        if match.get("path") == path or ("prefix" in match and path.startswith(match["prefix"])):
            return route["route"]
    return None


def _check_routes(config, settings):
    clusters = {c["name"] for c in config["static_resources"]["clusters"]}
    for listener in config["static_resources"]["listeners"]:
        for route in _routes(_manager(listener)):
            if route["route"]["cluster"] not in clusters:
                yield f"there is no cluster {route['route']['cluster']}"
            if listener["name"] == "clients" and route["match"].get("grpc") != {}:
                yield f"what is not gRPC gets to basebandd: {route['match']}"
    methods = dict(_methods())
    for path, streams in methods.items():
        route = _route_of(config, path) or {}
        if route.get("cluster") != "basebandd" or route.get("timeout") != "0s":
            yield f"{path} does not get to basebandd, or not for as long as it takes"
        elif (route["idle_timeout"] == "0s") != streams:
            yield f"{path} may be silent for {route['idle_timeout']}"
    for path in ("/baseband.v1.Admin/Drain", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"):
        if _route_of(config, path) is not None:
            yield f"{path} is open to strangers"
    named = {r["match"]["path"] for r in _routes(_manager(_listener(config, "clients"))) if "path" in r["match"]}
    if not named <= set(methods):
        yield f"basebandd has no methods {sorted(named - set(methods))}"


def _constant(file, name):
    number, _, shift = re.search(rf"constexpr int {name} = ([0-9]+)( << ([0-9]+))?;", _text(file)).groups()
    return int(number) << int(shift or 0)


def _check_limits(config, settings):
    manager = _manager(_listener(config, "clients"))
    common, http2 = manager["common_http_protocol_options"], manager["http2_protocol_options"]
    up = _upstream(config)["explicit_http_config"]["http2_protocol_options"]
    headers = manager["max_request_headers_kb"] * 1024 + common["max_headers_count"] * _HEADER_BYTES
    if headers > _constant("server/service/listener.cc", "kMaxMetadataBytes"):
        yield f"Envoy takes {headers} bytes of headers, more than basebandd"
    if http2["max_concurrent_streams"] > _constant("server/service/server.cc", "kMaxStreamsPerConnection"):
        yield f"Envoy takes {http2['max_concurrent_streams']} streams a connection, more than basebandd"
    connections = _monitor(config, _CONNECTIONS)["max_active_downstream_connections"]
    if not 0 < connections < settings["max_connections"]:
        yield f"Envoy takes {connections} connections, basebandd {settings['max_connections']}"
    allowed = _cluster(config, "basebandd")["circuit_breakers"]["thresholds"][0]
    come = _listener(config, "clients")["listener_filters"][0]["typed_config"]["token_bucket"]
    new_per_second = come["tokens_per_fill"] / _seconds(come["fill_interval"])
    idle = _seconds(_upstream(config)["common_http_protocol_options"]["idle_timeout"])
    if not connections + new_per_second * idle <= allowed["max_connections"] < settings["max_connections"]:
        yield f"clients who come and go use up {allowed['max_connections']} connections to basebandd"
    if up["max_concurrent_streams"] < http2["max_concurrent_streams"] or \
            allowed["max_requests"] < connections * http2["max_concurrent_streams"]:
        yield f"Envoy takes more from clients than it hands on: {allowed}"
    if common["max_connection_duration"] != settings["max_connection_age"]:
        yield "clients find new pods later than with basebandd itself"
    limit = [f["typed_config"] for f in manager["http_filters"] if f["name"] == "envoy.filters.http.local_ratelimit"][0]
    share = {"numerator": 100, "denominator": "HUNDRED"}
    if limit["filter_enabled"]["default_value"] != share or limit["filter_enforced"]["default_value"] != share:
        yield "the rate of calls is counted, not limited"
    made = [key for rate in limit["rate_limits"] for action in rate["actions"] for key in action]
    if [e for d in limit["descriptors"] for e in d["entries"]] != [{"key": key} for key in made] or \
            limit["always_consume_default_token_bucket"] is not False:
        yield "callers share one bucket, not one for each address"
    if limit.get("rate_limited_as_resource_exhausted") is not True:
        yield "who calls too often is told to go elsewhere, not to wait"


def _check_cluster(config, settings):
    cluster = _cluster(config, "basebandd")
    if cluster.get("connection_pool_per_downstream_connection") is not True:
        yield "clients share connections: who does not read holds up others"
    if cluster["common_lb_config"]["healthy_panic_threshold"]["value"] != 0:
        yield "calls go to a basebandd that is not ready"
    check = cluster["health_checks"][0]
    if "grpc_health_check" not in check or settings["open_health"] is not True:
        yield "Envoy does not learn how basebandd is"
    if any(_seconds(check[name]) > 2 for name in ("interval", "no_traffic_interval", "unhealthy_interval")):
        yield "Envoy notices late that basebandd is ready"


def _check_memory(config, container_bytes):
    listener, cluster = _listener(config, "clients"), _cluster(config, "basebandd")
    manager = _manager(listener)
    down = manager["http2_protocol_options"]
    up = _upstream(config)["explicit_http_config"]["http2_protocol_options"]
    connections = _monitor(config, _CONNECTIONS)["max_active_downstream_connections"]
    held = connections * (
        down["initial_connection_window_size"] + up["initial_connection_window_size"] +
        listener["per_connection_buffer_limit_bytes"] + cluster["per_connection_buffer_limit_bytes"] +
        down["max_concurrent_streams"] * manager["max_request_headers_kb"] * 1024)
    heap = _monitor(config, _HEAP)["max_heap_size_bytes"]
    steps = {}
    for action in config["overload_manager"]["actions"]:
        trigger = [t for t in action["triggers"] if t["name"] == _HEAP][0]
        at = trigger["threshold"]["value"] if "threshold" in trigger else trigger["scaled"]["scaling_threshold"]
        steps[action["name"].rpartition(".")[2]] = at
    if held > min(steps.values()) * heap:
        yield f"clients within their limits can hold {held} bytes, and the first step is at {min(steps.values()) * heap:.0f}"
    if heap > 0.8 * container_bytes:
        yield f"a heap of {heap} leaves no room in {container_bytes}"
    order = ["shrink_heap", "reduce_timeouts", "reset_high_memory_stream", "stop_accepting_connections",
             "stop_accepting_requests"]
    if [steps.get(name, -1) for name in order] != sorted(steps.values()):
        yield f"the steps of overload are {steps}"
    for http2 in (down, up):
        if http2["initial_stream_window_size"] > http2["initial_connection_window_size"] // 2:
            yield "one stream can use up the window of its connection"
