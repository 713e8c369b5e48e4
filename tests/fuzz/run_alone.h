// What the fuzzers of requests and streams have in common.
#ifndef BASEBAND_TESTS_FUZZ_RUN_ALONE_H_
#define BASEBAND_TESTS_FUZZ_RUN_ALONE_H_

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/base/continue_check.h"
#include "server/jobs/job.h"
#include "server/jobs/operation.h"
#include "server/jobs/request.h"

namespace baseband::server {

inline void Check(bool holds) {
  if (!holds) std::abort();
}

// Field 1 of each top-level record, up to the first that is something else.
inline std::vector<std::string> SplitRecords(const uint8_t* data, size_t size) {
  constexpr uint32_t kTag = 1 << 3 | 2;  // field 1, length-delimited
  google::protobuf::io::CodedInputStream stream(data, static_cast<int>(size));
  std::vector<std::string> messages;
  uint32_t length = 0;
  std::string message;
  while (stream.ReadTag() == kTag && stream.ReadVarint32(&length) && length <= size &&
         stream.ReadString(&message, static_cast<int>(length))) {
    messages.push_back(message);
  }
  return messages;
}

inline std::string BytesOf(const Payload& payload) {
  std::string bytes(static_cast<size_t>(payload.bytes()), '\0');
  payload.CopyTo(reinterpret_cast<uint8_t*>(bytes.data()));
  return bytes;
}

// What takes long is given up with Aborted, so that an input does not take seconds under the
// sanitizers.
inline ContinueCheck GiveUpSoon() {
  return [until = absl::Now() + absl::Milliseconds(300)] {
    return absl::Now() < until ? absl::OkStatus() : absl::AbortedError("it takes long");
  };
}

inline absl::StatusOr<JobPtr> Finish(absl::StatusOr<Conversion> conversion) {
  if (!conversion.ok()) return conversion.status();
  Check((conversion->job != nullptr) != (conversion->preparation != nullptr));
  if (conversion->job != nullptr) return std::move(conversion->job);
  return conversion->preparation->Finish(GiveUpSoon());
}

// Of a job's input, and of its reply.
inline constexpr int64_t kMaxFuzzedBytes = 1 << 16;

inline bool IsSmall(const Job& job) {
  return job.input_bytes() <= kMaxFuzzedBytes && job.reply_bytes <= kMaxFuzzedBytes;
}

// Runs an accepted job, which is small, on the CPU device in a batch of its own.
inline JobPtr RunAlone(JobPtr job, const Payload& payload) {
  static const auto& pool =
      *new std::shared_ptr<HostPool>(*HostPool::CreatePageable(16 * kMaxFuzzedBytes));
  HostLease input = *pool->Lease(job->input_bytes());
  payload.CopyTo(job->WritePrefix(input.data()));
  job->SetInput(std::move(input));
  job->reply = *pool->Lease(job->reply_bytes);
  std::vector<JobPtr> jobs;
  jobs.push_back(std::move(job));
  const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
  for (int piece = 0; piece < batch->num_pieces(); ++piece) batch->RunPiece(piece);
  Check(batch->Finish().ok());
  return std::move(batch->TakeJobs().front());
}

// The reply as one string: its message.
inline std::string MessageOf(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  Check(bytes.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_FUZZ_RUN_ALONE_H_
