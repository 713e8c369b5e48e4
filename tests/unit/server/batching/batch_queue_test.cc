#include "server/batching/batch_queue.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/constants.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct TestJob final : Job {
  TestJob(int job_id, int64_t blocks) : Job(TestOperation("Decode")), id(job_id) {
    footprint = {100 * blocks, 10 * blocks, blocks, blocks};
    cancelled = std::make_shared<std::atomic<bool>>(false);
  }
  const int id;
};

std::unique_ptr<TestJob> MakeJob(int id, int64_t blocks = 1,
                                 absl::Time deadline = absl::InfiniteFuture()) {
  auto job = std::make_unique<TestJob>(id, blocks);
  job->deadline = deadline;
  return job;
}

std::vector<int> Ids(const std::vector<JobPtr>& jobs) {
  std::vector<int> ids;
  for (const JobPtr& job : jobs) {
    ids.push_back(static_cast<const TestJob&>(*job).id);
  }
  return ids;
}

BatchLimits Limits() {
  BatchLimits limits;
  limits.lane = {1000, 1000, 1000};  // ten blocks' input
  limits.max_blocks = 8;
  limits.max_requests = 3;
  return limits;
}

TEST(BatchQueueTest, WhatWaitsLeavesTogetherInOrderOfArrival) {
  BatchQueue queue(Limits());
  queue.Add(MakeJob(1), kStart);
  queue.Add(MakeJob(2), kStart);
  EXPECT_EQ(queue.NextWake(), absl::InfinitePast());
  EXPECT_THAT(Ids(queue.Take(kStart).batch), ElementsAre(1, 2));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.NextWake(), absl::InfiniteFuture());
}

TEST(BatchQueueTest, TheOldestIsWhoCameFirstOfThoseWhoStillWait) {
  BatchQueue queue(Limits());
  for (int id = 1; id <= 4; ++id) queue.Add(MakeJob(id), kStart + absl::Seconds(id));
  const auto take = [&queue](int id) {
    EXPECT_EQ(
        queue.TakeIf([id](const Job& job) { return static_cast<const TestJob&>(job).id == id; })
            .size(),
        1);
  };
  EXPECT_EQ(queue.OldestArrival(), kStart + absl::Seconds(1));
  take(2);
  EXPECT_EQ(queue.OldestArrival(), kStart + absl::Seconds(1));
  take(1);
  EXPECT_EQ(queue.OldestArrival(), kStart + absl::Seconds(3));
  take(4);
  queue.Add(MakeJob(5), kStart + absl::Seconds(5));
  take(3);
  EXPECT_EQ(queue.OldestArrival(), kStart + absl::Seconds(5));
  take(5);
  EXPECT_EQ(queue.OldestArrival(), absl::InfiniteFuture());
}

TEST(BatchQueueTest, EarlierDeadlinesLeaveFirst) {
  BatchQueue queue(Limits());
  queue.Add(MakeJob(1), kStart);
  queue.Add(MakeJob(2, 1, kStart + absl::Seconds(9)), kStart);
  queue.Add(MakeJob(3, 1, kStart + absl::Seconds(1)), kStart);
  EXPECT_EQ(queue.First(0)->deadline, kStart + absl::Seconds(1));
  EXPECT_THAT(Ids(queue.Take(kStart).batch), ElementsAre(3, 2, 1));
}

TEST(BatchQueueTest, ABatchEndsAtTheMostRequests) {
  BatchQueue queue(Limits());
  for (int i = 0; i < 5; ++i) queue.Add(MakeJob(i), kStart);
  EXPECT_THAT(Ids(queue.Take(kStart).batch), ElementsAre(0, 1, 2));
  EXPECT_THAT(Ids(queue.Take(kStart).batch), ElementsAre(3, 4));
}

TEST(BatchQueueTest, ABatchEndsAtTheMostBlocks) {
  BatchQueue queue(Limits());
  queue.Add(MakeJob(1, 5), kStart);
  queue.Add(MakeJob(2, 4), kStart);
  EXPECT_THAT(Ids(queue.Take(kStart).batch), ElementsAre(1));
  EXPECT_THAT(Ids(queue.Take(kStart).batch), ElementsAre(2));
}

TEST(BatchQueueTest, ABatchEndsAtTheLanesMemory) {
  BatchLimits limits = Limits();
  limits.lane.input_bytes = 300;
  BatchQueue queue(limits);
  queue.Add(MakeJob(1, 2), kStart);
  queue.Add(MakeJob(2, 2), kStart);
  EXPECT_THAT(Ids(queue.Take(kStart).batch), ElementsAre(1));
}

TEST(BatchQueueTest, AJobLargerThanTheMostBlocksLeavesAlone) {
  BatchQueue queue(Limits());
  queue.Add(MakeJob(1, 9), kStart);
  queue.Add(MakeJob(2, 1), kStart);
  EXPECT_THAT(Ids(queue.Take(kStart).batch), ElementsAre(1));
}

TEST(BatchQueueTest, LateAndCancelledJobsLeaveUnlaunched) {
  BatchQueue queue(Limits());
  queue.Add(MakeJob(1, 1, kStart + absl::Seconds(1)), kStart);
  auto cancelled = MakeJob(2);
  cancelled->cancelled->store(true);
  queue.Add(std::move(cancelled), kStart);
  queue.Add(MakeJob(3), kStart);
  const BatchQueue::Taken taken = queue.Take(kStart + absl::Seconds(1));
  EXPECT_THAT(Ids(taken.batch), ElementsAre(3));
  EXPECT_THAT(Ids(taken.late), ElementsAre(1));
  EXPECT_THAT(Ids(taken.cancelled), ElementsAre(2));
}

TEST(BatchQueueTest, WithADelayTheOldestWaitsForMoreAndNoLonger) {
  BatchLimits limits = Limits();
  limits.max_queue_delay = absl::Milliseconds(5);
  BatchQueue queue(limits);
  queue.Add(MakeJob(1), kStart);
  queue.Add(MakeJob(2), kStart + absl::Milliseconds(4));
  EXPECT_EQ(queue.NextWake(), kStart + absl::Milliseconds(5));
  EXPECT_THAT(queue.Take(kStart + absl::Milliseconds(4)).batch, IsEmpty());
  EXPECT_THAT(Ids(queue.Take(kStart + absl::Milliseconds(5)).batch), ElementsAre(1, 2));
}

TEST(BatchQueueTest, WithADelayAFullBatchDoesNotWait) {
  BatchLimits limits = Limits();
  limits.max_queue_delay = absl::Hours(1);
  BatchQueue queue(limits);
  for (int i = 0; i < 3; ++i) queue.Add(MakeJob(i), kStart);
  EXPECT_EQ(queue.NextWake(), absl::InfinitePast());
  EXPECT_THAT(Ids(queue.Take(kStart).batch), ElementsAre(0, 1, 2));
}

// Jobs of a second each.
JobPtr JobOf(FairAccount* account, int id, absl::Time deadline = absl::InfiniteFuture()) {
  JobPtr job = MakeJob(id, 1, deadline);
  job->schedule.account = account;
  job->schedule.cost_s = 1;
  return job;
}

BatchLimits WideLimits() {
  BatchLimits limits = Limits();
  limits.max_requests = 100;
  return limits;
}

TEST(BatchQueueTest, AClientAheadOfTheHorizonGoesAfterAllOthersWhateverItsDeadlines) {
  FairAccount ahead, other;
  ahead.virtual_s = 10;
  BatchQueue queue(WideLimits());
  queue.Add(JobOf(&ahead, 1, kStart + absl::Hours(1)), kStart);
  queue.Add(JobOf(&other, 2, kStart + absl::Hours(2)), kStart);
  BatchTerms terms;
  terms.horizon = 9;
  EXPECT_FALSE(queue.First(9)->ahead);
  EXPECT_TRUE(queue.First(-1)->ahead);
  EXPECT_THAT(Ids(queue.Take(kStart, terms).batch), ElementsAre(2, 1));
  EXPECT_EQ(ahead.virtual_s, 11);
  EXPECT_EQ(other.virtual_s, 1);
}

TEST(BatchQueueTest, AClientThatGetsAheadInABatchHasNoMoreOfItUnderContention) {
  FairAccount greedy;
  BatchQueue queue(WideLimits());
  for (int i = 0; i < 6; ++i) queue.Add(JobOf(&greedy, i), kStart);
  BatchTerms terms;
  terms.horizon = 1.5;
  terms.is_contended = true;
  EXPECT_THAT(Ids(queue.Take(kStart, terms).batch), ElementsAre(0, 1));  // 0 s, 1 s; 2 s is ahead
  EXPECT_THAT(Ids(queue.Take(kStart, terms).batch), ElementsAre(2));     // one at a time
  terms.is_contended = false;
  EXPECT_THAT(Ids(queue.Take(kStart, terms).batch), ElementsAre(3, 4, 5));
}

TEST(BatchQueueTest, NoJobJoinsThatWouldMakeOneBeforeItLate) {
  FairAccount account;
  BatchQueue queue(WideLimits());
  queue.Add(JobOf(&account, 1, kStart + absl::Milliseconds(2500)), kStart);
  for (int i = 2; i < 5; ++i) queue.Add(JobOf(&account, i), kStart);
  EXPECT_THAT(Ids(queue.Take(kStart).batch), ElementsAre(1, 2));
  // One that is lost anyway holds up nobody.
  queue.Add(JobOf(&account, 5, kStart + absl::Milliseconds(500)), kStart);
  EXPECT_THAT(Ids(queue.Take(kStart).batch), ElementsAre(5, 3, 4));
}

TEST(BatchQueueTest, AJobWithNoHopeLeftIsLateIfItsCostIsKnown) {
  FairAccount account;
  BatchQueue queue(WideLimits());
  for (int id = 1; id <= 3; ++id) {
    // A second each: the first has less than half of it left, the second more.
    JobPtr job = JobOf(&account, id, kStart + absl::Milliseconds(id == 2 ? 600 : 400));
    job->schedule.trusted = id != 3;
    queue.Add(std::move(job), kStart);
  }
  const BatchQueue::Taken taken = queue.Take(kStart);
  EXPECT_THAT(Ids(taken.late), ElementsAre(1));
  EXPECT_THAT(Ids(taken.batch), ElementsAre(3, 2));
}

TEST(BatchQueueTest, ABudgetEndsABatchButNotBeforeItsFirstJob) {
  FairAccount account;
  BatchQueue queue(WideLimits());
  for (int i = 0; i < 4; ++i) queue.Add(JobOf(&account, i), kStart);
  BatchTerms terms;
  terms.budget_s = 0.5;
  EXPECT_THAT(Ids(queue.Take(kStart, terms).batch), ElementsAre(0));
  terms.budget_s = 2.5;
  terms.cost.latency_s = 0.25;
  EXPECT_THAT(Ids(queue.Take(kStart, terms).batch), ElementsAre(1, 2));
  EXPECT_EQ(queue.TakeIf([](const Job&) { return true; }).size(), 1U);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace baseband::server
