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
import fnmatch
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

from bbdev_runs import CASES, SANITIZER, TOOL, Run, Vector, ending, failure_line, judge, suites
from bbdev_server import START_S, Server

TOP = pathlib.Path(__file__).resolve().parents[2]


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
