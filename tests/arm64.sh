#!/usr/bin/env bash
# Builds for 64-bit Arm and runs the kernels' unit tests, emulated: what a machine with NEON would do.
# The last line reads as that of tests/run.sh; the exit status is 0 iff no test failed.
#
#   tests/arm64.sh [CTEST_OPTION ...]      e.g.  tests/arm64.sh -R Decode
#   TARGETS='server/basebandd' tests/arm64.sh        builds those besides
#
# BUILD_DIR (default build/arm64) is where it builds. Installs Debian's cross compiler and emulator;
# Arm's libraries are put below BUILD_DIR, and nothing of them into the system.
set -euo pipefail
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; esac
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
folder=$(realpath -m "${BUILD_DIR:-build/arm64}")
root=$folder/sysroot

deploy/packages.sh build arm64
if [ ! -e "$root/.complete" ]; then
  # apt's own state, of another architecture: where nothing is installed it brings all that is needed.
  apt=$folder/apt
  rm -rf "$root" "$apt"
  mkdir -p "$root" "$apt"/lists/partial "$apt"/archives/partial
  : > "$apt/status"
  get=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=
    -o Debug::NoLocking=1 -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt")
  mapfile -t libraries < <(deploy/packages.sh --list build arm64_libraries \
    | grep -vxE 'g\+\+|cmake|ninja-build|pkg-config|protobuf-compiler.*')
  echo "arm64.sh: downloading the libraries of arm64"
  "${get[@]}" update
  "${get[@]}" install -y --no-install-recommends --download-only "${libraries[@]}" >/dev/null
  for package in "$apt"/archives/*.deb; do dpkg -x "$package" "$root"; done
  # What compiles .proto files runs here.
  ln -sf /usr/bin/protoc /usr/bin/grpc_*_plugin "$root/usr/bin/"
  rm -rf "$apt"
  touch "$root/.complete"
fi

mapfile -t tests < <(sed -n 's,^add_subdirectory(\(kernels/.*\)),tests/unit/\1/all,p' tests/unit/CMakeLists.txt)
# shellcheck disable=SC2086  # TARGETS are words
SYSROOT=$root deploy/build.sh build "$folder" -DCMAKE_TOOLCHAIN_FILE="$top/tests/arm64.cmake" \
  -DBASEBAND_CUDA=OFF -DBASEBAND_TESTS=ON -- "${tests[@]}" ${TARGETS:-}

reports=()
for tests_of_room in "$folder"/tests/unit/kernels/*/; do
  report=$tests_of_room/junit.xml
  rm -f "$report"
  ctest --test-dir "$tests_of_room" -j "$(nproc)" --output-on-failure --output-junit "$report" "$@" || true
  [ ! -s "$report" ] || reports+=("$report")
done
. tests/summary.sh
summarize "${reports[@]}"
