#!/usr/bin/env bash
# Runs OCUDU's own programs over the bbdev driver and a server: its PDSCH and PUSCH benchmarks of
# hardware acceleration, and pxsch_bler_test, whose block error rates have to be those of OCUDU's
# software. Prints a line a check, and at the end how many passed and failed; exit status 0 iff none failed.
#
#   tests/interop/ocudu.sh PROGRAMS BASEBANDD DRIVER [FLAG OF basebandd ...]
#
# PROGRAMS is a folder that has (anywhere below it) pdsch_encoder_hwacc_benchmark,
# pusch_decoder_hwacc_benchmark and pxsch_bler_test, made from OCUDU's source with ENABLE_DPDK; DRIVER
# is librte_baseband_offload.so, in no folder that everybody may write to. SLOTS (400) are sent at each
# signal-to-noise ratio, DEVICE_ARGUMENTS (none) stand behind the driver's socket, OUT (a temporary
# folder) keeps what the programs print. Takes two minutes and a half, 2.5 GiB, and curl.
#
# OCUDU 26.04 leaves pusch_decoder_factory_hw_configuration::nof_pusch_decoder_threads without a value:
# give it one before they are made, in pxsch_bler_test the threads' number, for it loses blocks with 1.
set -euo pipefail
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; esac
[ $# -ge 3 ] || { usage >&2; exit 2; }
programs=$1 basebandd=$2 driver=$(realpath "$3"); shift 3
slots=${SLOTS:-400}
work=$(mktemp -d) server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
out=${OUT:-$work}
mkdir -p "$out"
find_program() {
  find "$programs" -name "$1" -type f -perm -u+x -print -quit | grep . || { echo "$1 is not below $programs" >&2; exit 2; }
}
pdsch=$(find_program pdsch_encoder_hwacc_benchmark)
pusch=$(find_program pusch_decoder_hwacc_benchmark)
link=$(find_program pxsch_bler_test)

passed=0 failed=0
pass() { passed=$((passed + 1)); echo "ok      $*"; }
fail() { failed=$((failed + 1)); echo "FAILED  $*"; }
check() { local what=$1; shift; if "$@"; then pass "$what"; else fail "$what"; fi; }

page=127.0.0.1:$((20000 + $$ % 20000))
serve() {  # FLAG OF basebandd ..
  rm -f "$work"/*.sock
  "$basebandd" --listen="unix:$work/grpc.sock" --shm-listen="unix:$work/shm.sock" --metrics-listen="$page" "$@" \
    >>"$out/basebandd.log" 2>&1 &
  server=$!
  for ((i = 0; i < 300; ++i)); do
    [ ! -S "$work/shm.sock" ] || return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 5 "$out/basebandd.log" >&2
  exit 2
}
serve "$@"
eal=(eal_args --no-huge --no-pci --no-telemetry -m 2048 --file-prefix="ocudu$$" -d "$driver"
  "--vdev=baseband_offload0,socket=$work/shm.sock${DEVICE_ARGUMENTS:+,$DEVICE_ARGUMENTS}")
run() {  # NAME COMMAND ..: what it prints goes to OUT/NAME.txt
  local name=$1; shift
  timeout 600 "$@" >"$out/$name.txt" 2>&1
}

# A benchmark prints a line for each of 16 transport blocks, and says nothing of operations that failed.
benchmark() {  # NAME PROGRAM FLAG ..
  local name=$1 status=0; shift
  run "$name" "$@" "${eal[@]}" || status=$?
  check "$name ends with 0 ($status)" [ $status = 0 ]
  check "$name: 16 cases" [ "$(grep -c 'latency gain' "$out/$name.txt")" = 16 ]
  check "$name: no complaints" [ "$(grep -cE "Couldn't|queue [0-9]+:" "$out/$name.txt")" = 0 ]
  grep 'latency gain' "$out/$name.txt" | tail -n 1 | sed 's/^/        /'
}
benchmark pdsch-transport-blocks "$pdsch"
benchmark pdsch-code-blocks "$pdsch" -x
benchmark pusch "$pusch"

# Of all slots: the rate of wrong CRCs, that of wrong data, mean iterations.
rates() {  # FILE
  tr '\r' '\n' <"$1" | awk -F '[={} /;]+' '/^\[100.0%\] Iterations/ { print $7 + 0, $8 + 0, $5 }'
}

# "same" if the 99.9 % interval of the difference of two rates of `slots` slots has 0 in it: Newcombe's, of
# Wilson's of each rate.
compare() {  # DRIVER SOFTWARE
  awk -v a="$1" -v b="$2" -v n="$slots" '
    function wilson(p, side) {
      return (p + z * z / (2 * n) + side * z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / (1 + z * z / n)
    }
    BEGIN {
      z = 3.29
      low = a - b - sqrt((a - wilson(a, -1)) ^ 2 + (wilson(b, 1) - b) ^ 2)
      high = a - b + sqrt((wilson(a, 1) - a) ^ 2 + (b - wilson(b, -1)) ^ 2)
      print (low > 0) ? "worse" : (high < 0) ? "better" : "same"
    }'
}

agrees() { [ "${1%%,*}" = same ] || [ "${1%%,*}" = better ]; }

# The same of all points of a curve together: the sum of their differences, in standard deviations.
compare_all() {  # lines of DRIVER SOFTWARE
  awk -v n="$slots" '
    { p = ($1 + $2) / 2; sum += $1 - $2; variance += 2 * p * (1 - p) / n }
    END {
      z = variance > 0 ? sum / sqrt(variance) : 0
      printf "%s, by %.1f standard deviations\n", (z > 3.29) ? "worse" : (z < -3.29) ? "better" : "same", (z < 0) ? -z : z
    }'
}

# The same link by software and over the driver, at each SINR; a curve that does not fall between them shows nothing.
# PASSING is how many wrong blocks may pass at an SINR: a CRC of 16 bits that is looked at after each of 10
# iterations lets one of 6554 pass, one of 24 bits none.
curve() {  # NAME PASSING FLAGS SINR ..
  local name=$1 passing=$2 flags=$3 points='' falls=false sinr at software over data passed_wrong by_software by_driver verdict; shift 3
  for sinr in "$@"; do
    at=$name-$sinr
    # shellcheck disable=SC2086
    run "$at-software" "$link" -v $flags -S "$sinr" -R "$slots" || true
    # shellcheck disable=SC2086
    run "$at-driver" "$link" -v $flags -S "$sinr" -R "$slots" -T acc100 "${eal[@]}" || true
    read -r software _ by_software <<<"$(rates "$out/$at-software.txt")"
    read -r over data by_driver <<<"$(rates "$out/$at-driver.txt")"
    if [ -z "$software" ] || [ -z "$over" ]; then
      fail "$name at $sinr dB: no result: $(tail -qn 1 "$out/$at-software.txt" "$out/$at-driver.txt" | tr '\r\n' '  ')"
      continue
    fi
    verdict=$(compare "$over" "$software")
    check "$name at $sinr dB: BLER $over, $by_driver iterations; software $software, $by_software: $verdict" \
      agrees "$verdict"
    passed_wrong=$(awk -v a="$over" -v b="$data" -v n="$slots" 'BEGIN { printf "%.0f", (b - a) * n }')
    check "$name at $sinr dB: $passed_wrong wrong blocks pass, of at most $passing" [ "$passed_wrong" -le "$passing" ]
    check "$name at $sinr dB: no complaints" [ "$(grep -cE "Couldn't|Failed|queue [0-9]+:" "$out/$at-driver.txt")" = 0 ]
    points+="$over $software"$'\n'
    if awk -v p="$software" 'BEGIN { exit !(p > 0.03 && p < 0.97) }'; then falls=true; fi
  done
  verdict=$(compare_all <<<"${points%$'\n'}")
  check "$name: all points together: $verdict" agrees "$verdict"
  check "$name: the curve falls between these SINRs" $falls
}
curve qpsk 1 "-B 25 -M qam64 -m 4 -P 1" -1.4 -1.2 -1.0 -0.8
curve 16qam 0 "-B 51 -M qam64 -m 13 -P 1" 6.4 6.5 6.6 6.7
curve 256qam 0 "-B 106 -M qam256 -m 24 -P 1" 22.4 22.5 22.6 22.7

# That it was the server that worked.
served() { curl -fsS "http://$page/metrics" | awk -v rpc="$1" '$0 ~ "^baseband_requests_total.*code=\"OK\",rpc=\"" rpc "\"" { print $2 }'; }
for rpc in EncodeSharedChannel DecodeSharedChannel; do
  requests=$(served $rpc)
  check "the server answered ${requests:-no} requests of $rpc" [ "${requests:-0}" -gt "$slots" ]
done

# The server is killed and started again, again and again, under a link that has no errors otherwise.
restarts() {  # NAME FLAGS
  local name=$1 flags=$2 kills=0 client status=0 over data; shift 2
  # shellcheck disable=SC2086
  run "$name" "$link" -v $flags -R $((5 * slots)) -T acc100 "${eal[@]}" &
  client=$!
  sleep 2
  while kill -0 $client 2>/dev/null; do
    { kill -KILL "$server" && wait "$server"; } 2>/dev/null || true
    kills=$((kills + 1))
    serve "$@"
    sleep 1
  done
  wait $client || status=$?
  read -r over data _ <<<"$(rates "$out/$name.txt")"
  check "$name: $kills kills of the server, BLER ${over:-none}: ends with 0 ($status)" [ $status = 0 ]
  check "$name: no wrong block passes (${data:-none} are wrong)" [ "${over:-none}" = "$data" ]
  # shellcheck disable=SC2086
  run "$name-after" "$link" -v $flags -R "$slots" -T acc100 "${eal[@]}" || true
  read -r over _ <<<"$(rates "$out/$name-after.txt")"
  check "$name: BLER ${over:-none} afterwards" [ "$over" = 0 ]
}
restarts restarts-code-blocks "-B 106 -M qam256 -m 24 -P 1 -S 25" "$@"
restarts restarts-one-block "-B 25 -M qam64 -m 4 -P 1 -S 3" "$@"

kill -TERM "$server"
status=0
wait "$server" || status=$?
check "the server ends with 0 ($status)" [ $status = 0 ]
echo "$passed passed, $failed failed"
[ $failed = 0 ]
