#include "tests/bench/small_calls.h"

#include <grpcpp/support/slice.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "baseband/v1/baseband.pb.h"

namespace baseband::bench {
namespace {

template <typename Request>
SmallCall Make(const std::string& name, const std::string& method, const Request& request,
               bool is_refused = false) {
  const grpc::Slice slice(request.SerializeAsString());
  return {name, absl::StrCat("/baseband.v1.Baseband/", method), grpc::ByteBuffer(&slice, 1),
          is_refused};
}

v1::EncodeRequest EncodeOf(int zc) {
  v1::EncodeRequest request;
  request.add_groups()->mutable_code()->mutable_nr()->set_base_graph(2);
  request.mutable_groups(0)->mutable_code()->mutable_nr()->set_zc(zc);
  request.mutable_groups(0)->set_count(1);
  request.mutable_payload()->assign(10 * 64 / 8, '\x5a');
  return request;
}

// One block of `zc`, its LLRs all sure of 0; 23 KB where zc is 352.
v1::DecodeRequest DecodeOf(int zc, int bytes) {
  v1::DecodeRequest request;
  request.add_groups()->mutable_code()->mutable_nr()->set_base_graph(1);
  request.mutable_groups(0)->mutable_code()->mutable_nr()->set_zc(zc);
  request.mutable_groups(0)->set_count(1);
  request.mutable_payload()->assign(static_cast<size_t>(bytes), '\x10');
  return request;
}

// A frame of QPSK that turns by 0.001 cycles a symbol; `last` in place of its last value.
v1::RecoverCarrierRequest RecoverOf(int symbols, float last) {
  v1::RecoverCarrierRequest request;
  v1::CarrierGroup& group = *request.add_groups();
  group.mutable_constellation()->set_name("QPSK");
  group.set_count(1);
  group.set_frame_symbols(static_cast<uint32_t>(symbols));
  group.set_format(v1::SAMPLE_FORMAT_FLOAT32);
  std::vector<float> values;
  for (int i = 0; i < symbols; ++i) {
    const double phase = 2 * M_PI * (0.001 * i + 0.125 + 0.25 * (i * i % 7 % 4));
    values.push_back(static_cast<float>(std::cos(phase)));
    values.push_back(static_cast<float>(std::sin(phase)));
  }
  if (last != 0) values.back() = last;
  request.mutable_payload()->assign(reinterpret_cast<const char*>(values.data()),
                                    values.size() * sizeof(float));
  return request;
}

}  // namespace

std::vector<SmallCall> SmallCalls() {
  constexpr int kSymbols = 2900;  // 23 KB
  constexpr bool kRefused = true;
  return {
      Make("Encode, one block of Zc 64", "Encode", EncodeOf(64)),
      Make("RecoverCarrier, 128 symbols", "RecoverCarrier", RecoverOf(128, 0)),
      Make("Decode, 23 KB, Zc 7: refused", "Decode", DecodeOf(7, 66 * 352), kRefused),
      Make("Decode, 23 KB, too short: refused", "Decode", DecodeOf(384, 66 * 352), kRefused),
      Make("RecoverCarrier, 23 KB, the last NaN: refused", "RecoverCarrier",
           RecoverOf(kSymbols, std::nanf("")), kRefused),
  };
}

}  // namespace baseband::bench
