"""Of bbdev.py: vectors, runs of test-bbdev, and what it says of them."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from bbdev_server import die_with_parent

TOOL = "dpdk-test-bbdev"
CASES = ["validation", "latency", "throughput", "bler"]
SUITES = {"Validation": "validation", "Latency": "latency", "Throughput": "throughput", "BLER": "bler"}
FAILURE = re.compile(r"^(TestCase \w+\(\) line \d+ failed.*|HARQ \w+.*|Couldn't .*|EAL: .*(?:[Ee]rror|[Cc]annot|[Ff]ailed).*|"
                     r"Flag Mismatch|Too many .*|baseband_offload: .*|No suitable devices found!)$", re.MULTILINE)
FORGIVEN = "WARNING: Ignore Syndrome Check mismatch"
SANITIZER = re.compile(r"^.*(?:runtime error|Sanitizer).*$", re.MULTILINE)


class Vector:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        text = path.read_text()
        self._text = text
        self.is_decode = "RTE_BBDEV_OP_LDPC_DEC" in text
        self.is_ldpc = self.is_decode or "RTE_BBDEV_OP_LDPC_ENC" in text

    def number(self, key):
        found = re.search(rf"^{key}\s*=\s*(\d+)", self._text, re.MULTILINE)
        return int(found[1]) if found else None

    def has(self, flag):
        return f"RTE_BBDEV_LDPC_{flag}" in self._text

    def cases(self):
        """That test-bbdev has for it."""
        # Its bler writes all LLRs into the first of several buffers, whatever comes behind it.
        is_scattered = re.search(r"^input1\b", self._text, re.MULTILINE)
        with_bler = self.is_decode and not is_scattered and not self.has("LLR_COMPRESSION") and not self.has(
            "INTERNAL_HARQ_MEMORY_LOOPBACK")
        return CASES if with_bler else CASES[:-1]

    def devices(self):
        """Arguments of the devices that it is for, by what they are called."""
        memory = {"": ""}
        if self.has("INTERNAL_HARQ") or not (self.has("HQ_COMBINE") and self.is_decode):
            return memory
        return {" in the device": "", " in mbufs": ",harq_mib=0"}

    def has_no_noise(self):
        return "# Wrong signs: 0 of" in self._text and re.search(r"expected_status\s*=\s*OK", self._text)


class Run:
    """One process of test-bbdev."""

    def __init__(self, options, server, vector, cases, device="", ops=None, burst=None):
        ops, burst = ops or options.ops, burst or options.burst
        self._prefix = f"bbdev-{os.getpid()}"
        command = ["stdbuf", "-oL", TOOL, "--no-huge", "--no-pci", "--no-shconf", f"--file-prefix={self._prefix}",
                   "--no-telemetry", "-m", "1024", "-l", options.cores, "-d", options.driver,
                   f"--vdev=baseband_offload0,socket={server.socket}{device}", "--",
                   "-n", str(ops), "-b", str(burst), "-v", str(vector.path), "-c", ",".join(cases),
                   "-s", "30"]
        if vector.number("expected_iter_count"):
            command += ["-t", str(vector.number("expected_iter_count"))]
        self.command = command
        self._limit_s = options.limit_s
        self._file = tempfile.TemporaryFile()
        self._begin = time.monotonic()
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._file, stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent,
            env={**os.environ, **options.environment, "XDG_RUNTIME_DIR": str(server.socket.parent)})
        self.is_late = False

    def is_running(self):
        return self._process.poll() is None

    def signal(self, which):
        self._process.send_signal(which)

    def finish(self):
        """What it printed, and its exit status: negative for a signal, None if it had to be killed."""
        try:
            self._process.wait(max(0.0, self._begin + self._limit_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.is_late = True
            self._process.kill()
            self._process.wait()
        shutil.rmtree(f"/var/run/dpdk/{self._prefix}", ignore_errors=True)  # root's, whatever the environment
        return self.text(), None if self.is_late else self._process.returncode

    def text(self):
        self._file.seek(0)
        return self._file.read().decode(errors="replace")


def suites(text):
    """What was printed, by case."""
    parts = re.split(r"^Starting Test Suite : BBdev (\w+) Tests$", text, flags=re.MULTILINE)
    return parts[0], {SUITES.get(name, name): part for name, part in zip(parts[1::2], parts[2::2])}


def failure_line(text):
    lines = FAILURE.findall(text)
    return lines[0] if lines else "without a word"


def figure(case, text):
    """What a case measured, in short."""
    if case == "latency" and (found := re.search(r"avg: .* cycles, ([\d.e+]+) us", text)):
        return f"{float(found[1]):.0f} us"
    if case == "throughput" and (found := re.search(r"Total throughput .* ([\d.e+]+) Mbps", text)):
        return f"{float(found[1]):.1f} Mb/s"
    if case == "bler" and (found := re.search(r"^SNR .* BLER ([\d.]+) %", text, re.MULTILINE)):
        return f"{found[1]} %"
    return ""


def ending(status):
    """Why a process did not end as it should, or nothing."""
    if status is None:
        return "not done after --limit-s"
    return "" if status >= 0 else signal.Signals(-status).name


def judge(case, vector, part, status):
    """(passed, failed or skipped; why, or what it measured)."""
    if part is None:
        return "failed", ending(status) or "never began"
    if re.search(r"TestCase \[ *\d+\] : \w+ passed", part):
        if FORGIVEN in part:  # and then the bits are not looked at either
            return "failed", "parity checks are not as expected, which test-bbdev forgives from -t 10 on"
        seen = figure(case, part)
        if case == "bler" and vector.has_no_noise() and seen != "0.0 %":
            return "failed", f"blocks fail at 30 dB: {seen}"
        return "passed", seen
    if "skipped" in part:
        return "skipped", failure_line(part)
    if "failed" not in part and ending(status):
        return "failed", ending(status)
    return "failed", failure_line(part)
