// A GPU whose stream is stuck, and one that is lost beside a CPU on standby.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "kernels/ldpc/decode_gpu.h"
#include "server/batching/dispatcher.h"
#include "server/device/cpu_device.h"
#include "server/device/cuda_device.h"
#include "server/jobs/fault_injector.h"
#include "server/operations/decode/decode.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"
#include "tests/support/small_dispatcher.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

class FaultsGpuTest : public ::baseband::testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    CudaDeviceOptions options;
    options.num_lanes = 2;
    options.lane = {1 << 20, 1 << 20, 1 << 20};
    options.workspace_bytes = ldpc::kMaxDecodeWorkspaceBytes;
    options.prepare = &ldpc::PrepareDecodeKernels;
    options.objects.max_bytes = options.objects.max_bytes_per_owner = 1 << 20;
    auto device = CudaDevice::Create(options);
    ASSERT_THAT(device, IsOk());
    gpu_ = *std::move(device);
    gpu_->set_healthy(true);
    cpu_.set_healthy(true);
    pool_ = *CreatePinnedPool(16 << 20);
  }

  void MakeDispatcher(absl::Duration watchdog) {
    DispatcherOptions options = SmallDispatcher(/*queue_requests=*/100);
    options.watchdog = watchdog;
    options.make_batch = [this](std::vector<JobPtr> jobs, Device& device) {
      return injector_.MakeBatch(std::move(jobs), device);
    };
    options.on_loss = [this](const Device& device, DeviceLoss cause, const std::string&) {
      losses_.push_back(device.id() + " " + kDeviceLossNames[static_cast<size_t>(cause)]);
    };
    Device* const devices[] = {gpu_.get(), &cpu_};
    dispatcher_ = std::make_unique<Dispatcher>(options, devices, &metrics_);
  }

  // Decodes two all-zero code words; their bits must be zeros if the answer is OK.
  absl::Status Decode() {
    DecodeGroup group;
    group.code = *ldpc::NrCode(1, 32);
    group.count = 2;
    group.llr_count = group.code->num_sent();
    JobPtr job =
        std::make_unique<DecodeJob>(TestOperation("Decode"), std::vector<DecodeGroup>{group});
    job->SetInput(*pool_->Lease(job->payload_bytes));
    job->reply = *pool_->Lease(job->reply_bytes);
    std::fill(job->staging.span().begin(), job->staging.span().end(), uint8_t{20});
    std::fill(job->reply.span().begin(), job->reply.span().end(), uint8_t{0xff});
    absl::Notification answered;
    absl::Status answer;
    job->done = [&](absl::Status status, JobPtr done) {
      answer = std::move(status);
      if (answer.ok()) {
        for (const uint8_t byte : done->reply.span()) EXPECT_EQ(byte, 0);
      }
      done.reset();
      answered.Notify();
    };
    absl::StatusOr<AdmissionTicket> ticket = dispatcher_->Admit(job.get());
    if (!ticket.ok()) return ticket.status();
    if (absl::Status status = dispatcher_->Submit(job, *std::move(ticket)); !status.ok()) {
      return status;
    }
    answered.WaitForNotification();
    return answer;
  }

  FaultInjector injector_;
  std::vector<std::string> losses_;
  Metrics metrics_{"test", TestOperations().counted()};
  std::unique_ptr<CudaDevice> gpu_;
  CpuDevice cpu_{2, /*standby=*/true};
  std::shared_ptr<HostPool> pool_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

// A stream that does not get on for longer than the watchdog waits, and ends all the same.
TEST_F(FaultsGpuTest, AStuckStreamIsAnsweredWhileItStillHoldsItsMemory) {
  MakeDispatcher(absl::Seconds(1));
  ASSERT_THAT(Decode(), IsOk());
  EXPECT_EQ(pool_->used(), 0);
  Fault fault;
  fault.stall = absl::Seconds(20);
  injector_.Arm(fault);
  EXPECT_THAT(Decode(), StatusIs(absl::StatusCode::kInternal, HasSubstr("cuda:0 was lost")));
  EXPECT_THAT(losses_, ElementsAre("cuda:0 stuck"));
  EXPECT_FALSE(gpu_->healthy());
  EXPECT_TRUE(dispatcher_->HasStuckLane());
  EXPECT_GT(pool_->used(), 0);
  EXPECT_THAT(Decode(), IsOk()) << "on the CPU";
  dispatcher_.reset();  // waits for the lane
  EXPECT_EQ(pool_->used(), 0);
}

TEST_F(FaultsGpuTest, TheCpuOnStandbyTakesOverWithPageLockedMemory) {
  MakeDispatcher(absl::ZeroDuration());
  ASSERT_THAT(Decode(), IsOk());
  ASSERT_THAT(dispatcher_->LoseDevice("cuda:0", DeviceLoss::kInjected, "so"), IsOk());
  for (int i = 0; i < 10; ++i) ASSERT_THAT(Decode(), IsOk());
  EXPECT_THAT(losses_, ElementsAre("cuda:0 injected"));
  const std::string page = metrics_.Render();
  EXPECT_THAT(page, HasSubstr("baseband_lane_busy_seconds_total{device=\"cpu:standby\""));
  EXPECT_THAT(page,
              HasSubstr("baseband_devices_lost_total{device=\"cuda:0\",reason=\"injected\"} 1"));
}

TEST_F(FaultsGpuTest, AStallThatEndsInTimeIsOnlySlow) {
  MakeDispatcher(absl::Seconds(60));
  Fault fault;
  fault.stall = absl::Milliseconds(50);
  injector_.Arm(fault);
  const absl::Time begin = absl::Now();
  EXPECT_THAT(Decode(), IsOk());
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(49));
  EXPECT_TRUE(losses_.empty());
}

}  // namespace
}  // namespace baseband::server
