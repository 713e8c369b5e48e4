#include "tests/bench/workloads.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/bench/workload_requests.h"

namespace baseband::bench {
namespace {

grpc::ByteBuffer ToBuffer(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

template <typename Message>
Message FromBuffer(const grpc::ByteBuffer& buffer) {
  Message message;
  grpc::Slice slice;
  if (!buffer.DumpToSingleSlice(&slice).ok() ||
      !message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    Fail(absl::StrCat("a reply is no ", message.GetTypeName()));
  }
  return message;
}

template <typename Response>
v1::Timing TimingOf(const grpc::ByteBuffer& reply) {
  return FromBuffer<Response>(reply).timing();
}

// Whether `reply` ends with `payload`, its last field; cheaper than to parse it.
bool EndsWith(const grpc::ByteBuffer& reply, const std::string& payload) {
  grpc::Slice slice;
  return reply.DumpToSingleSlice(&slice).ok() && slice.size() >= payload.size() &&
         std::equal(payload.begin(), payload.end(), slice.end() - payload.size(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

// The frames of a reply, which are the same in every batch; all locked to what was sent.
std::string FramesOf(const grpc::ByteBuffer& reply) {
  v1::RecoverCarrierResponse response = FromBuffer<v1::RecoverCarrierResponse>(reply);
  for (const v1::CarrierResult& frame : response.frames()) {
    if (frame.lock() != v1::CARRIER_LOCK_LOCKED ||
        !(std::abs(frame.frequency() - kFrequency) < 6 * frame.frequency_stddev())) {
      return "";
    }
  }
  response.clear_timing();
  return response.SerializeAsString();
}

// Whether the first channel's outputs are 1 as soon as its filter is full of the tone.
bool IsToneAtZero(const std::string& outputs, int64_t count) {
  if (outputs.size() < 2 * sizeof(float) * static_cast<size_t>(count)) return false;
  for (int64_t m = kTaps / kDown; m < count; ++m) {
    float value[2];
    std::memcpy(value, outputs.data() + m * static_cast<int64_t>(sizeof(value)), sizeof(value));
    if (!(std::hypot(value[0] - 1.0F, value[1]) < 1e-4F)) return false;  // int16 has rounded it
  }
  return true;
}

Workload CodingWorkload(const char* name, int blocks) {
  Workload workload;
  workload.name = absl::StrCat(name, " BG1 Zc=384 R=1/3");
  workload.method = absl::StrCat("/baseband.v1.Baseband/", name);
  workload.echo_method = workload.method;
  workload.units = int64_t{8} * kInfoBytes * blocks;
  workload.unit = "Gb/s";
  return workload;
}

Workload DecodeWorkload(Caller& caller, int blocks) {
  grpc::ByteBuffer reply;
  v1::EncodeRequest encode = EncodeOf(blocks);
  encode.mutable_groups(0)->set_output(v1::ENCODE_OUTPUT_CODEWORD);
  caller.Call("/baseband.v1.Baseband/Encode", ToBuffer(encode), &reply);
  Workload bits = CodingWorkload("Decode", blocks);
  bits.request = ToBuffer(DecodeOf(FromBuffer<v1::EncodeResponse>(reply).payload(), blocks));
  caller.Call(bits.method, bits.request, &reply);
  bits.reply_bytes = static_cast<int64_t>(reply.Length());
  bits.is_right = [expected = encode.payload()](const grpc::ByteBuffer& got) {
    return EndsWith(got, expected);
  };
  bits.timing = TimingOf<v1::DecodeResponse>;
  return bits;
}

Workload CarrierWorkload(Caller& caller, v1::RecoverCarrierRequest request, bool corrected) {
  Workload workload;
  workload.name = corrected ? "RecoverCarrier, corrected" : "RecoverCarrier, estimates";
  workload.method = "/baseband.v1.Baseband/RecoverCarrier";
  workload.echo_method = "/baseband.v1.Baseband/Decode";
  for (v1::CarrierGroup& group : *request.mutable_groups()) {
    group.set_corrected(corrected);
    workload.units += group.frame_symbols();
  }
  workload.unit = "Gsym/s";
  workload.request = ToBuffer(request);
  grpc::ByteBuffer reply;
  caller.Call(workload.method, workload.request, &reply);
  workload.reply_bytes = static_cast<int64_t>(reply.Length());
  workload.is_right = [expected = FramesOf(reply)](const grpc::ByteBuffer& got) {
    return !expected.empty() && FramesOf(got) == expected;
  };
  workload.timing = TimingOf<v1::RecoverCarrierResponse>;
  return workload;
}

Workload DownconvertWorkload(Caller& caller, int64_t samples, int channels) {
  Workload workload;
  workload.name = absl::StrCat("Downconvert, ", channels, channels == 1 ? " channel" : " channels");
  workload.method = "/baseband.v1.Baseband/Downconvert";
  workload.echo_method = "/baseband.v1.Baseband/Decode";
  workload.units = samples;
  workload.unit = "Gsps";
  workload.request = ToBuffer(DownconvertOf(samples, channels));
  grpc::ByteBuffer reply;
  caller.Call(workload.method, workload.request, &reply);
  workload.reply_bytes = static_cast<int64_t>(reply.Length());
  const auto response = FromBuffer<v1::DownconvertResponse>(reply);
  if (!IsToneAtZero(response.payload(), (samples + kDown - 1) / kDown)) {
    Fail("Downconvert's outputs are not the tone at 0 Hz");
  }
  workload.is_right = [expected = response.payload()](const grpc::ByteBuffer& got) {
    return EndsWith(got, expected);
  };
  workload.timing = TimingOf<v1::DownconvertResponse>;
  return workload;
}

// The one response of a search.
v1::MinimizeAnswer AnswerOf(const grpc::ByteBuffer& reply) {
  return FromBuffer<v1::MinimizeResponse>(reply).answer();
}

}  // namespace

double Percentile(std::vector<double>& values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(p * static_cast<double>(values.size() - 1))];
}

std::shared_ptr<grpc::Channel> Connect(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

double Caller::Call(const std::string& method, const grpc::ByteBuffer& request,
                    grpc::ByteBuffer* reply) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  grpc::Status status;
  const auto start = std::chrono::steady_clock::now();
  const auto call = stub_.PrepareUnaryCall(&context, method, request, &queue_);
  call->StartCall();
  call->Finish(reply, &status, this);
  void* tag = nullptr;
  bool ok = false;
  queue_.Next(&tag, &ok);
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - start;
  if (!status.ok()) {
    Fail(absl::StrCat(method, ": ", status.error_message()));
  }
  return elapsed.count();
}

Workload EncodeWorkload(Caller& caller, int blocks) {
  grpc::ByteBuffer reply;
  Workload parity = CodingWorkload("Encode", blocks);
  parity.request = ToBuffer(EncodeOf(blocks));
  caller.Call(parity.method, parity.request, &reply);
  parity.reply_bytes = static_cast<int64_t>(reply.Length());
  parity.is_right = [expected = FromBuffer<v1::EncodeResponse>(reply).payload()](
                        const grpc::ByteBuffer& got) { return EndsWith(got, expected); };
  parity.timing = TimingOf<v1::EncodeResponse>;
  return parity;
}

v1::MinimizeRequest SchwefelSearch(int64_t points) {
  v1::MinimizeRequest request;
  request.mutable_expression()->set_text("418.9828872724339 - x * sin(sqrt(abs(x)))");
  v1::GridAxis& axis = *request.add_axes();
  axis.set_begin(-500.0);
  axis.set_step(1000.0 / static_cast<double>(points));
  axis.set_count(static_cast<uint64_t>(points));
  return request;
}

Workload MinimizeWorkload(Caller& caller, int64_t points) {
  Workload workload;
  workload.name = absl::StrCat("Minimize, ", points, " points");
  workload.method = "/baseband.v1.Baseband/Minimize";
  workload.echo_method = "/baseband.v1.Baseband/Decode";
  workload.units = points;
  workload.unit = "Gpt/s";
  const v1::MinimizeRequest request = SchwefelSearch(points);
  workload.request = ToBuffer(request);
  workload.request_bytes = static_cast<int64_t>(workload.request.Length());
  uint64_t argmin = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < points; ++i) {
    const double x = request.axes(0).begin() + request.axes(0).step() * static_cast<double>(i);
    const double value = 418.9828872724339 - x * std::sin(std::sqrt(std::abs(x)));
    if (value < least) {
      least = value;
      argmin = static_cast<uint64_t>(i);
    }
  }
  workload.is_right = [argmin, least](const grpc::ByteBuffer& got) {
    constexpr double kTolerance = 1e-10;  // some hundred roundings of values of 420
    const v1::MinimizeAnswer answer = AnswerOf(got);
    return answer.top_size() == 1 && answer.top(0).index() == argmin &&
           std::abs(answer.top(0).value() - least) < kTolerance;
  };
  workload.timing = [](const grpc::ByteBuffer& reply) { return AnswerOf(reply).timing(); };
  grpc::ByteBuffer reply;
  caller.Call(workload.method, workload.request, &reply);
  if (!workload.is_right(reply)) Fail("Minimize did not find Schwefel's minimum");
  workload.reply_bytes = static_cast<int64_t>(reply.Length());
  return workload;
}

std::vector<Workload> MakeWorkloads(const std::string& target, int blocks, int frames,
                                    int64_t samples, int64_t points) {
  Caller caller(target);
  std::vector<Workload> workloads = {EncodeWorkload(caller, blocks), DecodeWorkload(caller, blocks),
                                     MinimizeWorkload(caller, points)};
  const v1::RecoverCarrierRequest request = RecoverOf(frames);
  for (const bool corrected : {false, true}) {
    workloads.push_back(CarrierWorkload(caller, request, corrected));
  }
  for (const int channels : {1, 8}) {
    workloads.push_back(DownconvertWorkload(caller, samples, channels));
  }
  for (Workload& workload : workloads) {
    workload.request_bytes = static_cast<int64_t>(workload.request.Length());
  }
  return workloads;
}

}  // namespace baseband::bench
