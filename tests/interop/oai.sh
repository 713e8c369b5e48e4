#!/bin/bash
# OpenAirInterface's own programs with libldpc_baseband.so, beside its own library.
#   tests/interop/oai.sh OAI_SRC [OAI_BUILD]
# OAI_SRC is a tree of OpenAirInterface, OAI_BUILD where ldpctest, libldpc.so and libldpc_orig.so were
# built (OAI_SRC/cmake_targets/ran_build/build unless said), and nr_ulschsim, nr_dlschsim, nr_ulsim and
# nr_dlsim, if they are to be run. BASEBANDD names another server than build/release/server/basebandd,
# TRIALS how many blocks a point of a curve has (100). The plug-in is built in a folder of its own. The
# last line is `N passed, N failed`.
set -u
if [ $# -lt 1 ] || [ "${1#-}" != "$1" ]; then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 2
fi
project=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(cd "$1" && pwd) || exit 2
programs=$(cd "${2:-$tree/cmake_targets/ran_build/build}" && pwd) || exit 2
server=${BASEBANDD:-$project/build/release/server/basebandd}
trials=${TRIALS:-100}
for needed in "$programs/ldpctest" "$programs/libldpc.so" "$programs/libldpc_orig.so" "$server"; do
  [ -e "$needed" ] || { echo "$needed is not there"; exit 2; }
done

work=$(mktemp -d)
server_pid=
# shellcheck disable=SC2317
end() {
  [ -n "$server_pid" ] && kill -KILL "$server_pid" 2>/dev/null
  rm -rf "$work"
}
trap end EXIT
passed=0
failed=0
say() { # RESULT TEXT: RESULT is 0 if it is well
  if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  [ "$1" -eq 0 ] && echo "ok      $2" || echo "FAILED  $2"
}
start_server() {
  "$server" --device=cpu --listen="unix:$work/grpc.sock" --metrics-listen=off \
    --shm-listen="unix:$work/shm.sock" >>"$work/server.log" 2>&1 &
  server_pid=$!
  for _ in $(seq 300); do
    [ -S "$work/shm.sock" ] && grep -q serving "$work/server.log" && return
    sleep 0.1
  done
  cat "$work/server.log"
  exit 2
}
kill_server() { # SIGNAL
  kill "-$1" "$server_pid"
  if [ "$1" = KILL ]; then
    wait "$server_pid" 2>/dev/null
    : >"$work/server.log"
  fi
}

# ---- built against the tree, or refused
! cmake -S "$project/client/oai" -B "$work/none" -DOAI_SRC="$work" >"$work/none.log" 2>&1 &&
  grep -q "nrLDPC_coding_interface.h is not there" <(tr -s ' \n' ' ' <"$work/none.log")
say $? "what is no tree of OpenAirInterface is refused by name"
if cmake -S "$project/client/oai" -B "$work/build" -DOAI_SRC="$tree" -DOAI_BUILD="$programs" -DBASEBAND_OAI_TEST=ON \
  >"$work/build.log" 2>&1 && cmake --build "$work/build" >>"$work/build.log" 2>&1; then
  say 0 "$(grep -o "OpenAirInterface's interface: .*" "$work/build.log")"
else
  tail -20 "$work/build.log"
  say 1 "the plug-in is built"
  echo "$passed passed, $failed failed"
  exit 1
fi
plugin=$work/build/libldpc_baseband.so
seen=$(nm -D --defined-only "$plugin" | awk '{print $3}' | grep -vcE '^(LDPC|nrLDPC_coding_)')
say "$seen" "nothing is seen of it but OpenAirInterface's functions"

export LD_LIBRARY_PATH=$work/build:$programs BASEBAND_SOCKET=$work/shm.sock
export BASEBAND_LIBRARY=$programs/libldpc.so
export BASEBAND_DEADLINE_US=2000000 # a machine that has other things to do
cd "$work" || exit 2

# ---- ldpctest: the same code words, and the same curve
start_server
curve() { # NAME VERSION ARGUMENTS..: ldpctest's output goes to NAME.txt
  local name=$1 version=$2
  shift 2
  timeout 600 "$programs/ldpctest" -v "$version" "$@" >"$name.txt" 2>"$name.err"
  [ $? -le 1 ] # 1: not all blocks were right at the last point
}
judge() { # TEXT THEIRS OURS equal|no_worse
  python3 "$project/tests/interop/error_rates.py" "$2.txt" "$3.txt" "$4" >judged.txt
  say $? "$1: $(cat judged.txt)"
}
while read -r begin arguments; do
  words=$arguments
  # shellcheck disable=SC2086
  curve words _baseband -n 1 -s 20 $words
  if grep -q differ words.txt || ! grep -q "BLER 0.000000" words.txt; then
    say 1 "ldpctest $words: code words"
  else
    say 0 "ldpctest $words: code words are those of libldpc_orig.so"
  fi
  # shellcheck disable=SC2086
  {
    curve theirs "" -n "$trials" -t 0.2 -s "$begin" $words
    curve ours _baseband -n "$trials" -t 0.2 -s "$begin" $words
    BASEBAND_SCHEDULE=flooding curve flooding _baseband -n "$trials" -t 0.2 -s "$begin" $words
  }
  judge "ldpctest $words" theirs ours no_worse
  # At rate 1/5 its own decoder is behind plain min-sum by about 0.3 dB.
  like=equal
  [ "${words#*-d 5}" != "$words" ] && like=no_worse
  judge "ldpctest $words, its own schedule" theirs flooding $like
done <<'END'
1.6 -l 8448 -r 1 -d 3 -i 5
2.6 -l 8448 -r 2 -d 3 -i 8
4.0 -l 8448 -r 22 -d 25 -i 8
0.6 -l 3840 -r 1 -d 5 -i 8
1.6 -l 1280 -r 1 -d 3 -i 8 -S 4
3.0 -l 640 -r 2 -d 3 -i 8
END

# ---- whole slots
if [ -x "$work/build/oai_slots" ]; then
  for place in server host; do
    BASEBAND_HARQ=$place timeout 600 "$work/build/oai_slots" "$plugin" "$programs/libldpc.so" \
      >slots.txt 2>slots.err
    status=$?
    while read -r result text; do
      [ "$result" = ok ]
      say $? "slots, soft bits on the $place: $text"
    done < <(grep -E '^(ok|FAILED) ' slots.txt)
    [ $status -eq 0 ] && ! grep -qv 'libldpc_baseband: served by ' slots.err
    say $? "slots, soft bits on the $place: ends well, and was served all the time"
  done
else
  echo "skipped: whole slots, whose test is for trees of 2025"
fi

# ---- the server ends, comes back, stands still
ends() { # TEXT STATUS ERRORS
  [ "$2" -eq 0 ] && [ "$(grep -c 'not served: ' "$3")" -ge 2 ] &&
    [ "$(grep -c 'the server is back' "$3")" -ge 2 ]
  say $? "$1: status $2, away $(grep -c 'not served: ' "$3") and back $(grep -c 'is back' "$3")"
}
trouble() { # while a program runs
  sleep 3
  kill_server KILL
  sleep 2
  start_server
  sleep 4
  kill_server STOP
  sleep 3
  kill_server CONT
}
export BASEBAND_DEADLINE_US=500000
if [ -x "$work/build/oai_slots" ]; then
  timeout 90 "$work/build/oai_slots" "$plugin" "$programs/libldpc.so" 30 >slots.txt 2>slots.err &
  running=$!
  trouble
  status=0
  wait $running || status=$?
  ends "slots while the server is killed, started, stopped: $(cat slots.txt)" $status slots.err
fi
timeout 120 "$programs/ldpctest" -v _baseband -n 2000000 -s 8 >ends.txt 2>ends.err &
running=$!
trouble
sleep 3
is_alive=no
! kill -0 $running 2>/dev/null || is_alive=yes
pkill -KILL -P $running 2>/dev/null
wait $running 2>/dev/null
[ $is_alive = yes ] && [ "$(grep -c 'not served: ' ends.err)" -ge 2 ] && [ "$(grep -c 'is back' ends.err)" -ge 2 ]
say $? "ldpctest while the server is killed, started, stopped: it ran on"

kill_server KILL
server_pid=
# shellcheck disable=SC2086
curve theirs "" -n "$trials" -t 0.2 -s 2.0 -l 8448 -r 1 -d 3 -i 5
curve away _baseband -n "$trials" -t 0.2 -s 2.0 -l 8448 -r 1 -d 3 -i 5
judge "ldpctest without a server" theirs away equal
[ "$(grep -c 'libldpc_baseband:' away.err)" -eq 1 ]
say $? "without a server that is said once: $(grep -o 'libldpc_baseband:.*' away.err | head -1)"

# ---- simulators of a whole link, where they are built
export BASEBAND_DEADLINE_US=2000000
simulate() { # TRIALS PROGRAM ARGUMENTS..
  local trials=$1 program=$2
  shift 2
  if [ ! -x "$programs/$program" ]; then
    echo "skipped: $program, which is not in $programs"
    return
  fi
  [ -n "$server_pid" ] || start_server
  timeout 600 "$programs/$program" "-n$trials" "$@" >theirs.txt 2>&1
  timeout 600 "$programs/$program" "-n$trials" "$@" --loader.ldpc.shlibversion _baseband >ours.txt 2>&1
  local status=$?
  python3 "$project/tests/interop/error_rates.py" theirs.txt ours.txt no_worse "$trials" >judged.txt &&
    [ $status -le 1 ] && ! grep -q 'not served: ' ours.txt
  say $? "$program $*: $(cat judged.txt)"
}
simulate 100 nr_ulschsim -s1 -S3 -R106 -m9
simulate 20 nr_dlschsim -s1 -S2 -R106 -m9
simulate 100 nr_ulsim -m9 -R106 -r106 -s6 -S6.1
simulate 50 nr_ulsim -m13 -R273 -r273 -W1 -y1 -z1 -s20 -S20.1
simulate 50 nr_dlsim -e9 -R106 -b106 -s8 -S8.1

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
