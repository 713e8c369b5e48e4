"""The files of deploy/systemd and docker say what basebandd and basebandctl know, and their numbers agree.

    files_test.py BASEBANDD BASEBANDCTL
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/deploy/kubernetes"))
from basebandd import Basebandd  # noqa: E402
import comments  # noqa: E402

SYSTEMD = TOP / "deploy/systemd"
DOCKER = TOP / "docker"
GRACE_SECONDS = 2  # so long after --drain the process ends, whatever is stuck: server/main.cc

SERVER = CTL = None  # the programs, from the command line


def directives(text, name):
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


def seconds(text):
    return int(re.fullmatch(r"([0-9]+)s?", text)[1])


def ctl_flags(command):
    done = subprocess.run([CTL, *command, "--help"], capture_output=True, text=True, check=True)
    return set(re.findall(r"^ *(?:-h,)?(--[a-z-]+)", done.stdout, re.MULTILINE))


class Flags(unittest.TestCase):
    """A flag that a file names, and a value it is said to have: `--lanes`, `--lanes (4)`."""

    def check(self, path, also=()):
        known = SERVER.flags | {flag[2:] for flag in ctl_flags([])} | set(also)
        named = re.findall(r"--([a-z][a-z_-]*)(?: \(([^)]*)\))?", path.read_text())
        self.assertTrue(named)
        for flag, value in named:
            with self.subTest(file=path.name, flag=flag):
                self.assertIn(flag, known)
                if value:
                    self.assertEqual(str(SERVER.settings([])[flag.replace("-", "_")]), value)

    def test_unit_names_flags_that_exist(self):
        self.check(SYSTEMD / "basebandd.service")

    def test_dockerfile_names_flags_that_exist(self):
        self.check(DOCKER / "Dockerfile", also=["build-arg", "chown", "format", "from", "interval", "retries",
                                                "start-period", "time"])  # of Docker

    def test_users_definition_names_flags_that_exist(self):
        self.check(SYSTEMD / "basebandd.sysusers")


class Scripts(unittest.TestCase):
    """Whoever asks a script what it does is told, and nothing else happens."""

    def test_every_script_tells_what_its_head_says(self):
        scripts = [path for folder in ("deploy", "docker", "tests") for path in (TOP / folder).rglob("*.sh")
                   if path.read_text().startswith("#!/usr/bin/env bash")]
        self.assertGreater(len(scripts), 10)
        with tempfile.TemporaryDirectory() as empty:  # no tool is found: nothing could be built
            for tool in ("bash", "dirname", "sed"):
                pathlib.Path(empty, tool).symlink_to(shutil.which(tool))
            for path in scripts:
                head = re.match(r"#!.*\n((?:#.*\n)+)set ", path.read_text())
                for flag in ("-h", "--help"):
                    with self.subTest(script=path.name, flag=flag):
                        done = subprocess.run([path, flag], capture_output=True, text=True, env={"PATH": empty}, timeout=60)
                        self.assertEqual((done.returncode, done.stderr), (0, ""))
                        self.assertEqual(done.stdout, re.sub("^# ?", "", head[1], flags=re.MULTILINE))

    def test_a_flag_that_is_not_known_is_refused_at_once(self):
        for script in ("deploy/run.sh", "deploy/build.sh", "deploy/packages.sh", "docker/build.sh", "docker/packages.sh",
                       "tests/deploy/images.sh", "tests/deploy/packages.sh", "tests/deploy/systemd.sh",
                       "tests/deploy/debian.sh", "tests/fuzz/run.sh", "tests/soak/run.sh"):
            with self.subTest(script=script):
                done = subprocess.run([TOP / script, "--nonsense"], capture_output=True, text=True, timeout=60)
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, "nonsense|" + re.escape(script))


class Systemd(unittest.TestCase):
    def setUp(self):
        self.unit = (SYSTEMD / "basebandd.service").read_text()
        self.conf = (SYSTEMD / "basebandd.conf").read_text()
        self.settings = SERVER.settings(["--config=CONF"], {"CONF": self.conf})

    def number(self, name):
        return int(directives(self.unit, name)[0])

    def test_basebandd_takes_the_settings(self):
        self.assertIn("unix:/run/basebandd/basebandd.sock", self.settings["listen"])

    def test_settings_that_are_commented_out_are_all_others_at_their_defaults(self):
        defaults = SERVER.settings([])
        active = set(re.findall(r"^([a-z_]+) =", self.conf, re.MULTILINE))
        shown = re.findall(r"^#([a-z_]+ = .*)$", self.conf, re.MULTILINE)
        self.assertEqual(sorted([line.split()[0] for line in shown] + list(active)), sorted(defaults))
        self.assertEqual(SERVER.settings(["--config=CONF"], {"CONF": "\n".join(shown)}), defaults)

    def test_basebandd_takes_the_environment(self):
        lines = re.findall(r"^#?(BASEBANDD_[A-Z_]+)=(.*)$", (SYSTEMD / "basebandd.env").read_text(), re.MULTILINE)
        self.assertTrue(lines)
        SERVER.settings([], environment=dict(lines))

    def test_unit_starts_basebandd_with_the_settings_beside_it(self):
        self.assertEqual(directives(self.unit, "ExecStart"),
                         ["/usr/bin/basebandd --config=/etc/basebandd/basebandd.conf"])
        self.assertEqual(directives(self.unit, "EnvironmentFile"), ["-/etc/basebandd/basebandd.env"])
        conffiles = (TOP / "deploy/debian/conffiles").read_text().split()
        self.assertEqual(conffiles, ["/etc/basebandd/basebandd.conf", "/etc/basebandd/basebandd.env"])

    def test_sockets_lie_in_the_folder_that_the_unit_makes_for_the_user_it_names(self):
        for address in self.settings["listen"]:
            if address.startswith("unix:"):
                folder = pathlib.PurePath(address[5:]).parent
                self.assertEqual([str(folder)], [f"/run/{name}" for name in directives(self.unit, "RuntimeDirectory")])
        users = re.findall(r"^u (\S+)", (SYSTEMD / "basebandd.sysusers").read_text(), re.MULTILINE)
        self.assertEqual(directives(self.unit, "User"), users)

    def test_systemd_waits_for_a_drain_to_end(self):
        self.assertGreater(self.number("TimeoutStopSec"), seconds(self.settings["drain"]) + GRACE_SECONDS)

    def test_a_stuck_device_is_given_up_before_the_process_is(self):
        self.assertGreater(self.number("WatchdogSec"), seconds(self.settings["watchdog"]) * 5 / 4)

    def test_every_connection_may_have_a_descriptor(self):
        self.assertGreater(self.number("LimitNOFILE"), self.settings["max_connections"])

    def test_only_wrong_settings_and_a_second_signal_are_not_tried_again(self):
        self.assertEqual(directives(self.unit, "RestartPreventExitStatus"), ["1 130"])
        self.assertEqual(directives(self.unit, "Restart"), ["on-failure"])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze here")
    def test_systemd_understands_the_unit(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "basebandd.service")
            copy.write_text(self.unit.replace("/usr/bin/basebandd", "/bin/true"))
            done = subprocess.run(["systemd-analyze", "--man=no", "verify", copy], capture_output=True, text=True)
            of_others = [line for line in done.stderr.splitlines() if "basebandd" not in line]
            self.assertEqual(done.stderr.splitlines(), of_others)


class Image(unittest.TestCase):
    def setUp(self):
        self.file = (DOCKER / "Dockerfile").read_text()

    def test_version_is_that_of_the_programs(self):
        self.assertEqual(re.findall(r"^ARG VERSION=(.*)$", self.file, re.MULTILINE), [SERVER.version])

    def test_exposed_ports_are_where_basebandd_listens(self):
        settings = SERVER.settings([])
        ports = [address.rpartition(":")[2] for address in [*settings["listen"], settings["metrics_listen"]]]
        self.assertEqual(re.findall(r"^EXPOSE (.*)$", self.file, re.MULTILINE), [" ".join(ports)])

    def test_health_check_is_a_command_of_basebandctl(self):
        program, *arguments = json.loads(re.search(r"HEALTHCHECK[^\[]*(\[.*\])", self.file)[1])
        self.assertEqual(program, "/usr/local/bin/basebandctl")
        done = subprocess.run([CTL, "--target=127.0.0.1:1", *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)  # understood: there is nobody to connect to

    def test_lock_has_every_package_of_the_build(self):
        lock = (DOCKER / "packages.lock").read_text()
        locked = {line.partition("=")[0] for line in lock.splitlines() if not line.startswith("#")}
        wanted = subprocess.run([TOP / "deploy/packages.sh", "--list", "build"], capture_output=True, text=True, check=True)
        self.assertLessEqual({*wanted.stdout.split(), "ca-certificates"}, locked)


class Compose(unittest.TestCase):
    def setUp(self):
        self.text = (DOCKER / "compose.yaml").read_text()
        self.services = yaml.safe_load(self.text)["services"]
        self.server = self.services["server"]
        self.settings = SERVER.settings(self.server["command"])

    def test_every_number_names_the_flag_it_sets(self):
        known = SERVER.flags | {"build", "rm"}  # of docker compose
        self.assertEqual(list(comments.problems("compose.yaml", self.text, known, self.settings)), [])
        gpu = (DOCKER / "compose.gpu.yaml").read_text()
        environment = yaml.safe_load(gpu)["services"]["server"]["environment"]
        settings = SERVER.settings(self.server["command"], environment=environment)
        self.assertEqual(settings["device"], "cuda")
        self.assertEqual(list(comments.problems("compose.gpu.yaml", gpu, known, settings)), [])

    def test_published_ports_are_where_the_server_listens_and_reachable_from_this_host_only(self):
        ports = [address.rpartition(":")[2] for address in [*self.settings["listen"], self.settings["metrics_listen"]]]
        self.assertEqual(self.server["ports"], [f"127.0.0.1:{port}:{port}" for port in ports])
        for name, service in self.services.items():
            for port in service.get("ports", []):
                self.assertRegex(port, "^127.0.0.1:", name)

    def test_docker_waits_for_a_drain_to_end(self):
        self.assertGreater(seconds(self.server["stop_grace_period"]), seconds(self.settings["drain"]) + GRACE_SECONDS)

    def test_every_connection_may_have_a_descriptor(self):
        self.assertGreater(self.server["ulimits"]["nofile"], self.settings["max_connections"])

    def test_load_tester_knows_its_command_and_where_the_server_is(self):
        load = self.services["load"]
        command = [argument.partition("=")[0] for argument in [*load["entrypoint"][1:], *load["command"]]]
        self.assertLessEqual({word for word in command if word.startswith("--")}, ctl_flags([]) | ctl_flags(["load"]))
        port = self.settings["listen"][0].rpartition(":")[2]
        self.assertEqual(load["environment"]["BASEBAND_TARGET"], f"server:{port}")

    def test_prometheus_looks_where_the_metrics_are(self):
        targets = yaml.safe_load((DOCKER / "targets.yml").read_text())
        port = self.settings["metrics_listen"].rpartition(":")[2]
        self.assertEqual(targets, [{"targets": [f"server:{port}"]}])

    def test_nothing_may_be_written_and_no_privilege_is_left(self):
        for name, service in self.services.items():
            with self.subTest(service=name):
                self.assertTrue(service["read_only"])
                self.assertEqual(service["cap_drop"], ["ALL"])
                self.assertIn("no-new-privileges:true", service["security_opt"])

    def test_mounted_files_are_there(self):
        for service in self.services.values():
            for volume in service.get("volumes", []):
                source = volume.partition(":")[0]
                if source.startswith("."):
                    self.assertTrue((DOCKER / source).exists(), source)


if __name__ == "__main__":
    SERVER, CTL = Basebandd(sys.argv[1]), sys.argv[2]
    unittest.main(argv=sys.argv[:1], verbosity=2)
