"""That the package installs without the internet, is typed, and its files are those that CMake installs."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

import support

MYPY = ("mypy", "--python-executable=/usr/bin/python3")
PROGRAM = """
import numpy as np, baseband_offload as bo
client = bo.Client()
decoded: bo.Decoded = client.decode(np.zeros(648, np.int8), bo.WifiCode("1/2", 648))
reveal_type(decoded.bits)
reveal_type(client.submit([bo.encode_request(decoded.bits, bo.WifiCode("1/2", 648))]))
client.decode(np.zeros(648, np.int8), 7)
"""


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **options)
    return done.returncode, done.stdout


class PackageTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def copied_package(self):
        """So that nothing that a build leaves behind lies in the sources."""
        status, told = run("cp", "-r", support.PACKAGE.parent, support.PROJECT / "proto", self.folder)
        self.assertEqual(status, 0, told)
        (self.folder / "client/python/baseband_offload/contract.binpb").unlink(missing_ok=True)
        return self.folder / "client/python"

    def test_pip_installs_it_without_the_internet(self):
        source, venv = self.copied_package(), self.folder / "venv"
        status, told = run("/usr/bin/python3", "-m", "venv", "--system-site-packages", venv)
        self.assertEqual(status, 0, told)
        status, told = run(venv / "bin/pip", "install", "--no-index", source, env=self.environment)
        self.assertEqual(status, 0, told)
        program = "import baseband_offload as bo; print(bo.__file__, bo.NrCode(1, 384).k)"
        status, told = run(venv / "bin/python", "-c", program, env=self.environment, cwd=self.folder)
        self.assertEqual(status, 0, told)
        self.assertIn(str(venv), told)
        self.assertIn("8448", told)

    def test_its_wheel_has_what_cmake_installs(self):
        status, told = run(
            *("/usr/bin/python3", "-m", "pip", "wheel", "--no-index", "--no-deps"),
            *("-w", self.folder / "wheels", self.copied_package()),
            env=self.environment,
        )
        self.assertEqual(status, 0, told)
        (wheel,) = (self.folder / "wheels").iterdir()
        self.assertTrue(wheel.name.endswith("-py3-none-any.whl"), wheel.name)
        packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("baseband_offload/")}
        modules = re.search(r"set\(_modules ([^)]*)\)", (support.PACKAGE / "CMakeLists.txt").read_text())[1].split()
        installed = {f"{name}.py" for name in modules} | {"py.typed", "contract.binpb"}
        self.assertEqual(packed, {f"baseband_offload/{name}" for name in installed})

    def test_it_is_strictly_typed(self):
        status, told = run(*MYPY, f"--cache-dir={self.folder}", "-p", "baseband_offload", cwd=support.PACKAGE)
        self.assertEqual(status, 0, told)

    def test_who_uses_it_sees_its_types(self):
        (self.folder / "program.py").write_text(PROGRAM)
        command = [*MYPY, "--strict", "--follow-imports=silent", "program.py"]
        environment = {**self.environment, "MYPYPATH": str(support.PACKAGE)}
        status, told = run(*command, env=environment, cwd=self.folder)
        self.assertEqual(status, 1, told)
        self.assertIn("numpy.ndarray[Any, numpy.dtype[numpy.unsignedinteger", told)
        self.assertIn("Iterator[baseband_offload.submit.Answer[baseband_offload.ldpc.Encoded]]", told)
        self.assertIn('program.py:7: error: Argument 2 to "decode"', told)

    def test_version_is_the_project_s(self):
        version = re.search(r"VERSION (\S+)", (support.PROJECT / "CMakeLists.txt").read_text().split("project(")[1])[1]
        self.assertIn(f'version = "{version}"', (support.PACKAGE / "pyproject.toml").read_text())
        self.assertIn(f'__version__ = "{version}"', (support.PACKAGE / "baseband_offload/__init__.py").read_text())


if __name__ == "__main__":
    sys.exit(unittest.main())
