#include "server/jobs/self_test.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {

absl::StatusOr<JobPtr> SelfTestBench::Run(JobPtr job, const std::string& payload) {
  BASEBAND_ASSIGN_OR_RETURN(HostLease input, staging_.Lease(job->payload_bytes));
  BASEBAND_ASSIGN_OR_RETURN(job->reply, reply_.Lease(job->reply_bytes));
  std::copy(payload.begin(), payload.end(), input.data());
  job->SetInput(std::move(input));
  std::vector<JobPtr> jobs;
  jobs.push_back(std::move(job));
  const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
  absl::Notification ended;
  absl::Status result;
  lane_.Start(batch.get(), [&](absl::Status status, const StageTimes&) {
    result = std::move(status);
    ended.Notify();
  });
  ended.WaitForNotification();
  BASEBAND_RETURN_IF_ERROR(result);
  BASEBAND_RETURN_IF_ERROR(batch->Finish());
  return std::move(batch->TakeJobs().front());
}

absl::Status SelfTestBench::ExpectReply(JobPtr job, const std::string& payload,
                                        const std::string& expected) {
  BASEBAND_ASSIGN_OR_RETURN(const JobPtr done, Run(std::move(job), payload));
  const absl::Span<const uint8_t> reply = done->reply.span();
  const bool equal = std::equal(expected.begin(), expected.end(), reply.begin(), reply.end(),
                                [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
  return equal ? absl::OkStatus() : absl::InternalError("gave a wrong answer");
}

absl::Status RunSelfTest(const Device& device, const OperationTable& operations, HostPool& staging,
                         HostPool& reply) {
  for (const std::unique_ptr<Lane>& lane : device.lanes()) {
    SelfTestBench bench(*lane, staging, reply);
    for (const std::unique_ptr<Operation>& operation : operations.all()) {
      if (const absl::Status status = operation->SelfTest(bench); !status.ok()) {
        const std::string message =
            absl::StrCat(device.id(), " lane ", lane->index(), ": self-test: ", operation->name(),
                         " ", status.message());
        return absl::IsResourceExhausted(status) ? absl::ResourceExhaustedError(message)
                                                 : absl::InternalError(message);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
