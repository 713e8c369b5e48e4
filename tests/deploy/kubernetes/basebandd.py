"""What basebandd says of itself: its flags, and the settings that apply."""
import pathlib
import re
import subprocess
import tempfile
import tomllib


class Refused(Exception):
    pass


class Basebandd:
    def __init__(self, program):
        self._program = program
        self._known = {}
        self.flags = set(re.findall(r"^ *(?:-h,)?--([a-z-]+)", self._run(["--help"]), re.MULTILINE))
        self.version = self._run(["--version"]).split()[-1]

    def settings(self, arguments, files=None, environment=None):
        """Those that apply, by name, where `files` have these paths and texts. Refused, with basebandd's words, where it
        would not start with them."""
        key = repr((arguments, files, environment))
        if key not in self._known:
            with tempfile.TemporaryDirectory() as folder:
                for i, (path, text) in enumerate((files or {}).items()):
                    pathlib.Path(folder, str(i)).write_text(text)
                    arguments = [a.replace(path, f"{folder}/{i}") for a in arguments]
                self._known[key] = tomllib.loads(self._run([*arguments, "--check-config"], environment))
        return self._known[key]

    def _run(self, arguments, environment=None):
        done = subprocess.run([self._program, *arguments], env=environment or {}, capture_output=True, text=True)
        # Certificates and tokens are where the manifests are applied, not here.
        if done.returncode != 0 and not re.match(r"basebandd: (tls_\w+|tokens_file) \S+ cannot be read: No such", done.stderr):
            raise Refused(done.stderr.strip())
        return done.stdout
