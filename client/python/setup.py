"""What pyproject.toml cannot say: the descriptor set of the contract is made from ../../proto."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"


def compiler():
    if shutil.which("protoc"):
        return ["protoc"]
    if importlib.util.find_spec("grpc_tools"):
        return [sys.executable, "-m", "grpc_tools.protoc"]
    raise SystemExit("neither protoc (Debian: protobuf-compiler) nor grpc_tools (pip install grpcio-tools) is here")


class BuildPy(build_py):
    def run(self):
        super().run()
        target = pathlib.Path(self.build_lib) / "baseband_offload" / "contract.binpb"
        target.parent.mkdir(parents=True, exist_ok=True)
        command = [*compiler(), f"-I{PROTO}", f"--descriptor_set_out={target}", "baseband/v1/baseband.proto"]
        subprocess.run(command, check=True)


setup(cmdclass={"build_py": BuildPy})
