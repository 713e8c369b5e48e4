// Known answers that a device must give before it serves.
#ifndef BASEBAND_SERVER_JOBS_SELF_TEST_H_
#define BASEBAND_SERVER_JOBS_SELF_TEST_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/device/device.h"
#include "server/device/host_pool.h"
#include "server/jobs/job.h"
#include "server/jobs/operation.h"

namespace baseband::server {

// A lane on which an operation tries known jobs: Operation::SelfTest.
class SelfTestBench {
 public:
  // Borrows all three; `lane` is idle.
  SelfTestBench(Lane& lane, HostPool& staging, HostPool& reply)
      : lane_(lane), staging_(staging), reply_(reply) {}

  Lane& lane() { return lane_; }
  HostPool& staging() { return staging_; }

  // Runs `job` alone with `payload`, and returns it when it is done.
  absl::StatusOr<JobPtr> Run(JobPtr job, const std::string& payload);
  // Runs it. Internal if its reply's payload is anything but `expected`.
  absl::Status ExpectReply(JobPtr job, const std::string& payload, const std::string& expected);

 private:
  Lane& lane_;
  HostPool& staging_;
  HostPool& reply_;
};

// The self-tests of all operations on every lane of `device`, which must be idle. Internal names
// the lane, the operation and what was wrong. Takes a little memory of both pools and gives it
// back; ResourceExhausted: there was none.
absl::Status RunSelfTest(const Device& device, const OperationTable& operations, HostPool& staging,
                         HostPool& reply);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_SELF_TEST_H_
