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

#include "server/grpc/wire.h"
#include "server/jobs/stream_session.h"
#include "server/operations/downconvert/downconvert.h"
#include "server/operations/downconvert/downconvert_setup.h"
#include "tests/fuzz/run_alone.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

constexpr size_t kMaxChannels = 8;
constexpr int kPayloadField = v1::DownconvertRequest::kPayloadFieldNumber;

grpc::ByteBuffer ToBuffer(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

bool IsQuick(const Job& job) {
  return IsSmall(job) && static_cast<const DownconvertJob&>(job).channels().size() <= kMaxChannels;
}

// Runs the job alone and appends each channel's outputs to its string.
JobPtr Run(JobPtr base, const Request& request, std::vector<std::string>* outputs) {
  JobPtr done = RunAlone(std::move(base), request.payload);
  const auto& job = static_cast<const DownconvertJob&>(*done);
  outputs->resize(job.channels().size());
  for (size_t c = 0; c < job.channels().size(); ++c) {
    const auto* const begin =
        reinterpret_cast<const char*>(job.reply.data()) + job.reply_offsets()[c];
    (*outputs)[c].append(begin, static_cast<size_t>(job.output_bytes(c)));
  }
  return done;
}

// What is beyond float32, and comes of it, has no defined bits; the paper's oscillators have no
// streams.
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

void ExpectTheSameAtOnce(const v1::DownconvertRequest& whole,
                         const std::vector<std::string>& outputs) {
  if (!HasDefinedBits(whole)) return;
  const absl::StatusOr<Request> request =
      ReadRequest(ToBuffer(whole.SerializeAsString()), kPayloadField);
  Check(request.ok());
  absl::StatusOr<JobPtr> job =
      Finish(TestOperation("Downconvert").Convert(*request, RequestLimits()));
  if (whole.retunes_size() > kMaxRetunesOfChannel) return;  // more than a stream had at a time
  Check(job.ok() || absl::IsAborted(job.status()));
  if (!job.ok() || !IsQuick(**job)) return;
  std::vector<std::string> at_once;
  Run(*std::move(job), *request, &at_once);
  Check(at_once == outputs);
}

void Try(const uint8_t* data, size_t size) {
  static auto& operation = TestOperation("Downconvert");
  static auto& metrics = *new Metrics("fuzz", TestOperations().counted());
  const std::unique_ptr<StreamSession> session =
      operation.NewStream(RequestLimits(), metrics.ResultsOf(operation.rpc()));

  v1::DownconvertRequest whole;  // what came so far, as one request
  std::vector<std::string> outputs;
  bool has_gap = false;
  uint64_t next = 0;
  for (const std::string& text : SplitRecords(data, size)) {
    const absl::StatusOr<Request> request = ReadRequest(ToBuffer(text), kPayloadField);
    if (!request.ok()) return;
    v1::DownconvertRequest message;
    if (!message.ParseFromString(text)) message.Clear();
    absl::StatusOr<JobPtr> job = Finish(session->Convert(*request));
    if (!job.ok()) {
      Check(absl::IsInvalidArgument(job.status()) || absl::IsAborted(job.status()));
      Check(!job.status().message().empty());
      break;
    }
    if (!IsQuick(**job)) return;
    const JobPtr done = Run(*std::move(job), *request, &outputs);

    v1::DownconvertResponse response;
    absl::StatusOr<Reply> reply = session->ToReply(*done);
    if (absl::IsInvalidArgument(reply.status())) return;  // a sample that is not finite
    Check(reply.ok() && response.ParseFromString(MessageOf(ToByteBuffer(*std::move(reply)))));
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
  if (whole.has_setup() && !has_gap) ExpectTheSameAtOnce(whole, outputs);
}

}  // namespace
}  // namespace baseband::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  baseband::server::Try(data, size);
  return 0;
}
