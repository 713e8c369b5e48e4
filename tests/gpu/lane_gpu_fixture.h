// Fixture of the tests that hold batches on the lanes of a GPU against the same batches on the CPU.
#ifndef BASEBAND_TESTS_GPU_LANE_GPU_FIXTURE_H_
#define BASEBAND_TESTS_GPU_LANE_GPU_FIXTURE_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/device/cuda_device.h"
#include "tests/gpu/lanes.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"

namespace baseband::server {

class LaneGpuTest : public ::baseband::testing::GpuTest {
 protected:
  static constexpr int kNumLanes = 2;

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto device = CudaDevice::Create(Options());
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
    pool_ = *CreatePinnedPool(64 << 20);
  }

  virtual CudaDeviceOptions Options() const { return OptionsOfLanes(kNumLanes); }
  JobPtr WithPayload(JobPtr job, const std::string& payload) {
    EXPECT_EQ(job->payload_bytes, static_cast<int64_t>(payload.size()));
    HostLease input = *pool_->Lease(job->input_bytes());
    job->reply = *pool_->Lease(job->reply_bytes);
    std::copy(payload.begin(), payload.end(), job->WritePrefix(input.data()));
    job->SetInput(std::move(input));
    return job;
  }
  std::vector<JobPtr> OnGpu(std::vector<JobPtr> jobs, int lane = 0) {
    const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
    StageTimes times;
    EXPECT_THAT(RunOnLane(*device_, lane, batch.get(), &times), IsOk());
    EXPECT_GT(times.kernel, absl::ZeroDuration());
    EXPECT_THAT(batch->Finish(), IsOk());
    return batch->TakeJobs();
  }

  std::shared_ptr<HostPool> pool_;
  std::unique_ptr<CudaDevice> device_;
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_GPU_LANE_GPU_FIXTURE_H_
