// Any bytes as a request: split, parsed, checked, its payload gathered, held against protobuf's own
// reading of the same bytes; and what is accepted, and small, is run on the CPU device and
// answered. Compiled once for each RPC: FUZZED_REQUEST is its message, FUZZED_PAGE its
// MethodDescriptor.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <string>
#include <utility>

#include "server/converters/rpc.h"
#include "tests/fuzz/downconvert_continue_check.h"
#include "tests/fuzz/in_pieces.h"
#include "tests/fuzz/run_alone.h"

namespace baseband::server {
namespace {

// Runs an accepted job alone and makes its reply.
void Run(JobPtr job, const RequestView& view) {
  constexpr int64_t kMaxBlocks = 8;
  if (!IsSmall(*job) || job->footprint.blocks > kMaxBlocks) {
    return;
  }
  const JobPtr done = RunAlone(std::move(job), view);
  const absl::StatusOr<grpc::ByteBuffer> reply = FUZZED_PAGE.to_proto(*done);
  Check(reply.ok() || reply.status().code() == absl::StatusCode::kInvalidArgument);
}

// Only Downconvert has steps that take long.
template <typename Request>
ContinueCheck ContinueCheckOf(const Request&) {
  return ContinueCheck();
}
ContinueCheck ContinueCheckOf(const v1::DownconvertRequest& request) {
  return ContinueCheckFor(request.setup());
}

void Try(const uint8_t* data, size_t size) {
  constexpr int64_t kMostBlocks = 1024;  // Downconvert's channels are always so many
  static auto& caches = *new RequestCaches();
  RequestLimits limits;
  limits.max_blocks_per_request = kMostBlocks;

  const absl::StatusOr<RequestView> view =
      RequestView::Read(testing::InPieces(data, size), FUZZED_PAGE.payload_field);
  FUZZED_REQUEST message;
  const bool is_message = message.ParseFromArray(data, static_cast<int>(size));
  if (!view.ok()) {
    Check(!view.status().message().empty());
    return;
  }
  Check(view->payload_bytes() <= static_cast<int64_t>(size));
  std::string payload(static_cast<size_t>(view->payload_bytes()), '\0');
  view->GatherPayload(reinterpret_cast<uint8_t*>(payload.data()));
  if (is_message) Check(payload == message.payload());

  limits.may_continue = ContinueCheckOf(message);
  absl::StatusOr<JobPtr> job = FUZZED_PAGE.from_proto(*view, limits, caches);
  if (absl::IsAborted(job.status())) {
    Check(!limits.may_continue);
    return;
  }
  if (!job.ok()) {
    Check(job.status().code() == absl::StatusCode::kInvalidArgument);
    Check(!job.status().message().empty());
    return;
  }
  Check(is_message);
  Check((*job)->payload_bytes == view->payload_bytes());
  Check((*job)->footprint.blocks >= 1 && (*job)->footprint.blocks <= kMostBlocks);
  Check((*job)->footprint.input_bytes >= (*job)->payload_bytes);
  Check((*job)->reply_bytes >= 0);
  Run(*std::move(job), *view);
}

}  // namespace
}  // namespace baseband::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  baseband::server::Try(data, size);
  return 0;
}
