#!/usr/bin/env bash
# Serves the full mix for MINUTES at SHARE of what the machine can do, and shows that nothing grows:
# OUT/soak.csv has a line a minute, OUT/soak.svg draws it. Each minute brings new clients: a mix of
# unary calls of all operations, a Submit stream, a wideband recording and a search, and one client
# that is killed in the middle. Exit status 0 iff each answer was right and memory, descriptors and
# threads of the last quarter are those of the second.
#
#   tests/soak/run.sh MINUTES SHARE OUT [FLAG OF basebandd ...]     e.g.  tests/soak/run.sh 120 0.1 soak
#
# BUILD_DIR (default build/release) holds the programs; needs gnuplot for the drawing.
set -euo pipefail
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; esac
top=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -ge 3 ] && [[ $1 =~ ^[0-9]+$ ]] || { usage >&2; exit 2; }
minutes=$1 share=$2 out=$3; shift 3
cd "$top"
programs=${BUILD_DIR:-build/release}
mkdir -p "$out"
socket=unix:$out/basebandd.sock page=127.0.0.1:$((20000 + $$ % 20000))

"$programs/server/basebandd" --listen="$socket" --metrics-listen="$page" "$@" >"$out/basebandd.log" 2>&1 &
server=$!
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
ctl() { "$programs/client/ctl/basebandctl" --target="$socket" "$@"; }
ctl --wait health >/dev/null

# Column 5 of the line for all calls is goodput, 6 good, 7.. what was not, 13 p50 and 15 p99 in ms.
all() { sed -n 's/^\("[^"]*"\),all,/\1,all,/p' "$1"; }
load() {  # FILE FLAG ..
  local file=$1; shift
  ctl load --csv "$file" "$@" >"$file.txt" 2>&1 || { cat "$file.txt" >&2; return 1; }
}
column() { all "$1" | awk -F, -v n="$2" '{ print $(NF - 18 + n) }'; }

ctl wideband-signal -o "$out/air.cs16" --samples 1000000 >/dev/null
load "$out/capacity.csv" --scenario tests/soak/mix.json --duration 10s || { echo "soak: no capacity" >&2; exit 1; }
rate=$(awk -v share="$share" -v most="$(column "$out/capacity.csv" 5)" 'BEGIN { print share * most }')
echo "soak: $rate calls/s, $share of what a closed loop of 8 gets, for $minutes minutes"

echo minute,rss_mib,descriptors,threads,unary_good,unary_p50_ms,unary_p99_ms,stream_good,stream_p50_ms,stream_p99_ms,failed >"$out/soak.csv"
failed=0
try() { "$@" >"$out/last.txt" 2>&1 || { failed=$((failed + 1)); echo "soak: failed: $*" >&2; tail -n 5 "$out/last.txt" >&2; }; }
for ((minute = 1; minute <= minutes; ++minute)); do
  next=$(($(date +%s) + 60))
  load "$out/unary.csv" --scenario tests/soak/mix.json --rate "$rate" --duration 50s --seed "$minute" &
  unary=$!
  load "$out/stream.csv" --scenario tests/soak/stream.json --stream --rate "$rate" --duration 50s --seed "$minute" &
  stream=$!
  ctl downconvert "$out/air.cs16" --rate 64M --channel 9.1M:8 -o "$out/killed" >/dev/null 2>&1 &
  killed=$!
  try ctl downconvert "$out/air.cs16" --rate 64M --channel 9.1M:64 --channel -20M:32 -o "$out/air"
  kill -9 $killed 2>/dev/null || true
  wait $killed 2>/dev/null || true
  try ctl minimize "(x-1)^2 + sin(9*x)" --axis x=-5:0.00001:5
  wait $unary || failed=$((failed + 1))
  wait $stream || failed=$((failed + 1))
  for file in unary stream; do
    for n in 7 8 9 10 11; do
      failed=$((failed + $(column "$out/$file.csv" $n)))
    done
  done
  sleep 2  # what is torn down has gone by then
  status=/proc/$server/status
  echo "$minute,$(awk '/^VmRSS/ { print $2 / 1024 }' $status),$(ls /proc/$server/fd | wc -l),$(awk '/^Threads/ { print $2 }' $status),$(
    for file in unary stream; do printf '%s,%s,%s,' "$(column "$out/$file.csv" 6)" "$(column "$out/$file.csv" 13)" "$(column "$out/$file.csv" 15)"; done)$failed" >>"$out/soak.csv"
  left=$((next - $(date +%s)))
  [ $left -le 0 ] || sleep $left
done

command -v gnuplot >/dev/null && gnuplot -c tests/soak/soak.gp "$out/soak.csv" "$out/soak.svg"

# Medians of the second and of the last quarter.
verdict=0
for column in 2:rss_mib:1.03 3:descriptors:1.1 4:threads:1.1 7:unary_p99_ms:1.5 10:stream_p99_ms:1.5; do
  IFS=: read -r n name most <<<"$column"
  median() { sed -n "$(($1 + 1)),$(($2 + 1))p" "$out/soak.csv" | cut -d, -f"$n" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
  before=$(median $((minutes / 4 + 1)) $((minutes / 2))) after=$(median $((3 * minutes / 4 + 1)) "$minutes")
  judged=$(awk -v a="$after" -v b="$before" -v most="$most" 'BEGIN { print a <= most * b ? "flat" : "GREW" }')
  echo "soak: $name: $before in the second quarter, $after in the last: $judged"
  [ "$judged" = flat ] || verdict=1
done
kill -TERM $server
wait $server || { echo "soak: the server ended with $?"; verdict=1; }
echo "soak: $failed failures in $minutes minutes"
[ "$failed" = 0 ] && [ $verdict = 0 ]
