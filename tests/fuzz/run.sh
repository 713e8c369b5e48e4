#!/usr/bin/env bash
# Runs every fuzzer for SECONDS, under AddressSanitizer and UndefinedBehaviorSanitizer, all of them
# at a time as far as there are cores. What they learn stays in BUILD_DIR/corpus. Exit status 0 iff
# none found anything; a finding lies in BUILD_DIR/findings and is run again by giving it to the
# fuzzer as its argument.
#
#   tests/fuzz/run.sh SECONDS [FUZZER ...]
#
# BUILD_DIR (default build/fuzz) is where it builds; TIMEOUT (default 20) the seconds that one input may
# take: more on a busy machine, or with EXPRESSION_FUZZER_NVRTC (expression_fuzzer.cc).
set -euo pipefail
usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h|--help) usage; exit 0 ;; esac
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
[[ ${1:-} =~ ^[0-9]+$ ]] || { usage >&2; exit 2; }
seconds=$1; shift
fuzzers=("$@")
[ $# -gt 0 ] || fuzzers=(encode_request_fuzzer decode_request_fuzzer
                             encode_shared_channel_request_fuzzer decode_shared_channel_request_fuzzer
                             recover_carrier_request_fuzzer downconvert_request_fuzzer
                             minimize_request_fuzzer downconvert_stream_fuzzer submit_stream_fuzzer
                             base_matrix_fuzzer config_file_fuzzer expression_fuzzer
                             schedule_fuzzer device_loss_fuzzer region_table_fuzzer ring_fuzzer
                             request_sequence_fuzzer)
folder=${BUILD_DIR:-build/fuzz}

deploy/build.sh fuzz "$folder" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++-14 \
  -DCMAKE_CXX_FLAGS=-fsanitize=fuzzer-no-link -DBASEBAND_FUZZERS=ON -DBASEBAND_SANITIZE=address \
  -DBASEBAND_CUDA=OFF -DBASEBAND_WERROR=OFF -- "${fuzzers[@]}"

mkdir -p "$folder/findings" "$folder/seeds"
for seed in tests/fuzz/seeds/*.textproto; do
  name=$(basename "$seed" .textproto)
  message=baseband.v1
  case $name in
    encode_shared_channel_*)
      message+=.EncodeSharedChannelRequest fuzzer=encode_shared_channel_request_fuzzer ;;
    decode_shared_channel_*)
      message+=.DecodeSharedChannelRequest fuzzer=decode_shared_channel_request_fuzzer ;;
    encode_*) message+=.EncodeRequest fuzzer=encode_request_fuzzer ;;
    decode_*) message+=.DecodeRequest fuzzer=decode_request_fuzzer ;;
    recover_carrier_*) message+=.RecoverCarrierRequest fuzzer=recover_carrier_request_fuzzer ;;
    minimize_*) message+=.MinimizeRequest fuzzer=minimize_request_fuzzer ;;
    downconvert_stream_*)
      message=baseband.fuzz.DownconvertMessages fuzzer=downconvert_stream_fuzzer ;;
    submit_stream_*) message=baseband.fuzz.SubmitMessages fuzzer=submit_stream_fuzzer ;;
    downconvert_*) message+=.DownconvertRequest fuzzer=downconvert_request_fuzzer ;;
  esac
  mkdir -p "$folder/seeds/$fuzzer"
  protoc --proto_path=proto --proto_path=tests/fuzz --encode="$message" downconvert_stream.proto \
    submit_stream.proto baseband/v1/baseband.proto <"$seed" >"$folder/seeds/$fuzzer/$name"
done

mkdir -p "$folder/seeds/expression_fuzzer"
cp tests/fuzz/seeds/expression/* "$folder/seeds/expression_fuzzer/"
# To these any bytes say what to do next: some thousand of them are a beginning.
for fuzzer in base_matrix_fuzzer schedule_fuzzer device_loss_fuzzer request_sequence_fuzzer; do
  mkdir -p "$folder/seeds/$fuzzer"
  cp tests/fuzz/*.cc tests/fuzz/seeds/*.textproto "$folder/seeds/$fuzzer/"
done
dictionary() { [ ! -f "tests/fuzz/seeds/$1.dict" ] || echo "-dict=tests/fuzz/seeds/$1.dict"; }

run() {
  local fuzzer=$1 corpus=$folder/corpus/$1 seeds=$folder/seeds/$1
  mkdir -p "$corpus" "$seeds"
  UBSAN_OPTIONS=print_stacktrace=1 "$folder/tests/fuzz/$fuzzer" -max_total_time="$seconds" \
    $(dictionary "$fuzzer") -max_len=16384 -timeout="${TIMEOUT:-20}" -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$folder/findings/$fuzzer-" "$corpus" "$seeds" >"$folder/$fuzzer.log" 2>&1
}

status=0
running=()
finish() {
  local fuzzer=${running[0]%%:*} pid=${running[0]##*:}
  running=("${running[@]:1}")
  if wait "$pid"; then
    echo "$fuzzer: no finding in $(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$fuzzer.log") inputs"
  else
    status=1
    tail -n 60 "$folder/$fuzzer.log"
    echo "$fuzzer: FOUND something, see $folder/findings and $folder/$fuzzer.log"
  fi
}
for fuzzer in "${fuzzers[@]}"; do
  [ ${#running[@]} -lt "$(nproc)" ] || finish
  run "$fuzzer" &
  running+=("$fuzzer:$!")
done
while [ ${#running[@]} -gt 0 ]; do finish; done
exit $status
