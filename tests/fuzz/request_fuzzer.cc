// Any bytes as a request: split, parsed, checked, its payload gathered, held against protobuf's own
// reading of the same bytes; and what is accepted, and small, is run on the CPU device and
// answered. Compiled once for each RPC: FUZZED_OPERATION is its name, FUZZED_REQUEST and
// FUZZED_RESPONSE are its messages.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <string>
#include <utility>

#include "baseband/v1/baseband.pb.h"
#include "server/grpc/wire.h"
#include "tests/fuzz/in_pieces.h"
#include "tests/fuzz/run_alone.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

// Runs an accepted job alone and makes its reply, which protobuf must read.
void Run(JobPtr job, const Request& request) {
  constexpr int64_t kMaxBlocks = 8;
  if (!IsSmall(*job) || job->footprint.blocks > kMaxBlocks) return;
  const JobPtr done = RunAlone(std::move(job), request.payload);
  absl::StatusOr<Reply> reply = TestOperation(FUZZED_OPERATION).ToReply(*done);
  if (!reply.ok()) {
    Check(absl::IsInvalidArgument(reply.status()));
    return;
  }
  Check(FUZZED_RESPONSE().ParseFromString(MessageOf(ToByteBuffer(*std::move(reply)))));
}

void Try(const uint8_t* data, size_t size) {
  constexpr int64_t kMostBlocks = 1024;  // Downconvert's channels are always so many
  static Operation& operation = TestOperation(FUZZED_OPERATION);
  RequestLimits limits;
  limits.max_blocks_per_request = kMostBlocks;

  const absl::StatusOr<Request> request =
      ReadRequest(testing::InPieces(data, size), operation.description().payload_field);
  FUZZED_REQUEST message;
  const bool is_message = message.ParseFromArray(data, static_cast<int>(size));
  if (!request.ok()) {
    Check(!request.status().message().empty());
    return;
  }
  Check(request->bytes() <= static_cast<int64_t>(size));
  if (is_message) Check(BytesOf(request->payload) == message.payload());

  absl::StatusOr<JobPtr> job = Finish(operation.Convert(*request, limits));
  if (absl::IsAborted(job.status())) return;
  if (!job.ok()) {
    Check(absl::IsInvalidArgument(job.status()));
    Check(!job.status().message().empty());
    return;
  }
  Check(is_message);
  Check((*job)->payload_bytes == request->payload.bytes());
  Check((*job)->footprint.blocks >= 1 && (*job)->footprint.blocks <= kMostBlocks);
  Check((*job)->footprint.input_bytes >= (*job)->payload_bytes);
  Check((*job)->reply_bytes >= 0);
  Run(*std::move(job), *request);
}

}  // namespace
}  // namespace baseband::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  baseband::server::Try(data, size);
  return 0;
}
