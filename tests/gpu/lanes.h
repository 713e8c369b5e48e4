// What tests of batches on a GPU's lanes share: lanes for every operation, and runs to the end.
#ifndef BASEBAND_TESTS_GPU_LANES_H_
#define BASEBAND_TESTS_GPU_LANES_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/device/cuda_device.h"
#include "server/jobs/operation.h"
#include "tests/support/matchers.h"
#include "tests/support/test_operations.h"

namespace baseband::server {

// Of a device that runs every operation.
inline CudaDeviceOptions OptionsOfLanes(int num_lanes) {
  CudaDeviceOptions options;
  options.num_lanes = num_lanes;
  options.lane = {16 << 20, 16 << 20, 4 << 20};
  options.workspace_bytes = TestOperations().cuda_workspace_bytes();
  options.prepare = [] { return TestOperations().PrepareCuda(); };
  return options;
}

// Runs `task` on a lane to its end, and returns how that went. `times`: null, or its stages'.
inline absl::Status RunOnLane(Device& device, int lane, Task* task, StageTimes* times = nullptr) {
  absl::Notification ended;
  absl::Status end;
  device.lanes()[static_cast<size_t>(lane)]->Start(
      task, [&](absl::Status status, const StageTimes& stages) {
        end = std::move(status);
        if (times != nullptr) *times = stages;
        ended.Notify();
      });
  ended.WaitForNotification();
  return end;
}

// What the CPU device makes of jobs whose memory is in place.
inline std::vector<JobPtr> OnCpu(std::vector<JobPtr> jobs) {
  const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
  for (int piece = 0; piece < batch->num_pieces(); ++piece) batch->RunPiece(piece);
  EXPECT_THAT(batch->Finish(), IsOk());
  return batch->TakeJobs();
}

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_GPU_LANES_H_
