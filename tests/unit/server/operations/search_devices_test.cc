// Which devices the pieces of a search go to, where a GPU without its program comes back meanwhile.
#include <memory>
#include <utility>
#include <vector>

#include "kernels/minimize/schwefel.h"
#include "server/batching/dispatcher.h"
#include "server/operations/minimize/minimize.h"
#include "server/operations/minimize/minimize_converter.h"
#include "tests/support/matchers.h"
#include "tests/support/no_batch.h"
#include "tests/support/puppet_device.h"
#include "tests/support/small_dispatcher.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

class SearchDevicesTest : public ::testing::Test {
 protected:
  SearchDevicesTest() {
    DispatcherOptions options = SmallDispatcher(/*queue_requests=*/1000);
    options.make_batch = [](std::vector<JobPtr> jobs, Device&) {
      return std::make_unique<NoBatch>(std::move(jobs));
    };
    dispatcher_ = std::make_unique<Dispatcher>(options, devices_, &metrics_);
  }

  // As if an expression were compiled now.
  std::shared_ptr<SearchPlan> Begin() {
    auto plan = std::make_shared<SearchPlan>();
    minimize::Settings settings;
    settings.functional = minimize::MakeSchwefel(1);
    const minimize::Axis axes[] = {{0.0, 1.0, 1000}};
    settings.grid = *minimize::Grid::Create(axes);
    plan->problem = *minimize::Problem::Create(settings);
    for (PuppetDevice* const gpu : {&first_, &second_}) {
      if (gpu->healthy()) plan->programs.push_back({gpu, nullptr});
    }
    can_run_ = KeepToPrograms(devices_, plan.get());
    return plan;
  }
  void Submit(const std::shared_ptr<SearchPlan>& plan, int64_t number) {
    minimize::Piece piece;
    piece.first = 10 * number;
    piece.count = 10;
    minimize::PieceLimits limits;
    limits.operations = 1e9;
    JobPtr job = std::make_unique<MinimizeJob>(TestOperation("Minimize"), plan, piece, limits);
    job->caller = {"client", Priority::kNormal};
    job->done = [this](absl::Status status, JobPtr) { answers_.push_back(std::move(status)); };
    absl::StatusOr<AdmissionTicket> ticket = dispatcher_->Admit(job.get());
    ASSERT_THAT(ticket, IsOk());
    ASSERT_THAT(dispatcher_->Submit(job, *std::move(ticket)), IsOk());
  }
  void EndAll() {
    for (PuppetDevice* const device : {&first_, &second_, &standby_}) {
      while (device->num_running() > 0) device->End();
    }
  }
  void Lose(const char* id) {
    ASSERT_THAT(dispatcher_->LoseDevice(id, DeviceLoss::kInjected, "a test"), IsOk());
  }

  bool can_run_ = false;
  std::vector<absl::Status> answers_;
  Metrics metrics_{"test", TestOperations().counted()};
  PuppetDevice first_{1, "cuda:0", /*standby=*/false, /*can_be_reset=*/true, "cuda"};
  PuppetDevice second_{1, "cuda:1", /*standby=*/false, /*can_be_reset=*/true, "cuda"};
  PuppetDevice standby_{1, "cpu:standby", /*standby=*/true, /*can_be_reset=*/false, "cpu"};
  const std::vector<Device*> devices_ = {&first_, &second_, &standby_};
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(SearchDevicesTest, AGpuThatComesBackGetsNoPieceOfASearchThatBeganWithoutIt) {
  Lose("cuda:1");
  const std::shared_ptr<SearchPlan> before = Begin();
  EXPECT_TRUE(can_run_);
  dispatcher_->Restore(second_);
  for (int64_t piece = 0; piece < 4; ++piece) Submit(before, piece);
  EXPECT_EQ(first_.num_running(), 1);
  EXPECT_EQ(second_.num_running(), 0)
      << "its batch would have no program, and all in it would fail";
  Submit(Begin(), 0);
  EXPECT_EQ(second_.num_running(), 1) << "of a search that began with it";
  EndAll();
  EXPECT_THAT(answers_, ::testing::SizeIs(5));
  EXPECT_THAT(answers_, Each(IsOk()));
}

TEST_F(SearchDevicesTest, PiecesTakeTurnsAmongTheDevicesThatHaveTheProgramAndAreHealthy) {
  const std::shared_ptr<SearchPlan> plan = Begin();
  EXPECT_THAT(plan->only_on, IsEmpty()) << "any will do";
  plan->only_on = {&first_, &second_};
  Submit(plan, 0);
  Submit(plan, 1);
  EXPECT_EQ(first_.num_running(), 1);
  EXPECT_EQ(second_.num_running(), 1);
  EndAll();
  Lose("cuda:0");
  Submit(plan, 2);
  EXPECT_EQ(second_.num_running(), 1);
  EndAll();
  EXPECT_THAT(answers_, Each(IsOk()));
}

TEST_F(SearchDevicesTest, TheStandInKeepsWhatBeganOnItAndWithoutADeviceNothingBegins) {
  Lose("cuda:0");
  Lose("cuda:1");
  EXPECT_THAT(Begin()->only_on, ElementsAre(&standby_));
  EXPECT_TRUE(can_run_);
  Lose("cpu:standby");
  (void)Begin();
  EXPECT_FALSE(can_run_);
}

// What a search may not take longer than is held against the devices when all of them are there.
TEST_F(SearchDevicesTest, TheBestRateIsOfAllThatAreNotOnStandby) {
  const double all = SearchCapacityOf(Serving(devices_)).operations_per_second;
  Lose("cuda:0");
  SearchRates rates = SearchRatesOf(SearchCapacityOf(Serving(devices_)), devices_);
  EXPECT_EQ(rates.now, all / 2);
  EXPECT_EQ(rates.at_best, all);
  Lose("cuda:1");
  rates = SearchRatesOf(SearchCapacityOf(Serving(devices_)), devices_);
  EXPECT_LT(rates.now, all / 2);
  EXPECT_EQ(rates.at_best, all);
}

TEST_F(SearchDevicesTest, OnlyWhatWouldTakeTooLongOfAllDevicesIsTheRequestsFault) {
  const std::shared_ptr<SearchPlan> plan = Begin();
  const double cost = plan->problem->cost();
  const auto check = [&](double now, double at_best) {
    return CheckSearchTime(*plan->problem, {now, at_best}, absl::InfiniteDuration(),
                           absl::Seconds(2));
  };
  EXPECT_THAT(check(cost, cost), IsOk());
  EXPECT_THAT(check(cost / 4, cost),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("while devices are lost")));
  EXPECT_THAT(check(cost / 8, cost / 4), StatusIs(absl::StatusCode::kInvalidArgument,
                                                  HasSubstr("takes no search of more than 2s")));
}

TEST(CheckImageFitsTest, TablesThatFitNoLaneAreTheRequestsFault) {
  EXPECT_THAT(CheckImageFits(100, 100), IsOk());
  EXPECT_THAT(CheckImageFits(101, 100),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("101 bytes of tables")));
}

}  // namespace
}  // namespace baseband::server
