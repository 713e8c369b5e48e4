"""client/gnuradio as a project of its own: over the installed C++ library, installed, and run."""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests/deploy/prometheus"))
import processes  # noqa: E402

BUILD = pathlib.Path(os.environ["BASEBAND_BUILD"])

FLOW = """
import sys
from gnuradio import baseband_offload as bo, blocks, gr
code = bo.ldpc_code.wimax("1/2", 576)
top, sink = gr.top_block(), blocks.vector_sink_b()
server = bo.connection(sys.argv[1])
top.connect(blocks.vector_source_b([0x5a] * 36 * 5), bo.ldpc_encoder(code, server, packed=False),
            blocks.uchar_to_float(), blocks.add_const_ff(-0.5), bo.ldpc_decoder(code, server, llr_scale=8), sink)
top.run()
assert bytes(sink.data()) == b"\\x5a" * 36 * 5, sink.data()
print(bo.__file__)
"""


def run(command, **how):
    command = [str(word) for word in command]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1500, check=False, **how)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}: {done.returncode}\n{done.stdout}")
    return done.stdout


class StandaloneTest(unittest.TestCase):
    def test_it_is_built_over_the_installed_library_and_runs_where_it_is_installed(self):
        with tempfile.TemporaryDirectory(prefix="gnuradio") as folder:
            top = pathlib.Path(folder)
            prefix = top / "prefix"
            for component in ("cpp", "cpp_runtime"):
                run(["cmake", "--install", BUILD, "--component", component, "--prefix", prefix])
            further = os.environ.get("BASEBAND_PREFIX_PATH", "")
            environment = {**os.environ, "CMAKE_PREFIX_PATH": f"{prefix}:{further}", "CMAKE_GENERATOR": "Ninja"}
            run(["cmake", "-S", PROJECT / "client/gnuradio", "-B", top / "build", "-DCMAKE_BUILD_TYPE=Debug",
                 "-DCMAKE_UNITY_BUILD=ON",  # GNU Radio's headers take the compiler longer than the blocks
                 f"-DCMAKE_INSTALL_PREFIX={prefix}"], env=environment)
            run(["cmake", "--build", top / "build"], env=environment)
            run(["cmake", "--install", top / "build"])
            for file in ("share/gnuradio/grc/blocks/baseband_offload_ldpc_decoder.block.yml",
                         "share/gnuradio/examples/baseband_offload/ldpc_ber.grc",
                         "include/gnuradio/baseband_offload/ldpc_decoder.h"):
                self.assertTrue((prefix / file).exists(), file)
            installed = {**os.environ, "PYTHONPATH": str(prefix / "lib/python3/dist-packages")}
            with processes.Basebandd(top, "server") as server:
                said = run(["/usr/bin/python3", "-c", FLOW, server.target], env=installed)
            self.assertIn(str(prefix), said)


if __name__ == "__main__":
    unittest.main()
