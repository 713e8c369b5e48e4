// What the fuzzers of requests and streams have in common.
#ifndef BASEBAND_TESTS_FUZZ_RUN_ALONE_H_
#define BASEBAND_TESTS_FUZZ_RUN_ALONE_H_

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/grpc/wire.h"
#include "server/operations/job.h"

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

// Of a job's input, and of its reply.
inline constexpr int64_t kMaxFuzzedBytes = 1 << 16;

inline bool IsSmall(const Job& job) {
  return static_cast<int64_t>(job.prefix.size()) + job.payload_bytes <= kMaxFuzzedBytes &&
         job.reply_bytes <= kMaxFuzzedBytes;
}

// Runs an accepted job, which is small, on the CPU device in a batch of its own.
inline JobPtr RunAlone(JobPtr job, const RequestView& view) {
  static const auto& pool =
      *new std::shared_ptr<HostPool>(*HostPool::CreatePageable(16 * kMaxFuzzedBytes));
  const auto prefix_bytes = static_cast<int64_t>(job->prefix.size());
  job->input = *pool->Lease(prefix_bytes + job->payload_bytes);
  job->reply = *pool->Lease(job->reply_bytes);
  std::copy(job->prefix.begin(), job->prefix.end(), job->input.data());
  view.GatherPayload(job->input.data() + prefix_bytes);
  std::vector<JobPtr> jobs;
  jobs.push_back(std::move(job));
  const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
  for (int piece = 0; piece < batch->num_pieces(); ++piece) batch->RunPiece(piece);
  Check(batch->Finish().ok());
  return std::move(batch->TakeJobs().front());
}

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_FUZZ_RUN_ALONE_H_
