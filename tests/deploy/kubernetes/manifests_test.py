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

# What is changed where, and a word of what has to be found then.
MUTATIONS = (
    # The numbers and basebandd's settings.
    ("base/deployment.yaml", "terminationGracePeriodSeconds: 45", "terminationGracePeriodSeconds: 35", "cuts the drain short"),
    ("base/basebandd.conf", "drain_s = 30", "drain_s = 60", "cuts the drain short"),
    ("base/basebandd.conf", "drain_s = 30", "drain_secs = 30", "gpu-rack: Refused"),
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
    ("base/deployment.yaml", "failureThreshold: 6", "failureThreshold: 1", "watchdog_s 10 comes first"),
    ("base/basebandd.conf", "uid:65532", "uid:1000", "administer"),
    ("overlays/node-socket/pods.yaml", "runAsGroup: 2000", "runAsGroup: 3000", "the socket has the pod's group, 3000"),
    ("overlays/node-socket/basebandd.conf", "0660", "0600", "keeps out the group"),
    ("overlays/gpu-rack/deployment.yaml", "--device=cuda", "--device=gpu", "gpu-rack: Refused"),
    ("overlays/gpu-rack/deployment.yaml", "--device=cuda", "--devices=cuda", "gpu-rack: Refused"),
    ("overlays/gpu-rack/deployment.yaml", '"--device=cuda"', '"--device=cpu"', "device is cpu"),
    ("base/kustomization.yaml", "newTag: 0.1.0", "newTag: 0.0.9", "the image is"),
    # Comments.
    ("base/deployment.yaml", "  # --drain-s=30, and 15 s for the process to end", "", "a number without a comment"),
    ("base/deployment.yaml", "--drain-s=30", "--drain_s=30", "no flag --drain_s"),
    ("base/deployment.yaml", "--drain-s=30", "--drain-s=20", "--drain-s is 30, not 20"),
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
    ("components/monitoring/prometheus-rule.yaml", "alert: ", "alert:  ", "run make-rule.sh"),
    ("../prometheus/rules.yml", "groups:", "# Changed.\ngroups:", "run make-rule.sh"),
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
    text = re.sub(r"(basebandd-config)-\w{10}\b", r"\1-HASH", yaml.safe_dump_all(objects))
    return {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(text)}


if __name__ == "__main__":
    PROGRAM = basebandd.Basebandd(sys.argv.pop(1))
    unittest.main()
