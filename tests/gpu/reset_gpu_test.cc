// A GPU that has faulted for real, by an illegal memory access: it is reset in the process and
// gives right answers again, time after time, also beside load. Drivers may refuse that (580 with
// CUDA 13.0 makes no context any more in such a process): then the reset says so.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "kernels/minimize/expression_functional.h"
#include "server/operations/minimize/minimize.h"
#include "tests/gpu/faulted_gpu_fixture.h"

namespace baseband::server {
namespace {

class ResetGpuTest : public FaultedGpuTest {
 protected:
  ResetGpuTest() : FaultedGpuTest(Drivers::kThatReset) {}

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
};

class RefusedResetGpuTest : public FaultedGpuTest {
 protected:
  RefusedResetGpuTest() : FaultedGpuTest(Drivers::kThatRefuse) {}
};

// Each operation on each lane, RecoverCarrier's FFT plans and an expression's program included.
TEST_F(ResetGpuTest, AfterEachIllegalAccessEveryOperationGivesRightAnswersAgain) {
  const size_t free_before = FreeMemory();
  for (int fault = 0; fault < kFaults; ++fault) {
    EXPECT_THAT(BringDown(fault % kNumLanes),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("llegal")));
    EXPECT_FALSE(device_->healthy());
    EXPECT_THAT(RunOn((fault + 1) % kNumLanes, DecodeJobOf(2)),
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
  (void)BringDown(0);
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
    (void)BringDown(1);
    ASSERT_THAT(Reset(), IsOk());
  }
}

// The whole way: a dispatcher under load, a fault now and then, and the supervisor that brings the
// device back.
TEST_F(ResetGpuTest, BesideLoadADeviceThatFaultsComesBackTimeAfterTime) {
  std::vector<LoadBesideFaults::Question> questions;
  for (int blocks = 1; blocks <= 8; ++blocks) {
    const auto reply_bytes = static_cast<size_t>(DecodeJobOf(blocks)->reply_bytes);
    questions.push_back(
        {[this, blocks] { return DecodeJobOf(blocks); }, std::string(reply_bytes, '\0')});
  }
  {
    LoadBesideFaults load(
        device_.get(), &metrics_, [this] { return SelfTest(); }, questions,
        [](std::vector<JobPtr> jobs, Device&) {
          return std::make_unique<DeadlyBatch>(MakeBatch(std::move(jobs)));
        });
    for (int fault = 0; fault < kFaults; ++fault) {
      ASSERT_TRUE(load.AwaitRight(500)) << "after " << fault << " faults";
      load.Fault();
      ASSERT_TRUE(load.Await([this] { return device_->healthy(); }));
      (void)load.dispatcher().quarantine().LiftAll();
    }
    EXPECT_TRUE(load.AwaitRight(500));
    load.Stop();
    EXPECT_EQ(load.wrong(), 0);
    EXPECT_EQ(load.ends(), 0);
  }
  EXPECT_EQ(pool_->used(), 0);
}

TEST_F(RefusedResetGpuTest, TheResetSaysSoAndTheDeviceStaysLost) {
  EXPECT_THAT(BringDown(0), StatusIs(absl::StatusCode::kInternal, HasSubstr("llegal")));
  EXPECT_FALSE(device_->healthy());
  EXPECT_THAT(device_->Reset(nullptr),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("cudaSetDevice")));
  EXPECT_FALSE(device_->healthy());
  EXPECT_THAT(device_->Reset(nullptr),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("cudaSetDevice")));
}

}  // namespace
}  // namespace baseband::server
