// Searches whose tables stay on the GPU between batches.
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "kernels/minimize/sinusoids.h"
#include "server/device/cuda_device.h"
#include "server/operations/minimize/minimize.h"
#include "tests/gpu/lanes.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"
#include "tests/support/minimize_search.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

constexpr int kNumLanes = 2;
constexpr int64_t kPoints = 40000;
constexpr int64_t kOfPiece = 1000;

class SearchTablesGpuTest : public ::baseband::testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    CudaDeviceOptions options = OptionsOfLanes(kNumLanes);
    options.lane.output_bytes = 64 << 20;
    options.objects.max_bytes = options.objects.max_bytes_per_owner = 16 << 20;
    auto device = CudaDevice::Create(options);
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
    device_->set_healthy(true);
    pool_ = *CreatePinnedPool(64 << 20);
  }

  // A sinusoid of 32768 samples beside a column: more than 256 KiB of tables. `keep`: they stay.
  std::shared_ptr<SearchPlan> PlanOf(double frequency, bool keep) {
    minimize::Observation observation;
    observation.columns.emplace_back();
    for (int n = 0; n < 32768; ++n) {
      observation.columns[0].emplace_back(std::cos(0.01 * n), 0.0);
      observation.signal.emplace_back(
          std::sin(2 * M_PI * frequency * n) + 0.3 * std::sin(0.7 * n * n), 0.0);
    }
    minimize::Settings settings;
    settings.functional = *minimize::MakeSinusoids(observation);
    settings.grid = testing::MakeGrid({{0.05, 1e-6, kPoints}});
    auto plan = std::make_shared<SearchPlan>();
    plan->problem = testing::MakeProblem(settings);
    Device* const devices[] = {device_.get()};
    EXPECT_THAT(MakePrograms(devices, plan.get()), IsOk());
    plan->image = *pool_->Lease(SearchImageBytes(*plan->problem, devices));
    WriteSearchImage(*plan->problem, plan->image.data());
    EXPECT_GE(plan->image.size(), kMinKeptTableBytes);
    minimize::PieceLimits limits;
    limits.operations = plan->problem->cost() * kOfPiece / kPoints;
    if (keep) KeepTables("client", devices, limits, plan.get());
    EXPECT_EQ(plan->tables != nullptr, keep);
    return plan;
  }
  JobPtr PieceOf(const std::shared_ptr<SearchPlan>& plan, int64_t number) {
    minimize::Piece piece;
    piece.first = number * kOfPiece;
    piece.count = kOfPiece;
    auto job = std::make_unique<MinimizeJob>(TestOperation("Minimize"), plan, piece,
                                             minimize::PieceLimits());
    job->caller = {"client", Priority::kNormal};
    job->reply = *pool_->Lease(job->reply_bytes);
    return job;
  }
  // The replies of batches that run at the same time, one on each lane.
  std::vector<std::string> Run(std::vector<std::vector<JobPtr>> batches) {
    struct InFlight {
      std::unique_ptr<Batch> batch;
      absl::Notification ended;
    };
    std::vector<std::unique_ptr<InFlight>> all;
    for (size_t lane = 0; lane < batches.size(); ++lane) {
      all.push_back(std::make_unique<InFlight>());
      InFlight& one = *all.back();
      one.batch = MakeBatch(std::move(batches[lane]));
      device_->lanes()[lane]->Start(one.batch.get(), [&](absl::Status status, const StageTimes&) {
        EXPECT_THAT(status, IsOk());
        one.ended.Notify();
      });
    }
    std::vector<std::string> replies;
    for (const auto& one : all) {
      one->ended.WaitForNotification();
      EXPECT_THAT(one->batch->Finish(), IsOk());
      for (const JobPtr& job : one->batch->jobs()) {
        replies.emplace_back(reinterpret_cast<const char*>(job->reply.data()),
                             static_cast<size_t>(job->reply_bytes));
      }
    }
    return replies;
  }

  std::shared_ptr<HostPool> pool_;
  std::unique_ptr<CudaDevice> device_;
};

// Pieces of two searches on both lanes at once, several in a batch; every now and then the tables
// are gone. The replies are those of tables that come along, to the bit.
TEST_F(SearchTablesGpuTest, TheAnswersAreThoseOfTablesThatComeAlong) {
  const std::vector<std::shared_ptr<SearchPlan>> kept = {PlanOf(0.0612, true),
                                                         PlanOf(0.0777, true)};
  const std::vector<std::shared_ptr<SearchPlan>> sent = {PlanOf(0.0612, false),
                                                         PlanOf(0.0777, false)};
  ObjectStore& store = *device_->objects();
  for (int64_t round = 0; round < kPoints / kOfPiece / 4; ++round) {
    if (round % 4 == 3) store.Remove(kept[0]->tables->key());
    if (round % 5 == 4) {
      ASSERT_THAT(store.Create({"other", "all"}, 16 << 20), IsOk());
      store.Remove({"other", "all"});
      EXPECT_EQ(store.usage().objects, 0);
    }
    const auto batches = [&](const std::vector<std::shared_ptr<SearchPlan>>& plans) {
      std::vector<std::vector<JobPtr>> made(kNumLanes);
      for (int64_t i = 0; i < 4; ++i) {
        for (const auto& plan : plans) {
          made[static_cast<size_t>(i) % kNumLanes].push_back(PieceOf(plan, 4 * round + i));
        }
      }
      return made;
    };
    EXPECT_TRUE(Run(batches(kept)) == Run(batches(sent))) << round;
    EXPECT_EQ(store.usage().objects, 2);
  }
}

// With nothing but zeros in host memory the pieces after the first are right nonetheless.
TEST_F(SearchTablesGpuTest, TheyAreReadWhereTheyLie) {
  const auto plan = PlanOf(0.0612, true);
  const auto piece = [&](int64_t number) {
    std::vector<std::vector<JobPtr>> batches(1);
    batches[0].push_back(PieceOf(plan, number));
    return Run(std::move(batches));
  };
  const std::vector<std::string> expected = piece(11);
  std::memset(plan->image.data(), 0, static_cast<size_t>(plan->image.size()));
  EXPECT_TRUE(piece(11) == expected);
  device_->objects()->Remove(plan->tables->key());
  EXPECT_FALSE(piece(11) == expected) << "the zeros are on the device now";
  WriteSearchImage(*plan->problem, plan->image.data());
  device_->objects()->Remove(plan->tables->key());
  EXPECT_TRUE(piece(11) == expected);
}

}  // namespace
}  // namespace baseband::server
