// A GPU as a device, whatever runs on it.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "kernels/cuda/status.h"
#include "server/device/cuda_device.h"
#include "server/device/cuda_lane_view.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

constexpr size_t kBytes = 1 << 20;

// Runs what the test says on a lane's stream.
class TestTask final : public Task {
 public:
  explicit TestTask(std::function<absl::Status(const CudaLaneView&)> run) : run_(std::move(run)) {}
  int num_pieces() const override { return 1; }
  void RunPiece(int) override {}
  absl::Status CudaCopyIn(const CudaLaneView&) override { return absl::OkStatus(); }
  absl::Status CudaRun(const CudaLaneView& lane) override { return run_(lane); }
  absl::Status CudaCopyOut(const CudaLaneView&) override { return absl::OkStatus(); }

 private:
  const std::function<absl::Status(const CudaLaneView&)> run_;
};

class DeviceGpuTest : public ::baseband::testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Make(/*num_lanes=*/2, /*resident=*/false);
  }

  void Make(int num_lanes, bool resident) {
    CudaDeviceOptions options;
    options.num_lanes = num_lanes;
    options.lane = {kBytes, kBytes, kBytes};
    options.workspace_bytes = kBytes;
    options.resident = resident;
    auto device = CudaDevice::Create(options);
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
  }

  // Starts `task` on a lane; its status comes out of the function returned, which waits for it.
  std::function<absl::Status()> Start(Task& task, size_t lane) {
    struct End {
      absl::Notification came;
      absl::Status status;
    };
    auto end = std::make_shared<End>();
    device_->lanes()[lane]->Start(&task, [end](absl::Status status, const StageTimes&) {
      end->status = std::move(status);
      end->came.Notify();
    });
    return [end] {
      end->came.WaitForNotification();
      return end->status;
    };
  }

  std::unique_ptr<CudaDevice> device_;
};

// The first task's enqueueing fails after it has put long work on the workspace: the second one's,
// on another lane, has to wait for that all the same.
TEST_F(DeviceGpuTest, TheWorkspaceIsHandedOnAfterWhatAFailedTaskHadEnqueued) {
  const auto fill = [](const CudaLaneView& lane, int byte) {
    return cuda::ToStatus(cudaMemsetAsync(lane.workspace, byte, kBytes, lane.stream),
                          "cudaMemsetAsync");
  };
  TestTask fails([&](const CudaLaneView& lane) {
    return lane.with_workspace([&]() -> absl::Status {
      const auto sleep = [](void*) { absl::SleepFor(absl::Milliseconds(500)); };
      BASEBAND_RETURN_IF_ERROR(
          cuda::ToStatus(cudaLaunchHostFunc(lane.stream, sleep, nullptr), "cudaLaunchHostFunc"));
      BASEBAND_RETURN_IF_ERROR(fill(lane, 1));
      return absl::InternalError("in the middle");
    });
  });
  TestTask follows(
      [&](const CudaLaneView& lane) { return lane.with_workspace([&] { return fill(lane, 2); }); });
  std::vector<uint8_t> left(kBytes);
  TestTask reads([&](const CudaLaneView& lane) {
    return cuda::ToStatus(
        cudaMemcpyAsync(left.data(), lane.workspace, kBytes, cudaMemcpyDeviceToHost, lane.stream),
        "cudaMemcpyAsync");
  });
  const auto first = Start(fails, 0);
  const auto second = Start(follows, 1);
  EXPECT_THAT(first(), StatusIs(absl::StatusCode::kInternal, HasSubstr("in the middle")));
  EXPECT_THAT(second(), IsOk());
  EXPECT_THAT(Start(reads, 0)(), IsOk());
  EXPECT_THAT(left, Each(2)) << "what the second one wrote was written over";
}

TEST_F(DeviceGpuTest, LanesForWhoseResidentKernelsThereIsNoQueueAreTold) {
  EXPECT_EQ(device_->WhereNotResident(), "") << "it was not asked for";
  Make(15, /*resident=*/true);
  EXPECT_EQ(device_->WhereNotResident(), "") << "17 streams of lanes and 15 of kernels";
  Make(20, /*resident=*/true);
  EXPECT_THAT(device_->WhereNotResident(), HasSubstr("10 of the 20 lanes of cuda:0"));
  Make(30, /*resident=*/true);
  EXPECT_THAT(device_->WhereNotResident(), HasSubstr("30 of the 30 lanes of cuda:0"));
}

}  // namespace
}  // namespace baseband::server
