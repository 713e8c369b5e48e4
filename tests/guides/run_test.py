"""Every command and every sample output in the guides, by running them.

    run_test.py BUILD [--update] [GUIDE ...]

GUIDE is a path such as kernels/ldpc/README.md; none: all. --update writes what commands print now in
the place of samples that no longer match. markdown.py says how blocks are marked, samples.py how
they are compared.
"""

import argparse
import concurrent.futures
import difflib
import pathlib
import subprocess
import sys
import time

import markdown
import samples
from session import Session

PYTHON_GUIDE = "client/python/README.md"
AT_A_TIME = 3


class Run:
    """One guide from its first block to its last. `wrong` has what is not as the guide says."""

    def __init__(self, guide, build):
        self.guide = guide
        self.wrong = []
        self.commands = 0
        self.took_s = 0.0
        self.log = ""  # its server's
        self._build = build
        self._changes = []  # (first line, number of lines, new lines)
        self._printed = None  # by the last Python block
        self._python_setup = []

    def finish(self):
        """Runs it all; what cannot go on is wrong, too."""
        begin = time.monotonic()
        try:
            with Session(self._build, self.guide.server_flags()) as self._session:
                if self.guide.name != PYTHON_GUIDE and any(map(markdown.is_python_run, self.guide.blocks)):
                    self._set_up_python()
                for block in self.guide.blocks:
                    self._run(block)
                self.log = self._session.server_log()
        except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
            self.wrong.append(f"{self.guide.name} was not run to its end: {error}")
        self.took_s = time.monotonic() - begin
        return self

    def _set_up_python(self):
        for block in markdown.Guide(markdown.PROJECT / PYTHON_GUIDE).blocks:
            if "setup" in block.options:
                self._run(block)
        self._changes.clear()  # they are the other guide's

    def _run(self, block):
        if block.value("file"):
            self._session.write(block.value("file"), block.lines)
        elif block.language == "console":
            for command in markdown.commands(block):
                self._run_command(block, command)
        elif markdown.is_python_run(block):
            status, self._printed = self._session.run_python(self._python_setup + block.lines)
            self.commands += 1
            if status != 0:
                self._tell(block.line, ["a Python block ends with 0"], [*self._printed, f"exit status {status}"])
            if "setup" in block.options:
                self._python_setup += block.lines
        elif "output" in block.options:
            self._compare(block, block.line, block.lines, self._printed)

    def _run_command(self, block, command):
        status, printed = self._session.run(command.text)
        self.commands += 1
        while command.shown and not command.shown[-1].strip():
            command.shown.pop()
        while printed and not printed[-1].strip():
            printed.pop()
        if status != 0:
            self._tell(command.begin, [f"ends with 0: {command.text}"], [*printed, f"exit status {status}"])
        self._compare(block, command.begin, command.shown, printed)

    def _compare(self, block, line, shown, printed):
        measured = "measured" in block.options
        if not samples.matches(shown, printed, measured):
            self._tell(line, shown, printed)
            self._changes.append((line, len(shown), samples.updated(shown, printed, measured)))

    def _tell(self, line, shown, printed):
        difference = difflib.unified_diff(shown, printed, f"{self.guide.name}:{line}", "now", lineterm="", n=1)
        self.wrong.append("\n".join(difference))

    def update(self):
        lines = list(self.guide.lines)
        for first, count, new in reversed(self._changes):
            lines[first : first + count] = new
        self.guide.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return len(self._changes)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("guide", nargs="*")
    arguments = parser.parse_args()
    chosen = [g for g in markdown.guides() if g.name in arguments.guide or not arguments.guide]
    if len(chosen) < len(arguments.guide):
        sys.exit(f"not all of these are guides: {' '.join(arguments.guide)}")

    runs = [Run(guide, arguments.build.resolve()) for guide in chosen if guide.is_run()]
    if not runs:
        sys.exit("there was nothing to run")
    # Several at a time, for most of a guide is waiting; each has a server of its own.
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for run in pool.map(Run.finish, runs):
            name, commands = run.guide.name, run.commands
            print(f"{name}: {commands} commands, {len(run.wrong)} wrong, {run.took_s:.1f} s")
            print("".join(text + "\n" for text in run.wrong), end="")
            print(f"its server's log:\n{run.log}" if run.wrong and run.log else "", end="", flush=True)
            if arguments.update:
                print(f"  {run.update()} samples rewritten")
    wrong = sum(len(run.wrong) for run in runs)
    print(f"{sum(run.commands for run in runs)} commands, {wrong} wrong")
    return 1 if wrong and not arguments.update else 0


if __name__ == "__main__":
    sys.exit(main())
