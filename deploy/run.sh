#!/usr/bin/env bash
# From a bare Debian or Ubuntu to a server that has done real work: installs what is missing, builds,
# starts basebandd on loopback, sends a file through Encode, a noisy channel and Decode, compares,
# shows what the metrics page counted, and stops the server.
#
#   deploy/run.sh [--serve] [--port=N] [--metrics-port=N] [--device=auto|cpu|cuda[:i,j]] [--file=FILE]
#
# --serve   leaves the server running (its process id is printed) instead of stopping it
# --file    what to send; default: the basebandd program itself
# BUILD_DIR (default build/release) is where it builds. Can be run again at any time.
set -euo pipefail
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
top=$(cd "$(dirname "$0")/.." && pwd)
here=$PWD
cd "$top"

fail() { echo "run.sh: FAILED: $*" >&2; exit 1; }

serve=no port=50151 metrics_port=9151 device=auto file=
for argument in "$@"; do
  case $argument in
    --serve) serve=yes ;;
    --port=*) port=${argument#*=} ;;
    --metrics-port=*) metrics_port=${argument#*=} ;;
    --device=*) device=${argument#*=} ;;
    --file=*) file=$(cd "$here" && realpath -e "${argument#*=}" 2>/dev/null) || fail "no such file: ${argument#*=}" ;;
    -h|--help) usage; exit 0 ;;
    *) usage >&2; fail "unknown argument '$argument'" ;;
  esac
done
[[ $port =~ ^[0-9]+$ && $metrics_port =~ ^[0-9]+$ ]] || fail "a port is a number"

folder=${BUILD_DIR:-build/release}
tests=()  # left as it is in a folder that tests/run.sh has configured
[ -f "$folder/CMakeCache.txt" ] || tests=(-DBASEBAND_TESTS=OFF)
deploy/build.sh build "$folder" "${tests[@]}" -- basebandd basebandctl
folder=$(cd "$folder" && pwd)
ctl=("$folder/client/ctl/basebandctl" "--target=127.0.0.1:$port")
work=$folder/run
mkdir -p "$work"
[ -n "$file" ] || file=$folder/server/basebandd

# Whoever answers here is not the server we are about to start.
for option in port metrics-port; do
  name=${option/-/_}
  if (exec 3<>"/dev/tcp/127.0.0.1/${!name}") 2>/dev/null; then
    fail "port ${!name} is taken; stop what runs there or use --$option=N"
  fi
done

echo
echo "== starting basebandd at 127.0.0.1:$port, metrics at 127.0.0.1:$metrics_port"
"$folder/server/basebandd" --device="$device" --listen="127.0.0.1:$port" \
  --metrics-listen="127.0.0.1:$metrics_port" >"$work/basebandd.log" 2>&1 &
server=$!
stop() { kill -KILL "$server" 2>/dev/null || true; }
trap stop EXIT
for ((i = 0; ; ++i)); do
  if ! kill -0 "$server" 2>/dev/null; then
    cat "$work/basebandd.log" >&2
    fail "basebandd ended; its words are above"
  fi
  "${ctl[@]}" --timeout=1s health >/dev/null 2>&1 && break
  [ $i -lt 300 ] || { cat "$work/basebandd.log" >&2; fail "basebandd is not healthy after 60 s"; }
  sleep 0.2
done
cat "$work/basebandd.log"
"${ctl[@]}" info

echo
echo "== $file through Encode, a noisy channel and Decode"
rm -f "$work/recovered"
"${ctl[@]}" demo "$file" --out="$work/recovered" || fail "the demo ended with exit code $?"
cmp "$file" "$work/recovered" || fail "the recovered file differs from the one that was sent"

echo
echo "== what the metrics page says of it (http://127.0.0.1:$metrics_port/metrics)"
page=$(exec 3<>"/dev/tcp/127.0.0.1/$metrics_port" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && cat <&3) \
  || fail "no metrics page"
for shown in 'baseband_requests_total\{code="OK"' baseband_code_blocks_total.*nr baseband_information_bytes_total \
  baseband_batches_total baseband_batch_blocks_sum baseband_batch_blocks_count \
  baseband_decode_iterations_sum baseband_decode_iterations_count baseband_decode_parity_failures_total baseband_stage_duration_seconds_sum.*kernel \
  baseband_lane_busy_seconds_total baseband_device_info baseband_device_healthy \
  baseband_requests_unserved_total.*backlog; do
  grep -E "^$shown" <<<"$page" || fail "the metrics page shows no $shown"
done
for rpc in Encode Decode; do
  grep -Eq "^baseband_requests_total\{code=\"OK\",rpc=\"$rpc\"\} [1-9]" <<<"$page" \
    || fail "the metrics page shows no $rpc"
done

echo
if [ $serve = yes ]; then
  trap - EXIT
  disown "$server"
  echo "run.sh: OK: the recovered file equals the one that was sent; basebandd serves on as process $server" \
       "(kill $server ends it; log: $work/basebandd.log)"
  exit 0
fi
kill -TERM "$server"
wait "$server" && status=0 || status=$?
trap - EXIT
[ $status = 0 ] || { cat "$work/basebandd.log" >&2; fail "basebandd ended with exit code $status"; }
echo "run.sh: OK: the recovered file equals the one that was sent, and the server stopped cleanly"
