"""Programs outside this tree: the C++ and the C client as `cmake --install` puts them, found by
find_package and by pkg-config, compiled with, and run against a server.

    installed_test.py [--update]     writes what the C++ library exports to client_symbols.txt instead
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "prometheus"))
import processes  # noqa: E402

OUTSIDE = HERE / "outside"
SYMBOLS = HERE / "client_symbols.txt"
C_EXAMPLE = HERE.parents[2] / "client/c/example.c"
BUILD = pathlib.Path(os.environ["BASEBAND_BUILD"])
# What only the server is made of.
SERVERS_OWN = r"cuda|cufft|nvrtc|prometheus|civetweb|hwy|highway|boost|CLI11|spdlog"


def run(command, expected=0, **how):
    """What it prints; RuntimeError unless it ends with that status."""
    command = [str(word) for word in command]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=600, check=False, **how)
    if done.returncode != expected:
        raise RuntimeError(f"{shlex.join(command)}: {done.returncode}\n{done.stdout}")
    return done.stdout


def version_of_basebandd():
    return run([processes.program("basebandd"), "--version"]).split()[1]


def exported():
    """What the C++ library shows: all names, and those that are not of messages."""
    library = BUILD / "client/cpp/libbaseband-offload.so"
    names = run(["nm", "-DC", "--defined-only", "--format=just-symbols", library])
    names = names.replace("std::char_traits<char>, std::allocator<char> ", "")
    names = names.replace("std::__cxx11::basic_string<char, >", "std::string")
    names = re.sub(r"absl::(debian|lts_)\w+::|\[abi:\w+\]", lambda m: "absl::" if m[1] else "", names)
    names = {name.partition("@")[0] for name in names.splitlines()}
    return names, sorted(n for n in names if not re.match(r"(?:\w+ )*(?:for )?baseband::v1::|BASEBAND_", n))


class InstalledTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="installed")
        cls.addClassCleanup(folder.cleanup)
        cls.top = pathlib.Path(folder.name)
        cls.prefix = cls.top / "prefix"
        for component in ("c", "cpp", "cpp_runtime"):
            run(["cmake", "--install", BUILD, "--component", component, "--prefix", cls.prefix])
        further = [path for path in os.environ.get("BASEBAND_PREFIX_PATH", "").split(":") if path]
        folders = [cls.prefix, *map(pathlib.Path, further)]
        cls.environment = {
            "CMAKE_GENERATOR": "Ninja",  # what our own build needs; there may be no make
            **os.environ,
            "CMAKE_PREFIX_PATH": ":".join(map(str, folders)),
            "PKG_CONFIG_PATH": ":".join(f"{folder}/lib/pkgconfig" for folder in folders),
        }
        cls.shm = cls.top / "shm.sock"
        server = processes.Basebandd(cls.top, "server", f"--shm-listen=unix:{cls.shm}")
        cls.addClassCleanup(server.__exit__)
        cls.server = server.__enter__()

    def pkg_config(self, *words):
        return run(["pkg-config", *words], env=self.environment).split()

    def build_outside(self, *options):
        """Its folder."""
        folder = self.top / "".join(option[2:] for option in options)
        run(["cmake", "-S", OUTSIDE, "-B", folder, *options], env=self.environment)
        run(["cmake", "--build", folder])
        return folder

    def check_round_trip(self, program):
        found = {**os.environ, "LD_LIBRARY_PATH": str(self.prefix / "lib")}
        self.assertEqual(run([program, self.server.target], env=found), "ten bytes!\n")

    def test_find_package_finds_the_shared_library_and_asks_for_no_grpc(self):
        folder = self.build_outside("-DCMAKE_DISABLE_FIND_PACKAGE_gRPC=ON")
        self.check_round_trip(folder / "round_trip")

    def test_find_package_finds_the_static_library(self):
        folder = self.build_outside("-DSTATIC=ON")
        self.check_round_trip(folder / "round_trip")
        self.assertNotIn("libbaseband", run(["readelf", "-d", folder / "round_trip"]))

    def find_package(self, asked, expected, *options):
        """What CMake prints, which ends with that status, and at the end which targets it knows."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.top))
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(asks LANGUAGES C CXX)\n"
            f"find_package(BasebandOffload {asked})\n"
            "foreach(name client client_static)\n  if(TARGET BasebandOffload::${name})\n"
            "    message(STATUS \"has ${name}.\")\n  endif()\nendforeach()\n")
        return run(["cmake", "-S", folder, "-B", folder / "build", *options], expected, env=self.environment)

    def test_find_package_takes_its_version_and_refuses_another(self):
        major, minor, _ = map(int, version_of_basebandd().split("."))
        following = f"0.{minor + 1}" if major == 0 else f"{major + 1}"
        for asked, expected in ((version_of_basebandd(), 0), (f"{major}.{minor}", 0), (following, 1)):
            with self.subTest(asked):
                said = self.find_package(f"{asked} REQUIRED", expected)
                self.assertEqual("has client." in said, expected == 0)

    def test_find_package_brings_the_shared_library_and_what_is_asked_for(self):
        self.assertNotIn("has client_static.", self.find_package("REQUIRED", 0))
        for asked in ("COMPONENTS static", "COMPONENTS shared static", "OPTIONAL_COMPONENTS static no_such"):
            with self.subTest(asked):
                said = self.find_package(f"REQUIRED {asked}", 0)
                self.assertIn("has client.", said)
                self.assertIn("has client_static.", said)

    def test_find_package_without_grpc_refuses_the_static_library_only(self):
        no_grpc = "-DCMAKE_DISABLE_FIND_PACKAGE_gRPC=ON"
        said = self.find_package("REQUIRED OPTIONAL_COMPONENTS static", 0, no_grpc)
        self.assertIn("has client.", said)
        self.assertNotIn("has client_static.", said)
        said = " ".join(self.find_package("REQUIRED COMPONENTS static", 1, no_grpc).split())
        self.assertIn("component static needs gRPC", said)
        said = " ".join(self.find_package("REQUIRED COMPONENTS no_such", 1).split())
        self.assertIn("there is no component no_such", said)

    def test_pkg_config_finds_both_libraries(self):
        object_file = self.top / "round_trip.o"
        run(["c++", "-std=c++17", "-c", OUTSIDE / "round_trip.cc", "-o", object_file,
             *self.pkg_config("--cflags", "baseband-offload")])
        for name in ("baseband-offload", "baseband-offload-static"):
            with self.subTest(name):
                program = self.top / name
                run(["c++", object_file, "-o", program, *self.pkg_config("--libs", name)])
                self.check_round_trip(program)

    def test_pkg_config_finds_the_c_library(self):
        program = self.top / "c_example"
        run(["cc", "-std=c11", C_EXAMPLE, "-o", program,
             *self.pkg_config("--cflags", "--libs", "basebandd")])
        found = {**os.environ, "LD_LIBRARY_PATH": str(self.prefix / "lib")}
        self.assertIn("block 0: 2208 bytes of parity", run([program, self.shm], env=found))

    def test_headers_need_abseil_and_protobuf_and_nothing_else(self):
        headers = sorted((self.prefix / "include/baseband-offload/client/cpp").iterdir())
        self.assertGreater(len(headers), 5)
        source = self.top / "all.cc"
        source.write_text("".join(f'#include "client/cpp/{header.name}"\n' for header in headers))
        flags = self.pkg_config("--cflags", "baseband-offload")
        included = run(["c++", "-std=c++17", "-M", source, *flags])
        self.assertIn("client/cpp/client.h", included)
        self.assertEqual(re.findall(rf"\S*/(?:grpc|grpcpp|openssl|{SERVERS_OWN})/\S*", included), [])
        self.assertNotIn(str(HERE.parents[2]), included.replace(str(OUTSIDE), ""))

    def test_the_shared_library_needs_nothing_of_the_servers(self):
        needed = run(["readelf", "-d", self.prefix / "lib/libbaseband-offload.so"])
        self.assertIn("libgrpc++", needed)
        self.assertNotRegex(needed, rf"(?i){SERVERS_OWN}|RPATH|RUNPATH")

    def test_one_version_is_everybodys(self):
        version = version_of_basebandd()
        self.assertEqual(self.pkg_config("--modversion", "baseband-offload"), [version])
        self.assertEqual(self.pkg_config("--modversion", "baseband-offload-static"), [version])
        major, minor, _ = version.split(".")
        abi = f"0.{minor}" if major == "0" else major
        dynamic = run(["readelf", "-d", self.prefix / "lib/libbaseband-offload.so"])
        self.assertIn(f"[libbaseband-offload.so.{abi}]", dynamic)

    def test_exports_are_the_public_classes_and_the_messages(self):
        names, of_client = exported()
        self.assertIn("baseband::v1::DecodeRequest::~DecodeRequest()", names)
        self.assertEqual([n for n in names if re.search(r"::(Stub|Service|StubInterface)\b", n)], [])
        self.assertEqual(of_client, SYMBOLS.read_text(encoding="utf-8").splitlines(),
                         "if that is meant: installed_test.py --update")


if __name__ == "__main__":
    if "--update" in sys.argv:
        SYMBOLS.write_text("\n".join(exported()[1]) + "\n", encoding="utf-8")
    else:
        unittest.main()
