"""What the programs tell of themselves by --manual: pages that man sets without a warning, completions that
shells take, and in all of them what --help tells.

    manual_test.py BUILD
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1])
PROGRAMS = {"basebandd": BUILD / "server/basebandd", "basebandctl": BUILD / "client/ctl/basebandctl"}


def output(*command, stdin=None):
    done = subprocess.run([str(word) for word in command], input=stdin, text=True, capture_output=True,
                          timeout=120, check=False)
    if done.returncode or done.stderr:
        raise RuntimeError(f"{command}: {done.returncode}\n{done.stderr}")
    return done.stdout


def commands_and_flags(program, path=()):
    """{(): (commands, flags), ("admin",): ..}, as --help has them."""
    told = output(PROGRAMS[program], *path, "--help")
    flags = re.findall(r"^  (?:-\w,)*(--[a-z0-9-]+)", told, re.MULTILINE)
    _, _, listed = told.partition("\nCommands:\n")
    commands = re.findall(r"^  ([a-z][a-z-]+)(?:  |$)", listed.partition("\n\n")[0], re.MULTILINE)
    if not path and commands:
        commands_below = {name: commands_and_flags(program, (name,)) for name in commands}
        return {(): (commands, flags), **{k: v for below in commands_below.values() for k, v in below.items()}}
    return {path: (commands, flags)}


class ManualTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.told = {program: commands_and_flags(program) for program in PROGRAMS}

    def test_help_is_read_as_it_is_meant(self):
        self.assertIn("--listen", self.told["basebandd"][()][1])
        self.assertIn("load", self.told["basebandctl"][()][0])
        self.assertIn("--constellation", self.told["basebandctl"][("recover",)][1])

    @unittest.skipUnless(shutil.which("man"), "no man")
    def test_pages_are_set_without_a_warning_and_tell_all(self):
        for program, path in PROGRAMS.items():
            with self.subTest(program), tempfile.NamedTemporaryFile("w", suffix=".1") as page:
                page.write(output(path, "--manual=man"))
                page.flush()
                text = output("man", "--warnings", "-E", "UTF-8", "-l", "-P", "cat", page.name)
                text = re.sub(r".\x08", "", text)
                for below, (commands, flags) in self.told[program].items():
                    for name in commands:
                        self.assertRegex(text, rf"(?m)^   {' '.join((*below, name))}$")
                    for flag in flags:
                        self.assertRegex(text, rf"(?m)^ *(-\w, )?{flag}(=|\s|$)", f"{below}")

    def complete(self, program, *words):
        """What bash offers behind them; the last one is what is typed."""
        script = f"{output(PROGRAMS[program], '--manual=bash')}\nCOMP_WORDS=(\"$@\")\nCOMP_CWORD=$(($# - 1))\n"
        script += f"_{program} 2>/dev/null; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return output("bash", "-uc", script, "bash", program, *words).split()

    def test_bash_completes_all_commands_and_flags(self):
        for program, tree in self.told.items():
            for below, (commands, flags) in tree.items():
                with self.subTest(f"{program} {below}"):
                    self.assertEqual(self.complete(program, *below, "")[:len(commands)], commands)
                    offered = {flag.rstrip("=") for flag in self.complete(program, *below, "--")}
                    self.assertEqual(set(flags) - offered, set())
                    self.assertEqual(set(tree[()][1]) - offered, set())  # those of all commands

    def test_bash_completes_what_is_begun(self):
        self.assertEqual(self.complete("basebandctl", "minimize-"), ["minimize-bench"])
        self.assertEqual(self.complete("basebandctl", "--json", "admin", "dra"), ["drain"])
        self.assertEqual(self.complete("basebandctl", "help", "carrier-b"), ["carrier-bench"])
        self.assertEqual(self.complete("basebandctl", "--target", "a:1", "top", "--json"), ["--json"])
        self.assertEqual(self.complete("basebandctl", "recover", "--constel"), ["--constellation="])
        self.assertEqual(self.complete("basebandctl", "recover", "fil"), [])  # files are bash's own
        self.assertEqual(self.complete("basebandd", "--js"), [])

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_takes_its_completion(self):
        for program, path in PROGRAMS.items():
            with self.subTest(program):
                output("zsh", "-n", "/dev/stdin", stdin=output(path, "--manual=zsh"))

    def test_zsh_is_told_all_commands_and_flags(self):
        for program, path in PROGRAMS.items():
            script = output(path, "--manual=zsh")
            for below, (commands, flags) in self.told[program].items():
                name = "_".join([f"_{program}", *below]).replace("-", "_")
                body = script.partition(f"\n{name}() {{\n")[2].partition("\n}\n")[0]
                with self.subTest(name):
                    self.assertEqual([c for c in commands if f"\n      '{c}:" not in body], [])
                    self.assertEqual([f for f in flags if not re.search(rf"'\*{f}[=\[]", body)], [])

    def test_what_is_installed_is_what_the_programs_of_today_tell(self):
        for program, section in (("basebandd", 8), ("basebandctl", 1)):
            for kind, name in (("man", f"{program}.{section}"), ("bash", program), ("zsh", f"_{program}")):
                with self.subTest(name):
                    installed = (BUILD / "manual" / name).read_text(encoding="utf-8")
                    self.assertEqual(installed, output(PROGRAMS[program], f"--manual={kind}"))

    def test_what_is_not_made_is_refused(self):
        for path in PROGRAMS.values():
            self.assertRaisesRegex(RuntimeError, "man,bash,zsh", output, path, "--manual=fish")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
