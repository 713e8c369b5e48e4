// A GPU that has faulted for real, by an illegal memory access: it is reset in the process and
// gives right answers again, time after time, also beside load. Drivers may refuse that (580 with
// CUDA 13.0 makes no context any more in such a process): then the reset says so.
#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "kernels/cuda/status.h"
#include "kernels/minimize/expression_functional.h"
#include "server/device/cuda_device.h"
#include "server/device/cuda_lane_view.h"
#include "server/jobs/self_test.h"
#include "server/operations/decode/decode.h"
#include "server/operations/minimize/minimize.h"
#include "server/process/device_supervisor.h"
#include "tests/gpu/bad_kernel.h"
#include "tests/gpu/lanes.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"
#include "tests/support/small_dispatcher.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

constexpr int kNumLanes = 4;
constexpr int kFaults = 8;

// Writes where it must not, instead of its work or after it.
class DeadlyBatch final : public Batch {
 public:
  explicit DeadlyBatch(std::unique_ptr<Batch> batch) : Batch({}), batch_(std::move(batch)) {}
  int num_pieces() const override { return batch_->num_pieces(); }
  void RunPiece(int piece) override { batch_->RunPiece(piece); }
  absl::Status CudaCopyIn(const CudaLaneView& lane) override { return batch_->CudaCopyIn(lane); }
  absl::Status CudaRun(const CudaLaneView& lane) override {
    BASEBAND_RETURN_IF_ERROR(batch_->CudaRun(lane));
    return cuda::ToStatus(testing::LaunchIllegalWrite(lane.stream), "IllegalWrite");
  }
  absl::Status CudaCopyOut(const CudaLaneView& lane) override { return batch_->CudaCopyOut(lane); }
  absl::Status Finish() override { return batch_->Finish(); }
  absl::Span<const JobPtr> jobs() const override { return batch_->jobs(); }
  std::vector<JobPtr> TakeJobs() override { return batch_->TakeJobs(); }

 private:
  const std::unique_ptr<Batch> batch_;
};

// Whether the driver makes another context in a process in which a kernel has faulted: asked in one
// of its own, before there is any CUDA in this one.
bool DriverResets() {
  const pid_t child = fork();
  if (child == 0) {
    if (cudaSetDevice(0) != cudaSuccess) _exit(0);  // no GPU: that is for others to say
    (void)testing::LaunchIllegalWrite(nullptr);
    (void)cudaDeviceSynchronize();
    (void)cudaDeviceReset();
    _exit(cudaSetDevice(0) == cudaSuccess && cudaFree(nullptr) == cudaSuccess ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

class FaultedGpuTest : public ::baseband::testing::GpuTest {
 protected:
  void SetUp() override {
    static const bool driver_resets = DriverResets();
    driver_resets_ = driver_resets;
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (driver_resets_ != needs_reset_) {
      GTEST_SKIP() << "the driver " << (driver_resets_ ? "resets" : "does not reset")
                   << " a device in a process in which a kernel has faulted";
    }
    auto device = CudaDevice::Create(OptionsOfLanes(kNumLanes));
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
    pool_ = *CreatePinnedPool(64 << 20);
    ASSERT_THAT(SelfTest(), IsOk());
    device_->set_healthy(true);
  }

  absl::Status SelfTest() { return RunSelfTest(*device_, TestOperations(), *pool_, *pool_); }

  JobPtr DecodeJobOf(int blocks) {
    DecodeGroup group;
    group.code = *ldpc::NrCode(1, 32);
    group.count = blocks;
    group.llr_count = group.code->num_sent();
    JobPtr job =
        std::make_unique<DecodeJob>(TestOperation("Decode"), std::vector<DecodeGroup>{group});
    job->fingerprint = static_cast<uint64_t>(blocks);
    HostLease input = *pool_->Lease(job->payload_bytes);
    std::fill(input.span().begin(), input.span().end(), uint8_t{20});
    job->SetInput(std::move(input));
    job->reply = *pool_->Lease(job->reply_bytes);
    std::fill(job->reply.span().begin(), job->reply.span().end(), uint8_t{0xff});
    return job;
  }
  // Runs a batch of one on a lane to its end.
  absl::Status RunOn(int lane, bool deadly) {
    std::vector<JobPtr> jobs;
    jobs.push_back(DecodeJobOf(2));
    std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
    if (deadly) batch = std::make_unique<DeadlyBatch>(std::move(batch));
    return RunOnLane(*device_, lane, batch.get());
  }
  absl::Status Reset() {
    const absl::Time begin = absl::Now();
    const absl::Status status = device_->Reset(nullptr);
    std::printf("reset in %s\n", absl::FormatDuration(absl::Now() - begin).c_str());
    return status;
  }
  static size_t FreeMemory() {
    size_t free = 0;
    size_t total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  }

  bool needs_reset_ = true;
  bool driver_resets_ = true;
  Metrics metrics_{"test", TestOperations().counted()};
  std::unique_ptr<CudaDevice> device_;
  std::shared_ptr<HostPool> pool_;
};

using ResetGpuTest = FaultedGpuTest;

class RefusedResetGpuTest : public FaultedGpuTest {
 protected:
  RefusedResetGpuTest() { needs_reset_ = false; }
};

// Each operation on each lane, RecoverCarrier's FFT plans and an expression's program included.
TEST_F(ResetGpuTest, AfterEachIllegalAccessEveryOperationGivesRightAnswersAgain) {
  const size_t free_before = FreeMemory();
  for (int fault = 0; fault < kFaults; ++fault) {
    EXPECT_THAT(RunOn(fault % kNumLanes, /*deadly=*/true),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("llegal")));
    EXPECT_FALSE(device_->healthy());
    EXPECT_THAT(RunOn((fault + 1) % kNumLanes, /*deadly=*/false),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("")))
        << "the error stays until the reset";
    ASSERT_THAT(Reset(), IsOk());
    ASSERT_THAT(SelfTest(), IsOk());
    device_->set_healthy(true);
  }
  EXPECT_LT(free_before - std::min(free_before, FreeMemory()), size_t{256} << 20)
      << "the memory of before is given back";
}

// Replies that are still being sent lie there.
TEST_F(ResetGpuTest, HostMemoryStaysWithWhatIsInItAndIsPageLockedAgain) {
  auto lease = *pool_->Lease(1 << 20);
  std::fill(lease.span().begin(), lease.span().end(), uint8_t{0x5a});
  (void)RunOn(0, /*deadly=*/true);
  ASSERT_THAT(Reset(), IsOk());
  EXPECT_THAT(lease.span(), Each(0x5a));
  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, lease.data()), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
}

// Its expression was compiled before, and pieces of it come after.
TEST_F(ResetGpuTest, ASearchFromBeforeTheResetGoesOnAfterIt) {
  using namespace minimize;  // NOLINT
  Device* const devices[] = {device_.get()};
  Names names;
  names.variables = {"x"};
  Settings settings;
  settings.functional =
      *ExpressionFunctional::Create(*Expression::Parse("(x - 1.25)^2", names), {}, {});
  const Axis axes[] = {{-2.0, 0.01, 1000}};
  settings.grid = *Grid::Create(axes);
  auto plan = std::make_shared<SearchPlan>();
  plan->problem = *Problem::Create(settings);
  ASSERT_THAT(MakePrograms(devices, plan.get()), IsOk());
  plan->image = *pool_->Lease(SearchImageBytes(*plan->problem, devices));
  WriteSearchImage(*plan->problem, plan->image.data());
  for (int fault = 0; fault < 3; ++fault) {
    Piece piece;
    piece.count = 1000;
    std::vector<JobPtr> jobs;
    jobs.push_back(
        std::make_unique<MinimizeJob>(TestOperation("Minimize"), plan, piece, PieceLimits()));
    jobs[0]->reply = *pool_->Lease(jobs[0]->reply_bytes);
    const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
    absl::Notification ended;
    device_->lanes()[0]->Start(batch.get(), [&](const absl::Status& status, const StageTimes&) {
      EXPECT_THAT(status, IsOk()) << "after " << fault << " resets";
      ended.Notify();
    });
    ended.WaitForNotification();
    ASSERT_THAT(batch->Finish(), IsOk());
    Search search = *Search::Create(plan->problem, PieceLimits());
    search.Add(*search.Next(), batch->jobs()[0]->reply.data());
    EXPECT_EQ(search.progress().index, 325);
    (void)RunOn(1, /*deadly=*/true);
    ASSERT_THAT(Reset(), IsOk());
  }
}

// The whole way: a dispatcher under load, a fault now and then, and the supervisor that brings the
// device back.
TEST_F(ResetGpuTest, BesideLoadADeviceThatFaultsComesBackTimeAfterTime) {
  Lifecycle lifecycle;
  DeviceSupervisorOptions options;
  options.devices = {device_.get()};
  options.max_resets_per_hour = 2 * kFaults;
  options.self_test = [this](Device&) { return SelfTest(); };
  options.error = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  options.info = options.error;
  std::atomic<int> ends{0};
  options.end_process = [&] { ++ends; };
  DeviceSupervisor supervisor(options, &lifecycle);
  std::atomic<bool> deadly{false};
  DispatcherOptions dispatching = SmallDispatcher(/*queue_requests=*/100);
  dispatching.limits.lane = {16 << 20, 16 << 20, 4 << 20};
  dispatching.queue_bytes = 64 << 20;
  dispatching.make_batch = [&](std::vector<JobPtr> jobs, Device&) {
    std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
    return deadly.exchange(false) ? std::make_unique<DeadlyBatch>(std::move(batch))
                                  : std::move(batch);
  };
  dispatching.on_loss = [&](Device& device, DeviceLoss cause, const std::string& why) {
    supervisor.OnLoss(device, cause, why);
  };
  dispatching.on_loss_end = [&](Device& device) { supervisor.OnLossEnd(device); };
  Device* const devices[] = {device_.get()};
  {
    Dispatcher dispatcher(dispatching, devices, &metrics_);
    supervisor.Connect(&dispatcher);
    std::atomic<bool> stop{false};
    std::atomic<int> right{0};
    std::atomic<int> wrong{0};
    std::atomic<int> failed{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i) {
      clients.emplace_back([&, i] {
        while (!stop) {
          JobPtr job = DecodeJobOf(i + 1);
          absl::Notification answered;
          job->done = [&](const absl::Status& status, JobPtr done) {
            if (!status.ok()) {
              ++failed;
            } else {
              const auto reply = done->reply.span();
              const bool ok =
                  std::all_of(reply.begin(), reply.end(), [](uint8_t byte) { return byte == 0; });
              ++(ok ? right : wrong);
            }
            done.reset();
            answered.Notify();
          };
          absl::StatusOr<AdmissionTicket> ticket = dispatcher.Admit(job.get());
          if (!ticket.ok() || !dispatcher.Submit(job, *std::move(ticket)).ok()) {
            absl::SleepFor(absl::Milliseconds(1));
            continue;
          }
          answered.WaitForNotification();
        }
      });
    }
    const absl::Time deadline = absl::Now() + absl::Minutes(4);
    for (int fault = 1; fault <= kFaults && absl::Now() < deadline; ++fault) {
      const int before = right;
      while (right < before + 500 && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
      EXPECT_GE(right, before + 500) << "after " << fault - 1 << " faults";
      const int failed_before = failed;
      deadly = true;
      while (failed == failed_before && absl::Now() < deadline) {
        absl::SleepFor(absl::Milliseconds(1));
      }
      while (!device_->healthy() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
      (void)dispatcher.quarantine().LiftAll();
    }
    const int before = right;
    while (right < before + 500 && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
    EXPECT_GE(right, before + 500);
    stop = true;
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GE(failed, kFaults);
    EXPECT_EQ(ends, 0);
    EXPECT_TRUE(supervisor.Stop());
  }
  EXPECT_EQ(pool_->used(), 0);
}

TEST_F(RefusedResetGpuTest, TheResetSaysSoAndTheDeviceStaysLost) {
  EXPECT_THAT(RunOn(0, /*deadly=*/true),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("llegal")));
  EXPECT_FALSE(device_->healthy());
  EXPECT_THAT(Reset(), StatusIs(absl::StatusCode::kInternal, HasSubstr("cudaSetDevice")));
  EXPECT_FALSE(device_->healthy());
  EXPECT_THAT(Reset(), StatusIs(absl::StatusCode::kInternal, HasSubstr("cudaSetDevice")));
}

}  // namespace
}  // namespace baseband::server
