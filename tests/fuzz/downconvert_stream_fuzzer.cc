// Any bytes as the messages of a DownconvertStream: field 1 of each top-level record is one
// (downconvert_stream.proto), well-formed or not. What the session accepts, and is small, is run on
// the CPU device and answered; and if nothing was left out, the outputs must be those of one unary
// request for the whole signal, to the bit.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/calls/stream_call.h"
#include "server/operations/downconvert.h"
#include "tests/fuzz/downconvert_continue_check.h"
#include "tests/fuzz/run_alone.h"

namespace baseband::server {
namespace {

constexpr size_t kMaxChannels = 8;

grpc::ByteBuffer ToBuffer(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

bool IsQuick(const Job& job) {
  return IsSmall(job) && static_cast<const DownconvertJob&>(job).channels().size() <= kMaxChannels;
}

// Runs the job alone and appends each channel's outputs to its string.
JobPtr Run(JobPtr base, const RequestView& view, std::vector<std::string>* outputs) {
  JobPtr done = RunAlone(std::move(base), view);
  const auto& job = static_cast<const DownconvertJob&>(*done);
  outputs->resize(job.channels().size());
  for (size_t c = 0; c < job.channels().size(); ++c) {
    const auto* const begin =
        reinterpret_cast<const char*>(job.reply.data()) + job.reply_offsets()[c];
    (*outputs)[c].append(begin, static_cast<size_t>(job.output_bytes(c)));
  }
  return done;
}

// Infinities and what comes of them have no defined bits, and the paper's oscillators no streams.
bool HasDefinedBits(const v1::DownconvertRequest& whole) {
  const v1::WidebandFormat format = whole.setup().format();
  if (format == v1::WIDEBAND_FORMAT_COMPLEX_FLOAT32 || format == v1::WIDEBAND_FORMAT_REAL_FLOAT32 ||
      whole.setup().scale() > 1.0F) {
    return false;
  }
  return std::all_of(whole.setup().channels().begin(), whole.setup().channels().end(),
                     [](const v1::DownconvertChannel& channel) {
                       const bool is_exact = channel.nco() == v1::NCO_METHOD_UNSPECIFIED ||
                                             channel.nco() == v1::NCO_METHOD_EXACT;
                       const auto& taps = channel.filter().taps();
                       return is_exact && std::abs(channel.gain()) < 1e6F &&
                              std::all_of(taps.begin(), taps.end(),
                                          [](float tap) { return std::abs(tap) < 1e6F; });
                     });
}

void ExpectTheSameAtOnce(const v1::DownconvertRequest& whole, RequestCaches& caches,
                         const std::vector<std::string>& outputs) {
  if (!HasDefinedBits(whole)) return;
  const absl::StatusOr<RequestView> view =
      RequestView::Read(ToBuffer(whole.SerializeAsString()), kDownconvertRpc.payload_field);
  Check(view.ok());
  RequestLimits limits;
  limits.may_continue = ContinueCheckFor(whole.setup());
  absl::StatusOr<JobPtr> job = kDownconvertRpc.from_proto(*view, limits, caches);
  Check(job.ok());
  if (!IsQuick(**job)) return;
  std::vector<std::string> at_once;
  Run(*std::move(job), *view, &at_once);
  Check(at_once == outputs);
}

void Try(const uint8_t* data, size_t size) {
  static auto& caches = *new RequestCaches();
  static auto& metrics = *new Metrics("fuzz");
  CallEnvironment environment;
  environment.caches = &caches;
  environment.metrics = &metrics;
  const std::unique_ptr<StreamSession> session = kDownconvertStream.new_session(environment);

  v1::DownconvertRequest whole;  // what came so far, as one request
  std::vector<std::string> outputs;
  bool has_gap = false;
  uint64_t next = 0;
  for (const std::string& text : SplitRecords(data, size)) {
    const absl::StatusOr<RequestView> view =
        RequestView::Read(ToBuffer(text), kDownconvertStream.payload_field);
    if (!view.ok()) return;
    v1::DownconvertRequest message;
    if (!message.ParseFromString(text)) message.Clear();
    const ContinueCheck may_continue = ContinueCheckFor(message.setup());
    absl::StatusOr<JobPtr> job = session->FromProto(*view, may_continue);
    if (!job.ok()) {
      Check(absl::IsInvalidArgument(job.status()) ||
            (absl::IsAborted(job.status()) && !may_continue));
      Check(!job.status().message().empty());
      break;
    }
    if (!IsQuick(**job)) return;
    const JobPtr done = Run(*std::move(job), *view, &outputs);

    v1::DownconvertResponse response;
    absl::StatusOr<grpc::ByteBuffer> reply = session->ToProto(*done);
    grpc::Slice slice;
    Check(reply.ok() && reply->DumpToSingleSlice(&slice).ok() &&
          response.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
    Check(response.next_sample() > next || !whole.has_setup());
    next = response.next_sample();
    has_gap = has_gap || response.gap() > 0;
    if (!whole.has_setup()) {
      whole = message;
      whole.set_zero_history(true);
    } else {
      whole.mutable_retunes()->MergeFrom(message.retunes());
      whole.mutable_payload()->append(message.payload());
    }
  }
  if (whole.has_setup() && !has_gap) ExpectTheSameAtOnce(whole, caches, outputs);
}

}  // namespace
}  // namespace baseband::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  baseband::server::Try(data, size);
  return 0;
}
