#!/usr/bin/env bash
# Configures and builds, after installing what is missing: the part that deploy/run.sh and
# tests/run.sh share.
#
#   deploy/build.sh GROUP FOLDER [CMAKE_OPTION ...] [-- TARGET ...]
#
# GROUP is a package group of packages.sh; without targets everything is built. With a CUDA toolkit
# the CUDA device is built, without one the server is CPU-only and says so.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; -*) usage >&2; exit 2 ;; esac
[ $# -ge 2 ] || { usage >&2; exit 2; }
group=$1 folder=$2; shift 2
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
[ $# -eq 0 ] || shift
targets=("$@"); [ $# -gt 0 ] || targets=(all)

"$top/deploy/packages.sh" "$group"

# A file that includes gRPC takes the compiler about 1 GiB.
memory=$(awk '/^MemAvailable:/ {print int($2 / 1024 / 1200)}' /proc/meminfo)
jobs=$(nproc)
[ "$jobs" -le "$memory" ] || jobs=$memory
[ "$jobs" -ge 1 ] || jobs=1

# What is built once is compiled by the roomful; a folder that is there stays as it was configured.
[ -f "$folder/CMakeCache.txt" ] || options=(-DBASEBAND_UNITY=ON "${options[@]}")
cmake -S "$top" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release "${options[@]}" --log-level=STATUS \
  | grep -E '^-- (CUDA device|The bbdev driver|The module for|Configuring|Build files)|[Ww]arning|[Ee]rror' || true
[ -f "$folder/build.ninja" ] || { echo "build.sh: configuring failed; run cmake -S $top -B $folder" >&2; exit 1; }
quiet=(--quiet); [ ! -t 1 ] || quiet=()  # a terminal shows which step it is at, in one line
steps=$(cmake --build "$folder" --target "${targets[@]}" -- -n | sed -n '$s,^\[\([0-9]*\)/.*,\1,p')
echo "build.sh: building ${targets[*]} with $jobs jobs: ${steps:-0} steps, a job does one in 5 to 20 s"
cmake --build "$folder" -j "$jobs" --target "${targets[@]}" -- "${quiet[@]}"
