// A job run alone on the CPU device, as unit tests of converters do.
#ifndef BASEBAND_TESTS_SUPPORT_RUN_ON_CPU_H_
#define BASEBAND_TESTS_SUPPORT_RUN_ON_CPU_H_

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/jobs/operation.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {

// Runs `job`, whose request had `payload`, and returns it when it is done.
inline server::JobPtr RunOnCpu(server::JobPtr job, const server::Payload& payload) {
  static const auto& pool =
      *new std::shared_ptr<server::HostPool>(*server::HostPool::CreatePageable(int64_t{256} << 20));
  server::HostLease input = *pool->Lease(job->input_bytes());
  payload.CopyTo(job->WritePrefix(input.data()));
  job->SetInput(std::move(input));
  job->reply = *pool->Lease(job->reply_bytes);
  const server::Operation& operation = job->operation();
  std::vector<server::JobPtr> jobs;
  jobs.push_back(std::move(job));
  const std::unique_ptr<server::Batch> batch = operation.MakeBatch(std::move(jobs));
  for (int piece = 0; piece < batch->num_pieces(); ++piece) batch->RunPiece(piece);
  EXPECT_THAT(batch->Finish(), IsOk());
  return std::move(batch->TakeJobs().front());
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_RUN_ON_CPU_H_
