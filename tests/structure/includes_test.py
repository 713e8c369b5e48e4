#!/usr/bin/env python3
"""Nothing includes upwards, nothing links upwards, and no room knows what it must not know."""
import collections
import pathlib
import re
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]

# The rooms, the lowest first: each may know those before it, and no other. A folder belongs to the
# longest name here that it begins with.
ROOMS = """
proto
kernels/base
common
common/files
common/manual
common/numbers
common/tls
common/grpc
kernels/cuda
kernels/crc
kernels/ldpc
kernels/carrier
kernels/timing
kernels/downconvert
kernels/minimize
kernels/nr
server/config
server/metrics
server/limits
server/device
server/jobs
server/converters
server/operations
server/batching
server/grpc
server/auth
server/process
server/shm
server/calls
server/rings
server/service
server/admin
server
client/c
client/bbdev
client/oai
client/cpp
client/gnuradio
client/load
client/ctl/common
client/ctl/plot
client/ctl/minimize
client/ctl/ldpc
client/ctl/carrier
client/ctl/shared_channel
client/ctl/demo
client/ctl/downconvert
client/ctl/studies
client/ctl/load
client/ctl/operate
client/ctl
client/ldpc_tool
""".split()

# Rooms that may include what matches; in all others it is an error. The client's three libraries
# are gRPC's and the contract's throughout.
RESERVED = {
    "gRPC": (r"<grpcpp/|<grpc/|\.grpc\.pb\.h", "common/grpc server/grpc server/auth server/calls "
             "server/service server/admin server client/"),
    "protobuf": (r"<google/protobuf/|\.pb\.h", "server/grpc server/converters server/operations "
                 "server/calls server/service server/admin server client/"),
    "CUDA": (r"<cuda|kernels/cuda/", "kernels/ server/device server/jobs server/operations"),
    "Prometheus": (r"<prometheus/", "server/metrics server/operations"),
    "the server": (r'"server/', "server/ server"),
    "the client": (r'"client/', "client/"),
    "tests": (r'"tests/', ""),
    # client/c is for programs that have none.
    "C++": (r"<(?:c[a-z]+|memory|string|vector)>|\.hpp|\"absl/",
            "common common/ kernels/ server server/ client/cpp client/load client/ctl client/ctl/ "
            "client/ldpc_tool client/gnuradio"),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+("[^"]+"|<[^>]+>)', re.MULTILINE)
LINKED = re.compile(r"target_link_libraries\(\s*(\w+)\s([^)]*)\)")
ALIAS = re.compile(r"add_library\((baseband::\w+) ALIAS")


def room_of(path):
    folder = str(path)
    for room in sorted(ROOMS, key=len, reverse=True):
        if folder == room or folder.startswith(room + "/"):
            return room
    return None


def sources():
    for top in ("common", "kernels", "server", "client"):
        for path in sorted((TOP / top).rglob("*")):
            if path.suffix in (".h", ".c", ".cc", ".cu", ".cuh"):
                yield path.relative_to(TOP), path.read_text(encoding="utf-8")


def is_upwards(low, high):
    return ROOMS.index(high) > ROOMS.index(low)


class IncludesTest(unittest.TestCase):
    def test_every_folder_has_its_room(self):
        rooms = collections.Counter(room_of(path.parent) for path, _ in sources())
        self.assertNotIn(None, rooms)
        for room in ROOMS:
            self.assertTrue(rooms[room] or room == "proto", f"nothing lies in {room}")

    def test_no_include_runs_upwards(self):
        for path, text in sources():
            here = room_of(path.parent)
            for include in INCLUDE.findall(text):
                there = room_of(pathlib.PurePosixPath(include.strip('"<>')).parent)
                with self.subTest(f"{path} includes {include}"):
                    self.assertFalse(there and is_upwards(here, there),
                                     f"{there} stands above {here}")

    def test_no_room_knows_what_is_not_its_business(self):
        for path, text in sources():
            here = room_of(path.parent)
            for include in INCLUDE.findall(text):
                for what, (pattern, rooms) in RESERVED.items():
                    if not re.search(pattern, include):
                        continue
                    allowed = any(here == room or (room.endswith("/") and here.startswith(room))
                                  for room in rooms.split())
                    with self.subTest(f"{path} includes {include}"):
                        self.assertTrue(allowed, f"{here} must not know {what}")

    def test_what_is_compiled_for_each_simd_target_says_for_which_first(self):
        ours = '"kernels/base/simd_targets.h"'
        for path, text in sources():
            includes = INCLUDE.findall(text)
            if '"hwy/foreach_target.h"' in includes:
                with self.subTest(str(path)):
                    self.assertIn(ours, includes[:includes.index('"hwy/foreach_target.h"')])

    def test_no_link_runs_upwards(self):
        lists = [path for top in ("common", "proto", "kernels", "server", "client")
                 for path in sorted((TOP / top).rglob("CMakeLists.txt"))]
        home = {alias: room_of(path.parent.relative_to(TOP))
                for path in lists for alias in ALIAS.findall(path.read_text(encoding="utf-8"))}
        self.assertGreater(len(home), 20)
        for path in lists:
            here = room_of(path.parent.relative_to(TOP))
            for target, links in LINKED.findall(path.read_text(encoding="utf-8")):
                for name in links.split():
                    with self.subTest(f"{path.relative_to(TOP)}: {target} links {name}"):
                        self.assertFalse(here and home.get(name) and
                                         is_upwards(here, home[name]),
                                         f"{home.get(name)} stands above {here}")


if __name__ == "__main__":
    sys.exit(unittest.main())
