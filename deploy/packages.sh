#!/usr/bin/env bash
# Installs what is missing of the Debian packages this project needs (Debian 12, Ubuntu 24.04).
#
#   deploy/packages.sh build|test|lint|fuzz|browser|packaging|bbdev|gnuradio|arm64 ...
#                                                   groups; `test` includes `build`, `bbdev`, `gnuradio`
#   deploy/packages.sh --list GROUP ...             prints their names instead
#
# Uses apt-get, with sudo if it is not run by root. Installs nothing if nothing is missing.
set -euo pipefail

build=(
  g++ cmake ninja-build pkg-config
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libabsl-dev
  libssl-dev zlib1g-dev libre2-dev libc-ares-dev  # ours, and what gRPC's CMake files look for
  prometheus-cpp-dev libcivetweb-dev libcurl4-openssl-dev  # and prometheus-cpp's
  libboost-dev  # the metrics port: Asio, Beast
  libhwy-dev libcli11-dev libspdlog-dev nlohmann-json3-dev
)
bbdev=(libdpdk-dev dpdk-dev)  # the bbdev driver, DPDK's own test of one
gnuradio=(gnuradio-dev pybind11-dev)  # the module for GNU Radio, and GNU Radio: 89 MB
test=("${build[@]}" "${bbdev[@]}" "${gnuradio[@]}" openssl libgtest-dev libgmock-dev libbenchmark-dev libmuparser-dev
  prometheus python3-yaml python3-kubernetes  # tests/deploy; promtool comes with prometheus
  python3-grpcio python3-protobuf python3-numpy curl  # client/python, and what the guides' examples use
  python3-matplotlib python3-pip python3-venv python3-setuptools python3-wheel mypy  # tests/python
  man-db                                      # the programs' pages
  iproute2)                                   # hosts of their own for servers
browser=(chromium)  # looks at the load tester's report in the tests, where there is such a package
packaging=("${build[@]}" dpkg-dev file)  # cmake --build BUILD --target package
lint=(clang-14 clang-tidy-14 clang-format-14 doxygen)  # doxygen stands on clang's libraries
arm64=(g++-aarch64-linux-gnu qemu-user)  # compiles for 64-bit Arm, runs that
arm64_libraries=(libc6-dev libstdc++-12-dev libgtest-dev libgmock-dev libmuparser-dev libbenchmark-dev)  # of arm64
fuzz=("${build[@]}" clang-14 libclang-rt-14-dev libgtest-dev libgmock-dev libmuparser-dev)

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; esac
fail() { echo "packages.sh: $*" >&2; exit 1; }

list=no
if [ "${1:-}" = --list ]; then list=yes; shift; fi
[ $# -gt 0 ] || { usage >&2; exit 2; }
wanted=()
for group in "$@"; do
  case $group in
    build|test|lint|fuzz|browser|packaging|bbdev|gnuradio|arm64|arm64_libraries) declare -n names=$group; wanted+=("${names[@]}") ;;
    *) fail "unknown group '$group': it is build, test, lint, fuzz, browser, packaging, bbdev, gnuradio or arm64" ;;
  esac
done
if [ $list = yes ]; then printf '%s\n' "${wanted[@]}" | sort -u; exit 0; fi

command -v dpkg-query >/dev/null || fail "this is no Debian or Ubuntu: install the equivalents of: ${wanted[*]}"
missing=()
native=$(dpkg --print-architecture)  # another one's package of that name does not count
for package in $(printf '%s\n' "${wanted[@]}" | sort -u); do
  dpkg-query -W -f '${db:Status-Status} ${Architecture}\n' "$package" 2>/dev/null \
    | grep -qxE "installed ($native|all)" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || fail "not root and no sudo; missing are: ${missing[*]}"
  as_root=(sudo)
fi
echo "packages.sh: installing ${missing[*]} (a minute or several, by the network; silently)"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
# Of prometheus the tests want the program: the server that Debian starts with it is not asked for.
if [ -d /run/systemd/system ] && [[ " ${missing[*]} " == *" prometheus "* ]]; then
  "${as_root[@]}" systemctl disable --now prometheus
fi
