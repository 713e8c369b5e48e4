// Classes, shares and predictions in simulated time: a device that runs one batch at a time on each
// kind of lane.
#include "server/batching/scheduler.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/constants.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

using ::testing::ElementsAre;

constexpr double kFixed = 100e-6;

struct TestJob final : Job {
  explicit TestJob(int job_id) : Job(TestOperation("Encode")), id(job_id) { footprint.blocks = 1; }
  const int id;
};

class SchedulerTest : public ::testing::Test {
 protected:
  static BatchLimits Limits(int64_t max_requests = 1) {
    BatchLimits limits;
    limits.max_blocks = 1 << 20;
    limits.max_requests = max_requests;
    return limits;
  }

  // A job that takes `ms` beside what a batch costs.
  JobPtr MakeJob(Priority priority, const std::string& client, double ms,
                 absl::Time deadline = absl::InfiniteFuture(), bool background = false) {
    JobPtr job = std::make_unique<TestJob>(next_id_++);
    job->work.units = ms * 1e-3;
    job->caller = {client, priority};
    job->deadline = deadline;
    job->background = background;
    return job;
  }
  int Add(JobPtr job, const DeviceLoad& load = DeviceLoad()) {
    const int id = static_cast<const TestJob&>(*job).id;
    scheduler_->Predict(job.get(), load, now_);
    job->times.submitted = now_;
    scheduler_->Add(std::move(job), now_);
    return id;
  }
  int Add(Priority priority, const std::string& client, double ms,
          absl::Time deadline = absl::InfiniteFuture(), bool background = false) {
    return Add(MakeJob(priority, client, ms, deadline, background));
  }

  // Runs the next batch of such a lane to its end; the ids of its jobs.
  std::vector<int> Run(bool background = false) {
    const BatchQueue::Taken taken = scheduler_->Take(background, /*lanes=*/1, now_);
    std::vector<int> ids;
    if (taken.batch.empty()) return ids;
    double seconds = kFixed;
    for (const JobPtr& job : taken.batch) {
      ids.push_back(static_cast<const TestJob&>(*job).id);
      seconds += job->work.units;
      served_s_[job->caller.client] += job->work.units;
    }
    now_ += absl::Seconds(seconds);
    scheduler_->Ended(taken.batch, {sharing_ * seconds, seconds}, /*failed=*/false, now_);
    return ids;
  }
  // Jobs of 1 ms run one by one until their cost is known.
  void Warm(Priority priority = Priority::kNormal) {
    for (int i = 0; i < 50; ++i) {
      Add(priority, "warm", 1);
      ASSERT_EQ(Run(priority == Priority::kLow).size(), 1U);
    }
    served_s_.clear();
  }

  absl::Time now_ = kStart;
  double sharing_ = 1.0;  // how many batches share the device with each, which has no room for them
  int next_id_ = 0;
  std::map<std::string, double> served_s_;
  absl::optional<Scheduler> scheduler_{absl::in_place, Limits(), /*low_share=*/0.0};
};

TEST_F(SchedulerTest, HighGoesBeforeNormalWhateverTheDeadlines) {
  const int normal = Add(Priority::kNormal, "a", 1, kStart + absl::Seconds(1));
  const int high = Add(Priority::kHigh, "a", 1);
  const int urgent = Add(Priority::kHigh, "a", 1, kStart + absl::Seconds(2));
  EXPECT_THAT(Run(), ElementsAre(urgent));
  EXPECT_THAT(Run(), ElementsAre(high));
  EXPECT_THAT(Run(), ElementsAre(normal));
}

TEST_F(SchedulerTest, LowWorkAndLongSearchesKeepToBackgroundLanesInTheOrderOfTheirClasses) {
  const int low = Add(Priority::kLow, "a", 1);
  const int normal = Add(Priority::kNormal, "a", 1, absl::InfiniteFuture(), /*background=*/true);
  const int high = Add(Priority::kHigh, "a", 1, absl::InfiniteFuture(), /*background=*/true);
  EXPECT_EQ(scheduler_->NextWake(/*background_lane=*/false), absl::InfiniteFuture());
  EXPECT_THAT(Run(), ElementsAre());
  EXPECT_THAT(Run(/*background=*/true), ElementsAre(high));
  EXPECT_THAT(Run(/*background=*/true), ElementsAre(normal));
  EXPECT_THAT(Run(/*background=*/true), ElementsAre(low));
  EXPECT_EQ(scheduler_->Depth(TestOperation("Encode").index()), 0);
}

TEST_F(SchedulerTest, LongSearchesDoNotAgeTheClassTheyGiveWayTo) {
  for (const Priority priority : {Priority::kHigh, Priority::kNormal}) {
    Add(priority, "a", 1, absl::InfiniteFuture(), /*background=*/true);
    EXPECT_EQ(scheduler_->OldestArrival(priority), absl::InfiniteFuture());
  }
  Add(Priority::kLow, "a", 1, absl::InfiniteFuture(), /*background=*/true);
  EXPECT_EQ(scheduler_->OldestArrival(Priority::kLow), kStart) << "all of low is such work";
  now_ += absl::Seconds(1);
  Add(Priority::kNormal, "a", 1);
  EXPECT_EQ(scheduler_->OldestArrival(Priority::kNormal), now_);
}

// Two thousand milliseconds of normal work on the only lane, while low work waits: the part that
// low has of them.
double LowPart(double low_share) {
  class Fixture : public SchedulerTest {
   public:
    void TestBody() override {}
    double Measure(double share) {
      scheduler_.emplace(Limits(), share);
      Warm();
      for (int i = 0; i < 2000; ++i) {
        Add(Priority::kNormal, "normal", 1);
        Add(Priority::kLow, "low", 1);
        Run();
      }
      return served_s_["low"] / (served_s_["low"] + served_s_["normal"]);
    }
  };
  return Fixture().Measure(low_share);
}

TEST_F(SchedulerTest, LowHasItsShareOfABusyDeviceAndNoneIfThatIsNone) {
  EXPECT_EQ(LowPart(0.0), 0.0);
  EXPECT_NEAR(LowPart(0.05), 0.05, 0.005);
  EXPECT_NEAR(LowPart(0.2), 0.2, 0.02);
}

TEST_F(SchedulerTest, LowIsOwedNothingForTheTimeItHadNoWork) {
  scheduler_.emplace(Limits(), 0.05);
  for (int i = 0; i < 1000; ++i) {
    Add(Priority::kNormal, "normal", 1);
    Run();
  }
  const int low = Add(Priority::kLow, "low", 1);
  const int normal = Add(Priority::kNormal, "normal", 1);
  EXPECT_THAT(Run(), ElementsAre(normal));
  EXPECT_THAT(Run(), ElementsAre(low));  // one of the two batches since
}

TEST_F(SchedulerTest, AmongClientsThatKeepToTheirSharesTheEarliestDeadlineGoesFirst) {
  Warm();
  std::vector<int> ids;
  for (int i = 0; i < 6; ++i) {
    ids.push_back(
        Add(Priority::kNormal, i % 2 == 0 ? "a" : "b", 0.1, now_ + absl::Seconds(10 - i)));
  }
  for (int i = 5; i >= 0; --i) EXPECT_THAT(Run(), ElementsAre(ids[static_cast<size_t>(i)]));
}

TEST_F(SchedulerTest, OneOfTenWhoAsksForTenTimesAsMuchHasATenth) {
  Warm();
  for (int round = 0; round < 2000; ++round) {
    for (int client = 0; client < 10; ++client) {
      // All ask for more than there is: the greedy one with every deadline the earliest.
      const bool greedy = client == 0;
      for (int i = 0; round % 10 == 0 && i < (greedy ? 20 : 2); ++i) {
        Add(Priority::kNormal, std::to_string(client), 0.5,
            now_ + (greedy ? absl::Hours(1) : absl::Hours(2)));
      }
    }
    Run();
  }
  double all_s = 0;
  for (const auto& [client, seconds] : served_s_) all_s += seconds;
  EXPECT_LT(served_s_["0"] / (all_s / 10), 1.05);
  for (int client = 1; client < 10; ++client) {
    EXPECT_GT(served_s_[std::to_string(client)] / (all_s / 10), 0.95) << client;
  }
}

TEST_F(SchedulerTest, AClientOfWeightThreeHasThreeTimesAsMuchAsEachOther) {
  scheduler_.emplace(Limits(), 0.0, ShareWeights{{"reserved", 3.0}});
  Warm();
  for (int i = 0; i < 2000; ++i) {
    for (const char* client : {"reserved", "a", "b"}) Add(Priority::kNormal, client, 1);
    Run();
  }
  EXPECT_NEAR(served_s_["reserved"] / served_s_["a"], 3.0, 0.05);
  EXPECT_NEAR(served_s_["a"] / served_s_["b"], 1.0, 0.02);
}

TEST_F(SchedulerTest, ALightClientWaitsForNoMoreThanALeadOfAGreedyOne) {
  scheduler_.emplace(Limits(/*max_requests=*/1024), 0.0);
  Warm();
  Add(Priority::kNormal, "light", 0.1);
  Run();
  for (int i = 0; i < 1000; ++i) Add(Priority::kNormal, "greedy", 0.1);
  Run();  // of the greedy client
  const absl::Time came = now_;
  const int light = Add(Priority::kNormal, "light", 0.1);
  for (;;) {
    const std::vector<int> ids = Run();
    ASSERT_FALSE(ids.empty());
    if (std::find(ids.begin(), ids.end(), light) != ids.end()) break;
  }
  EXPECT_LT(now_ - came, absl::Seconds(FairShare::kLead) + absl::Milliseconds(0.5));
}

TEST_F(SchedulerTest, ABatchEndsWhenMoreWouldOnlyMakeItLongerButEveryEighth) {
  scheduler_.emplace(Limits(/*max_requests=*/1024), 0.0);
  Warm();
  now_ += FairShare::kMemory;
  // Work of 0.2 ms is enough where a batch costs 0.1 ms beside.
  for (int i = 0; i < 1000; ++i) Add(Priority::kNormal, "a", 0.01);
  std::vector<size_t> sizes;
  for (int i = 0; i < 8; ++i) sizes.push_back(Run().size());
  std::sort(sizes.begin(), sizes.end());
  EXPECT_NEAR(static_cast<double>(sizes[0]), 20, 3);
  EXPECT_NEAR(static_cast<double>(sizes[6]), 20, 3);
  EXPECT_NEAR(static_cast<double>(sizes[7]), 40, 6);
}

TEST_F(SchedulerTest, WhatShouldTakeLongByItselfDoesNotHoldTheLanesOfTheRest) {
  DeviceLoad load;
  load.cores = 2.0;
  const double long_ms = absl::ToDoubleMilliseconds(kLong);
  const auto add = [&](double ms) {
    JobPtr job = MakeJob(Priority::kHigh, "a", ms);
    job->work.guessed_unit_s = 1.0;
    return Add(std::move(job), load);
  };
  add(3 * long_ms);  // by its guess
  EXPECT_TRUE(Run().empty());
  EXPECT_EQ(Run(/*background=*/true).size(), 1U);
  Warm();
  add(1.5 * long_ms);  // by what smaller ones took, on one core or many
  EXPECT_TRUE(Run().empty());
  EXPECT_EQ(Run(/*background=*/true).size(), 1U);
  add(0.5 * long_ms);
  EXPECT_EQ(Run().size(), 1U);
}

TEST_F(SchedulerTest, OfWhatWasCutShortThePiecesThatRanTeach) {
  Warm();
  for (int i = 0; i < 20; ++i) {
    JobPtr job = MakeJob(Priority::kNormal, "a", 100);
    job->pieces = 100;
    job->pieces_cut = 99;
    scheduler_->Predict(job.get(), DeviceLoad(), now_);
    job->times.submitted = now_;
    scheduler_->Add(std::move(job), now_);
    const BatchQueue::Taken taken = scheduler_->Take(false, /*lanes=*/1, now_);
    now_ += absl::Seconds(kFixed + 1e-3);
    scheduler_->Ended(taken.batch, {kFixed + 1e-3, kFixed + 1e-3}, /*failed=*/false, now_);
  }
  const JobPtr job = MakeJob(Priority::kNormal, "a", 1);
  scheduler_->Predict(job.get(), DeviceLoad(), now_);
  EXPECT_NEAR(job->schedule.alone_s, kFixed + 1e-3, 0.1e-3);
}

TEST_F(SchedulerTest, ThePredictionIsWhatGoesBeforeAndTheJobItself) {
  Warm();
  sharing_ = 2.0;
  Warm();
  DeviceLoad load;
  load.remaining_s = {2e-3, 0};
  for (int i = 0; i < 10; ++i) Add(Priority::kHigh, "a", 1);
  for (int i = 0; i < 10; ++i) Add(Priority::kNormal, "b", 1);
  for (int i = 0; i < 10; ++i) Add(Priority::kLow, "b", 1);
  const auto predict = [&](Priority priority, const std::string& client) {
    const JobPtr job = MakeJob(priority, client, 1);
    scheduler_->Predict(job.get(), load, now_);
    EXPECT_NEAR(job->schedule.alone_s, 1.1e-3, 0.05e-3);
    return job->schedule;
  };
  const double ms = predict(Priority::kHigh, "a").cost_s;  // the fixed part is learned into it
  EXPECT_NEAR(predict(Priority::kHigh, "a").wait_s, 2e-3 + 10 * ms, 1e-6);
  EXPECT_NEAR(predict(Priority::kNormal, "b").wait_s, 2e-3 + 20 * ms, 1e-6);
  // Of another client's backlog only what that one may have meanwhile.
  EXPECT_NEAR(predict(Priority::kHigh, "c").wait_s, 2e-3 + FairShare::kLead, 1e-6);
  EXPECT_TRUE(predict(Priority::kHigh, "a").trusted);
  load.devices = 2;
  EXPECT_NEAR(predict(Priority::kHigh, "a").wait_s, (2e-3 + 10 * ms) / 2, 1e-6);
  now_ += absl::Seconds(2);
  EXPECT_FALSE(predict(Priority::kHigh, "a").trusted);
}

TEST_F(SchedulerTest, WhatRunsIsNoWaitWhileTheDeviceHasRoom) {
  Warm();
  DeviceLoad load;
  load.remaining_s = {2e-3, 0};
  const JobPtr job = MakeJob(Priority::kNormal, "a", 1);
  scheduler_->Predict(job.get(), load, now_);
  EXPECT_EQ(job->schedule.wait_s, 0.0);
  load.until_free_s = {0.5e-3, 0};
  scheduler_->Predict(job.get(), load, now_);
  EXPECT_EQ(job->schedule.wait_s, 0.5e-3);
}

TEST_F(SchedulerTest, WhatIsLateOrCancelledLeavesNothingBehind) {
  Add(Priority::kNormal, "a", 1, kStart - absl::Seconds(1));
  JobPtr job = MakeJob(Priority::kNormal, "a", 1);
  job->cancelled = std::make_shared<std::atomic<bool>>(true);
  Add(std::move(job));
  const BatchQueue::Taken taken = scheduler_->Take(false, /*lanes=*/1, now_);
  EXPECT_EQ(taken.late.size(), 1U);
  EXPECT_EQ(taken.cancelled.size(), 1U);
  EXPECT_EQ(scheduler_->Backlog(DeviceLoad()), absl::ZeroDuration());
  Add(Priority::kLow, "a", 1);
  Add(Priority::kHigh, "b", 1);
  const auto is = [](const char* name) {
    return [name](const Job& waiting) { return &waiting.operation() == &TestOperation(name); };
  };
  EXPECT_EQ(scheduler_->TakeIf(is("Decode"), now_).size(), 0U);
  EXPECT_EQ(scheduler_->TakeIf(is("Encode"), now_).size(), 2U);
  EXPECT_EQ(scheduler_->Depth(TestOperation("Encode").index()), 0);
}

}  // namespace
}  // namespace baseband::server
