"""deploy/kubernetes is right, and the checks that say so notice what is wrong.

    manifests_test.py BASEBANDD [UNITTEST_ARGUMENT ...]
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

import basebandd
import checks
import kustomize

TOP = pathlib.Path(__file__).resolve().parents[3]
TREE = TOP / "deploy" / "kubernetes"
METRICS = set(re.findall(r'"(baseband_\w+)"', (TOP / "common/metric_names.h").read_text()))
PROGRAM = None  # set below

ENVOY = "components/envoy/envoy.yaml"

# What is changed where, and a word of what has to be found then.
MUTATIONS = (
    # The numbers and basebandd's settings.
    ("base/deployment.yaml", "terminationGracePeriodSeconds: 45", "terminationGracePeriodSeconds: 35", "cuts the drain short"),
    ("base/basebandd.conf", 'drain = "30s"', 'drain = "60s"', "cuts the drain short"),
    ("base/basebandd.conf", 'drain = "30s"', 'drains = "30s"', "gpu-rack: Refused"),
    ("base/basebandd.conf", "staging_mib = 512", "staging_mib = 2048", "memory 4Gi is less"),
    ("base/basebandd.conf", "lanes = 4", "lanes = 16", "memory 4Gi is less"),
    ("overlays/cpu-lab/deployment.yaml", "memory: 2Gi", "memory: 1536Mi", "cpu-lab: memory 1536Mi is less"),
    ("overlays/cpu-lab/basebandd.conf", "cpu_threads = 2", "cpu_threads = 0", "cpu-lab: cpu 2 is less"),
    ("base/deployment.yaml", 'cpu: "8"', 'cpu: "2.5"', "no number of whole cores"),
    ("overlays/gpu-rack/deployment.yaml", "limits: *gpu", "limits: {}", "not Guaranteed"),
    ("base/basebandd.conf", "listen = 0.0.0.0:50151", "listen = 0.0.0.0:50152", "basebandd listens at"),
    ("base/basebandd.conf", "metrics_listen = 0.0.0.0:9151", "metrics_listen = 127.0.0.1:9151", "cannot be reached"),
    ("base/deployment.yaml", "containerPort: 9151", "containerPort: 9152", "the Service's ports are not"),
    ("base/deployment.yaml", "port: metrics", "port: grpc", "not /readyz at the metrics port"),
    ("base/deployment.yaml", "path: /livez", "path: /readyz", "not /livez at the metrics port"),
    ("base/deployment.yaml", "failureThreshold: 6", "failureThreshold: 1", "watchdog 10s comes first"),
    ("base/basebandd.conf", "uid:65532", "uid:1000", "administer"),
    ("overlays/node-socket/pods.yaml", "runAsGroup: 2000", "runAsGroup: 3000", "the socket has the pod's group, 3000"),
    ("overlays/node-socket/basebandd.conf", "0660", "0600", "keeps out the group"),
    ("overlays/gpu-rack/deployment.yaml", "--device=cuda", "--device=gpu", "gpu-rack: Refused"),
    ("overlays/gpu-rack/deployment.yaml", "--device=cuda", "--devices=cuda", "gpu-rack: Refused"),
    ("overlays/gpu-rack/deployment.yaml", '"--device=cuda"', '"--device=cpu"', "device is cpu"),
    ("base/kustomization.yaml", "newTag: 0.1.0", "newTag: 0.0.9", "the image is"),
    # Comments.
    ("base/deployment.yaml", "  # --drain=30s, and 15 s for the process to end", "", "a number without a comment"),
    ("base/deployment.yaml", "--drain=30s", "--drain_s=30", "no flag --drain_s"),
    ("base/deployment.yaml", "--drain=30s", "--drain=20s", "--drain is 30s, not 20s"),
    ("base/service.yaml", "  # --listen", "  # the port", "the comment names no flag"),
    ("components/mig/slice.yaml", "# --device=cuda takes", "# takes", "the comment names no flag"),
    # The form of objects.
    ("base/deployment.yaml", "mountPath: /etc/basebandd\n", "mountpath: /etc/basebandd\n", "has no field mountpath"),
    ("base/deployment.yaml", "periodSeconds: 10", 'periodSeconds: "10"', "not of type int"),
    ("base/disruption-budget.yaml", "spec:\n", "spec:\n  minimum: 1\n", "has no field minimum"),
    ("base/service.yaml", "      port: 50151  # --listen\n", "", "lacks port"),
    ("components/monitoring/service-monitor.yaml", "interval:", "scrapeInterval:", "has no field scrapeInterval"),
    ("components/certificate/certificate.yaml", "secretName: basebandd-tls", "", "lacks secretName"),
    # The pod and its volumes.
    ("base/deployment.yaml", "enableServiceLinks: false", "enableServiceLinks: true", "enableServiceLinks"),
    ("base/deployment.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "securityContext is"),
    ("base/deployment.yaml", "runAsNonRoot: true", "runAsNonRoot: false", "securityContext is"),
    ("base/deployment.yaml", "      automountServiceAccountToken: false\n", "", "a token"),
    ("base/deployment.yaml", "mountPath: /etc/basebandd-tls", "mountPath: /etc/basebandd-crt", "tls.crt is in no volume"),
    ("base/deployment.yaml", "mountPath: /run/basebandd-admin", "mountPath: /run/admin", "can be written to"),
    ("overlays/cpu-lab/deployment.yaml", "      volumes:\n        - name: tls\n          $patch: delete\n", "", "are not the volumes"),
    # What selects what.
    ("base/deployment.yaml", "maxUnavailable: 0", "maxUnavailable: 1", "before new ones are ready"),
    ("base/service.yaml", "clusterIP: None", "type: ClusterIP", "cluster IP"),
    ("base/network-policy.yaml", "port: grpc", "port: metrics", "the metrics are open to"),
    ("base/network-policy.yaml", "[Ingress, Egress]", "[Ingress]", "policies close"),
    ("base/network-policy.yaml", 'matchLabels:\n              baseband-offload/client: "true"', "{}", "everybody may reach"),
    ("components/autoscaling/kustomization.yaml", "path: /spec/replicas", "path: /spec/strategy/type", "no say"),
    ("components/autoscaling/autoscaler.yaml", "name: baseband_queue_age_seconds", "name: baseband_queue_age", "the adapter makes"),
    ("components/autoscaling/prometheus-adapter-values.yaml", "(baseband_device_healthy{", "(baseband_gpu_healthy{", "no metric"),
    ("components/certificate/certificate.yaml", "secretName: basebandd-tls", "secretName: basebandd-crt", "a Secret of its own"),
    # Where pods run, and what they share.
    ("components/priority/kustomization.yaml", "value: basebandd", "value: baseband", "no PriorityClass baseband"),
    ("components/priority/priority-class.yaml", "value: 1000000 ", "value: 2000000000 ", "the cluster's own"),
    ("components/priority/priority-class.yaml", "globalDefault", "default", "has no field default"),
    ("components/exclusive-cores/nodes.yaml", "exclusive-cores:", "cores:", "pods go to"),
    ("components/exclusive-cores/kubelet-configuration.yaml", "single-numa-node", "best-effort", "no exclusive cores"),
    ("components/exclusive-cores/kubelet-configuration.yaml", "2148Mi", "2Gi", "the kubelet does not start"),
    ("base/deployment.yaml", 'cpu: "8"', 'cpu: "9"', "no even number of cores"),
    ("components/mps/nodes.yaml", ": mps", ": time-slicing", "pods go to"),
    ("components/mps/device-plugin.yaml", "mps:", "timeSlicing:", "by mps"),
    ("components/mps/device-plugin.yaml", "replicas: 4", "replicas: 1", "not a part of a GPU"),
    ("components/mps/share.yaml", "per-hour=0", "per-hour=4", "other MPS clients hold"),
    ("components/time-slicing/device-plugin.yaml", "name: nvidia.com/gpu", "name: nvidia.com/gpus", "by timeSlicing"),
    ("components/time-slicing/turns.yaml", "=block", "=spin", "lanes spin while others"),
    ("components/monitoring/kustomization.yaml", "namespace: baseband\n", "", "in another namespace than its pods"),
    ("overlays/gpu-rack/deployment.yaml", "*gpu", '{nvidia.com/gpu: "1", hugepages-2Mi: 1Gi}', "maps none of hugetlbfs"),
    ("components/monitoring/prometheus-rule.yaml", "alert: ", "alert:  ", "run make-rule.sh"),
    ("../prometheus/rules.yml", "groups:", "# Changed.\ngroups:", "run make-rule.sh"),
    # Envoy, what is around it, and basebandd behind it.
    ("components/envoy/behind.yaml", "/basebandd.sock", "/server.sock", "Envoy connects to"),
    ("components/envoy/behind.yaml", "mode=0660", "mode=0600", "keeps Envoy out"),
    ("components/envoy/behind.yaml", "--allow=admin=uid:65532", "--allow=user=uid:65531", "who has a role by"),
    ("components/envoy/behind.yaml", "--tokens-file=/etc/basebandd-tokens/tokens", "--log-level=info", "without a token"),
    ("components/envoy/behind.yaml", "0/ports/0", "0/ports/1", "and basebandd listens at"),
    ("components/envoy/sidecar.yaml", "runAsUser: 65531", "runAsUser: 65532", "or basebandd's own"),
    ("components/envoy/sidecar.yaml", "restartPolicy: Always", "restartPolicy: OnFailure", "no sidecar"),
    ("components/envoy/sidecar.yaml", "- /etc/envoy/envoy.yaml", "- /etc/envoy.yaml", "Envoy is started with"),
    ("components/envoy/sidecar.yaml", "containerPort: 50151", "containerPort: 50152", "and it listens at"),
    ("components/envoy/sidecar.yaml", "path: /ready", "path: /readyz", "asks for what it does not have"),
    ("components/envoy/sidecar.yaml", "memory: 4Gi", "memory: 3Gi", "leaves no room"),
    ("components/envoy/sidecar.yaml", 'cpu: "2"', "cpu: 1500m", "no number of whole cores"),
    ("components/envoy/sidecar.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "securityContext is"),
    ("components/envoy/sidecar.yaml", "mountPath: /run/basebandd\n", "mountPath: /run/envoy\n", "is in no volume"),
    ("components/envoy/kustomization.yaml", ", authority.yaml", "", "has no secret authority"),
    ("components/envoy/service.yaml", "port: 9152", "port: 9153", "the Service's ports are not"),
    ("components/envoy/network-policy.yaml", "port: envoy-metrics", "port: metrics", "policies open"),
    ("components/envoy/certificate.yaml", "watched_directory", "watched_folder", "is not noticed"),
    ("components/envoy/authority.yaml", "/ca.crt", "/authority.crt", "are not in the Secret"),
    (ENVOY, "  id: basebandd\n", "", "would not start"),
    (ENVOY, "require_client_certificate: true", "require_client_certificate: false", "who shows no certificate"),
    (ENVOY, "[h2]", "[h2, http/1.1]", "more than HTTP/2"),
    (ENVOY, "SANITIZE", "APPEND_FORWARD", "x-forwarded-client-cert goes on"),
    (ENVOY, "[x-forwarded-for, ", "[", "x-forwarded-for is believed"),
    (ENVOY, "use_remote_address: true", "use_remote_address: false", "x-forwarded-for is believed"),
    (ENVOY, "generate_request_id: false", "generate_request_id: true", "x-request-id is Envoy's"),
    (ENVOY, "Baseband/Submit}", "Baseband/Submits}", "no methods ['/baseband.v1.Baseband/Submits']"),
    (ENVOY, "Baseband/Minimize}", "Baseband/Encode}", "Minimize may be silent for 60s"),
    (ENVOY, "prefix: /baseband.v1.Baseband/", "prefix: /baseband.v1.", "is open to strangers"),
    (ENVOY, "{grpc: {}, prefix", "{prefix", "what is not gRPC"),
    (ENVOY, "{cluster: admin}", "{cluster: administration}", "no cluster administration"),
    (ENVOY, "- exact: /stats/prometheus", "- exact: /quitquitquit", "can be had, and"),
    (ENVOY, "address: 127.0.0.1", "address: 0.0.0.0", "Envoy's administration is at"),
    (ENVOY, "bypass_overload_manager: true", "bypass_overload_manager: false", "answers no probe"),
    (ENVOY, "max_request_headers_kb: 6", "max_request_headers_kb: 8", "bytes of headers, more"),
    (ENVOY, "max_concurrent_streams: 64", "max_concurrent_streams: 2048", "streams a connection, more"),
    (ENVOY, "_connections: 256", "_connections: 8192", "Envoy takes 8192 connections"),
    (ENVOY, "idle_timeout: 5s", "idle_timeout: 50s", "clients who come and go use up"),
    (ENVOY, "max_requests: 65536", "max_requests: 1024", "than it hands on"),
    (ENVOY, "_duration: 600s  # --max-connection-age=600s", "_duration: 9s  # no flag:", "find new pods later"),
    (ENVOY, "numerator: 100", "numerator: 1", "counted, not limited"),
    (ENVOY, "- key: masked_remote_address", "- key: remote_address", "share one bucket"),
    (ENVOY, "resource_exhausted: true", "resource_exhausted: false", "told to go elsewhere"),
    (ENVOY, "downstream_connection: true", "downstream_connection: false", "clients share connections"),
    (ENVOY, "value: 0  #", "value: 50  #", "a basebandd that is not ready"),
    (ENVOY, "grpc_health_check", "tcp_health_check", "does not learn how basebandd is"),
    (ENVOY, "no_traffic_interval: 1s", "no_traffic_interval: 60s", "notices late"),
    (ENVOY, "connection_window_size: 2097152", "connection_window_size: 16777216", "within their limits can hold"),
    (ENVOY, "stream_window_size: 1048576", "stream_window_size: 2097152", "use up the window"),
    (ENVOY, "value: 0.95  # no flag: calls", "value: 0.70  # no flag: calls", "the steps of overload are"),
    ("components/metrics-token/kustomization.yaml", "0/basicAuth", "0/basicAuthentication", "has no token, and"),
)


class ManifestsTest(unittest.TestCase):
    def test_every_overlay_and_component_is_right(self):
        self.assertEqual(checks.problems(TREE, PROGRAM, METRICS), [])

    def test_every_mistake_is_found(self):
        for file, old, new, word in MUTATIONS:
            with self.subTest(file=file, new=new), tempfile.TemporaryDirectory() as folder:
                for name in ("kubernetes", "prometheus"):
                    shutil.copytree(TOP / "deploy" / name, pathlib.Path(folder, name))
                tree = pathlib.Path(folder, "kubernetes")
                text = (tree / file).read_text()
                self.assertIn(old, text)
                (tree / file).write_text(text.replace(old, new))
                found = checks.problems(tree, PROGRAM, METRICS)
                self.assertTrue([p for p in found if word in p], f"no '{word}' in {found}")

    def test_variables_of_services_would_keep_basebandd_from_starting(self):
        with self.assertRaises(basebandd.Refused):
            PROGRAM.settings([], environment={"BASEBANDD_METRICS_SERVICE_HOST": "10.0.0.1"})

    def test_kubectl_renders_the_same(self):
        if not _has_kustomize_5():
            self.skipTest("no kubectl with kustomize 5, which Debian 12 does not package")
        for case in checks.CASES:
            with self.subTest(case=case), tempfile.TemporaryDirectory() as folder:
                checks.write_case(TREE, case, folder)
                done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(_by_name(yaml.safe_load_all(done.stdout)), _by_name(kustomize.render(folder)))


def _has_kustomize_5():
    try:
        done = subprocess.run(["kubectl", "version", "--client"], capture_output=True, text=True)
    except FileNotFoundError:
        return False
    return re.search(r"Kustomize Version: v[5-9]", done.stdout) is not None


def _by_name(objects):
    """By kind and name, each ConfigMap's hash put aside: which digits it has is kustomize's affair."""
    text = re.sub(r"(basebandd-(?:config|envoy))-\w{10}\b", r"\1-HASH", yaml.safe_dump_all(objects))
    return {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(text)}


if __name__ == "__main__":
    PROGRAM = basebandd.Basebandd(sys.argv.pop(1))
    unittest.main()
