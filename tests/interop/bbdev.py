#!/usr/bin/env python3
"""Runs DPDK's own dpdk-test-bbdev, as it is packaged, over the driver of client/bbdev and a server.

  bbdev.py BUILD [OPTION ...] [VECTOR ...]

A VECTOR is a file of test-bbdev's format or a folder of some, of which those of LDPC are taken; none:
tests/vectors/bbdev. Each is run with the device's HARQ memory, and those with soft bits once more
with soft bits in mbufs, in the cases that it knows: validation, latency, throughput, bler.

  --match PATTERN   only vectors whose name matches it, a pattern of the shell; repeatable
  --cases LIST      of those cases, separated by commas
  --ops N           operations of a case [32]; throughput runs them 100 times on each core
  --burst N         of them enqueued at once [16]
  --cores N         that test-bbdev keeps busy, each with a queue of its own [2]
  --strict          what test-bbdev skipped counts as failed
  --ends            not vectors: the server is killed, drained, away, and started again under test-bbdev
  --limit-s S       after which one run of test-bbdev has failed [120]
  --server PATH     another basebandd; --driver PATH: another driver
  --preload LIB     into test-bbdev: libasan.so, say, for a driver that was built so
  --keep            what test-bbdev printed, in ./bbdev-logs

A vector's expected_iter_count is what the decoder may take: test-bbdev itself does not look at it, but
lets all take what its option -t says. Its bler sends the vector's own signs through noise; where none
of them is wrong, as a comment in ours tells, at 30 dB no block may fail. The last line is
`N passed, N failed`, of cases; the exit status is 0 iff none failed, and some passed.
"""
import argparse
import contextlib
import ctypes
import fnmatch
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
TOOL = "dpdk-test-bbdev"
CASES = ["validation", "latency", "throughput", "bler"]
SUITES = {"Validation": "validation", "Latency": "latency", "Throughput": "throughput", "BLER": "bler"}
START_S = 20
FAILURE = re.compile(r"^(TestCase \w+\(\) line \d+ failed.*|HARQ \w+.*|Couldn't .*|EAL: .*(?:[Ee]rror|[Cc]annot|[Ff]ailed).*|"
                     r"Flag Mismatch|Too many .*|baseband_offload: .*|No suitable devices found!)$", re.MULTILINE)
FORGIVEN = "WARNING: Ignore Syndrome Check mismatch"
SANITIZER = re.compile(r"^.*(?:runtime error|Sanitizer).*$", re.MULTILINE)


def die_with_parent():
    """Of a process before it begins: whoever kills this one, ctest say, leaves none behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Server:
    """A basebandd on the CPU, with rings at a socket of its own."""

    def __init__(self, program, folder):
        self._program = program
        self._folder = folder
        self._process = None
        self.socket = folder / "shm.sock"

    def start(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("BASEBAND")}
        log = (self._folder / "basebandd.log").open("ab")
        self._process = subprocess.Popen(
            [self._program, "--device=cpu", f"--listen=unix:{self._folder}/grpc.sock",
             f"--shm-listen=unix:{self.socket}", "--metrics-listen=off"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, preexec_fn=die_with_parent)
        end = time.monotonic() + START_S
        while not is_listening(self.socket):
            if self._process.poll() is not None or time.monotonic() > end:
                sys.exit(f"bbdev.py: {self._program} does not serve:\n{self.log()}")
            time.sleep(0.02)

    def stop(self, how=signal.SIGKILL):
        """False: it did not go by itself."""
        if self._process is None:
            return True
        self._process.send_signal(how)
        try:
            self._process.wait(START_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return False
        finally:
            self._process = None
        return True

    def lives(self):
        return self._process is not None and self._process.poll() is None

    def log(self):
        return (self._folder / "basebandd.log").read_text(errors="replace")


def is_listening(path):
    with contextlib.suppress(OSError):
        listening = pathlib.Path("/proc/net/unix").read_text()
        return re.search(rf" 01 \s*\d+ {re.escape(str(path))}$", listening, re.MULTILINE) is not None
    return False


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


class Count:
    def __init__(self, is_strict):
        self._is_strict = is_strict
        self.passed = self.failed = self.skipped = 0

    def add(self, verdict):
        if verdict == "passed":
            self.passed += 1
        elif verdict == "skipped" and not self._is_strict:
            self.skipped += 1
        else:
            self.failed += 1


def run_vectors(options, server, count):
    for vector in options.vectors:
        cases = [case for case in vector.cases() if case in options.cases]
        for kind, device in vector.devices().items() if cases else ():
            print(f"{vector.name}{kind}: {run_cases(options, server, vector, cases, kind, device, count)}",
                  flush=True)
            if not server.lives():
                count.add("failed")
                print(f"{vector.name}{kind}: the server ended:\n{server.log()[-2000:]}")
                server.stop()
                server.start()


def run_cases(options, server, vector, cases, kind, device, count):
    """One process for all cases of a vector; a line on what became of each."""
    run = Run(options, server, vector, cases, device)
    text, status = run.finish()
    keep(options, vector.name + kind.replace(" ", "_"), run.command, text)
    before, parts = suites(text)
    if not parts:  # it came to none
        for _ in cases:
            count.add("failed")
        return f"failed, {ending(status) or failure_line(before)}"
    told = []
    failed_before = count.failed
    for case in cases:
        verdict, why = judge(case, vector, parts.get(case), status)
        count.add(verdict)
        if verdict == "passed":
            verdict = "ok" if case != "bler" or vector.has_no_noise() else "ran"
        told.append(f"{case} {verdict}{', ' + why if why else ''}")
    if found := SANITIZER.search(text):
        count.add("failed")
        told.append(f"memory failed, {found[0]}")
    elif status != 0 and count.failed == failed_before:
        count.add("failed")
        told.append(f"end failed, {ending(status) or f'exit status {status}'}")
    return "; ".join(told)


def keep(options, name, command, text):
    if options.keep:
        folder = pathlib.Path("bbdev-logs")
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.log").write_text(f"{' '.join(map(str, command))}\n{text}")


# ------------------------------------------------------------------------------------ ends of servers

ENDS = TOP / "tests/vectors/bbdev/ldpc_dec_bg1_z208_crc24b_dropped.data"


def expect(count, name, is_true, why):
    count.add("passed" if is_true else "failed")
    print(f"{name}: {'ok' if is_true else 'failed, ' + why}", flush=True)


def tail(text):
    return "\n".join(text.splitlines()[-15:])


def run_ends(options, server, count):
    """The server goes while test-bbdev has work: it ends by itself, sees operations that failed, and
    is right again once there is a server."""
    vector = Vector(ENDS)

    def begin(cases=("throughput",)):
        run = Run(options, server, vector, cases, ops=256, burst=64)
        end = time.monotonic() + START_S
        while "== test: throughput" not in run.text() and run.is_running() and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.5)
        return run

    def went_on(name, run, how):
        expect(count, f"{name}: is running until then", run.is_running(), f"ended too early:\n{tail(run.text())}")
        expect(count, f"{name}: the server goes", server.stop(how), "it had to be killed")

    def ended(name, run):
        text, status = run.finish()
        keep(options, name.replace(" ", "_"), run.command, text)
        expect(count, f"{name}: test-bbdev ends", status is not None, f"not after --limit-s:\n{tail(text)}")
        expect(count, f"{name}: and by itself", status is None or status >= 0, f"status {status}:\n{tail(text)}")
        return text

    def is_right(name):
        text, status = Run(options, server, vector, ("validation",)).finish()
        expect(count, f"{name}: the next run is right", status == 0 and "validation_tc passed" in text, tail(text))

    for name, how in (("killed for good", signal.SIGKILL), ("drained for good", signal.SIGTERM)):
        run = begin()
        went_on(name, run, how)
        text = ended(name, run)
        expect(count, f"{name}: operations end with an error",
               re.search(r"op_status \([1-9]\d*\) != expected_status \(0\)", text) is not None, tail(text))
        server.start()
        is_right(name)

    name = "killed and started again"  # which test-bbdev, that sees operations fail at once, does not wait for
    run = begin(("throughput", "validation"))
    run.signal(signal.SIGSTOP)
    went_on(name, run, signal.SIGKILL)
    server.start()
    run.signal(signal.SIGCONT)
    text = ended(name, run)
    expect(count, f"{name}: the same process goes on with the new one", "validation_tc passed" in text, tail(text))
    is_right(name)

    name = "away from the start"
    server.stop()
    text, status = Run(options, server, vector, ("validation",)).finish()
    expect(count, f"{name}: test-bbdev ends by itself", status is not None and status >= 0, tail(text))
    expect(count, f"{name}: and says why", "no server at" in text, tail(text))
    server.start()
    is_right(name)


# --------------------------------------------------------------------------------------- command line

def vectors_of(arguments, patterns):
    paths = []
    for argument in arguments or [TOP / "tests/vectors/bbdev"]:
        path = pathlib.Path(argument)
        paths += sorted(path.glob("*.data")) if path.is_dir() else [path]
    if missing := [str(path) for path in paths if not path.is_file()]:
        sys.exit(f"bbdev.py: no such file: {', '.join(missing)}")
    vectors = [vector for vector in map(Vector, paths) if vector.is_ldpc and
               (not patterns or any(fnmatch.fnmatch(vector.name, pattern) for pattern in patterns))]
    return vectors or sys.exit("bbdev.py: no vectors of LDPC")


def parse():
    parser = argparse.ArgumentParser(usage="bbdev.py BUILD [OPTION ...] [VECTOR ...]", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("vectors", nargs="*")
    parser.add_argument("--match", action="append", default=[])
    parser.add_argument("--cases", default=",".join(CASES), type=lambda text: text.split(","))
    parser.add_argument("--ops", type=int, default=32)
    parser.add_argument("--burst", type=int, default=16)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--ends", action="store_true")
    parser.add_argument("--limit-s", type=float, default=120)
    parser.add_argument("--server", type=pathlib.Path)
    parser.add_argument("--driver", type=pathlib.Path)
    parser.add_argument("--preload", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_intermixed_args()
    build = options.build.resolve()
    options.server = options.server or build / "server/basebandd"
    options.driver = (options.driver or build / "client/bbdev/librte_baseband_offload.so").resolve()
    for path in (options.server, options.driver):
        if not path.is_file():
            sys.exit(f"bbdev.py: {path} is not there")
    if shutil.which(TOOL) is None:
        sys.exit(f"bbdev.py: {TOOL} is not there: package dpdk-dev")
    if unknown := set(options.cases) - set(CASES):
        sys.exit(f"bbdev.py: --cases: no {', '.join(sorted(unknown))}")
    options.cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:options.cores]))
    options.environment = {"LD_PRELOAD": str(options.preload)} if options.preload else {}
    options.vectors = vectors_of(options.vectors, options.match)
    return options


def main():
    options = parse()
    count = Count(options.strict)
    with tempfile.TemporaryDirectory(prefix="bbdev-") as folder:
        server = Server(options.server, pathlib.Path(folder))
        server.start()
        try:
            (run_ends if options.ends else run_vectors)(options, server, count)
        finally:
            server.stop()
    if count.skipped:
        print(f"{count.skipped} skipped")
    print(f"{count.passed} passed, {count.failed} failed")
    return 0 if count.passed and not count.failed else 1


if __name__ == "__main__":
    sys.exit(main())
