#!/usr/bin/env bash
# Runs all tests: installs what is missing, builds, then ctest's labels unit and integration, and gpu
# where there is one. The last line reads `N passed, N failed`; the exit status is 0 iff none failed.
#
#   tests/run.sh [CTEST_OPTION ...]        e.g.  tests/run.sh -R Decode
#
# BUILD_DIR (default build/release) is where it builds.
set -euo pipefail
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; esac
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
folder=${BUILD_DIR:-build/release}

deploy/build.sh test "$folder" -DBASEBAND_TESTS=ON
deploy/packages.sh browser || echo "run.sh: without a browser the load tester's report is not drawn"

labels='unit|integration'
if compgen -G '/dev/nvidia[0-9]*' >/dev/null && grep -q '^CMAKE_CUDA_COMPILER:' "$folder/CMakeCache.txt"; then
  labels="$labels|gpu"
  export BASEBAND_REQUIRE_GPU=1  # a GPU test that finds no GPU fails instead of skipping
fi

report=$folder/Testing/junit.xml
rm -f "$report"
# Most tests of the real server wait more than they compute.
ctest --test-dir "$folder" -L "^($labels)\$" -j "$((2 * $(nproc)))" --output-on-failure --no-tests=error \
  --output-junit Testing/junit.xml "$@" || true
[ -s "$report" ] || { echo "run.sh: ctest did not run" >&2; exit 1; }
. tests/summary.sh
summarize "$report"
