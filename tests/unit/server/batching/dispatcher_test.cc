#include "server/batching/dispatcher.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ldpc/code.h"
#include "server/limits/retry_after.h"
#include "server/operations/decode/decode.h"
#include "tests/support/matchers.h"
#include "tests/support/puppet_device.h"
#include "tests/support/small_dispatcher.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

class DispatcherTest : public ::testing::Test {
 protected:
  DispatcherTest() { Make(PuppetOptions()); }

  DispatcherOptions PuppetOptions() {
    DispatcherOptions options = SmallDispatcher(/*queue_requests=*/10);
    options.clock = [this] { return now_; };
    return options;
  }
  void Make(const DispatcherOptions& options) {
    dispatcher_.reset();
    Device* device = &device_;
    dispatcher_ = std::make_unique<Dispatcher>(options, absl::MakeConstSpan(&device, 1), &metrics_);
  }

  absl::Status Gather(int id) {
    return Submit(id, absl::InfiniteFuture(), /*background=*/false, Priority::kNormal,
                  /*gathers=*/true);
  }
  // Submits a job of one block; its answer goes to answers_[id].
  absl::Status Submit(int id, absl::Time deadline = absl::InfiniteFuture(), bool background = false,
                      Priority priority = Priority::kNormal, bool gathers = false) {
    DecodeGroup group;
    group.code = *ldpc::NrCode(2, 2);
    group.count = 1;
    group.llr_count = group.code->num_sent();
    JobPtr job =
        std::make_unique<DecodeJob>(TestOperation("Decode"), std::vector<DecodeGroup>{group});
    job->SetInput(*pool_->Lease(job->payload_bytes));
    if (reply_bytes_ > 0) job->reply_bytes = reply_bytes_;
    job->reply = *pool_->Lease(job->reply_bytes);
    job->deadline = deadline;
    job->background = background;
    job->caller = {client_, priority};
    job->cancelled = std::make_shared<std::atomic<bool>>(false);
    cancelled_[id] = job->cancelled;
    job->done = [this, id](absl::Status status, JobPtr) {
      answers_[id].push_back(status);
      if (on_answer_) on_answer_(id);
    };
    absl::StatusOr<AdmissionTicket> ticket = dispatcher_->Admit(job.get());
    if (!ticket.ok()) {
      return ticket.status();
    }
    const absl::Status status = dispatcher_->Submit(job, *std::move(ticket), gathers);
    EXPECT_EQ(job == nullptr, status.ok()) << "the dispatcher owns the job iff Submit was OK";
    return status;
  }

  const std::shared_ptr<HostPool> pool_ = *HostPool::CreatePageable(1 << 20);
  std::string client_ = "client";  // of the next job
  int64_t reply_bytes_ = 0;        // of the next job; 0: those that it has
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  std::map<int, std::vector<absl::Status>> answers_;
  std::function<void(int id)> on_answer_;
  std::map<int, std::shared_ptr<std::atomic<bool>>> cancelled_;
  Metrics metrics_{"test", TestOperations().counted()};
  PuppetDevice device_{2};
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(DispatcherTest, BackgroundJobsKeepToTheirLaneAndOthersToTheirs) {
  for (int id = 1; id <= 3; ++id) ASSERT_THAT(Submit(id, absl::InfiniteFuture(), true), IsOk());
  EXPECT_EQ(device_.num_running(), 1);  // the two others wait, though two lanes are free
  ASSERT_THAT(Submit(4), IsOk());
  EXPECT_EQ(device_.num_running(), 2);
  ASSERT_THAT(Submit(5), IsOk());
  ASSERT_THAT(Submit(6), IsOk());
  EXPECT_EQ(device_.num_running(), 3);  // the last one waits
  device_.End();                        // the first background job
  EXPECT_EQ(answers_[1].size(), 1U);
  EXPECT_EQ(device_.num_running(), 3);  // the two that waited, together
  EXPECT_EQ(device_.num_blocks(2), 2);
  while (device_.num_running() > 0) device_.End();
  for (int id = 1; id <= 6; ++id) EXPECT_EQ(answers_[id].size(), 1U) << id;
}

TEST_F(DispatcherTest, AReplyThatIsLargerThanItsRequestCountsInTheQueueUntilItLeaves) {
  constexpr int64_t kMost = 100'000;
  DispatcherOptions options = PuppetOptions();
  options.queue_bytes = kMost;
  Make(options);
  for (int turn = 0; turn < 3; ++turn) {  // however it leaves, all of it is given back
    const int id = 10 * turn;
    reply_bytes_ = 0;
    for (int i = 0; i < 2; ++i) ASSERT_THAT(Submit(id + i), IsOk());  // both lanes are busy
    reply_bytes_ = kMost - 10;
    ASSERT_THAT(Submit(id + 2, now_ + absl::Seconds(1)), IsOk());
    EXPECT_THAT(dispatcher_->CheckRoom(10), IsOk());
    EXPECT_THAT(dispatcher_->CheckRoom(11),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("99990 of 100000 bytes")));
    if (turn == 1) cancelled_[id + 2]->store(true);
    if (turn == 2) now_ += absl::Seconds(2);  // it is late
    while (device_.num_running() > 0) device_.End();
    EXPECT_EQ(answers_[id + 2].size(), 1U);
  }
}

TEST_F(DispatcherTest, AJobStartsAtOnceOnAFreeLane) {
  ASSERT_THAT(Submit(1), IsOk());
  EXPECT_EQ(device_.num_running(), 1);
  EXPECT_TRUE(answers_.empty());
  device_.End();
  ASSERT_EQ(answers_[1].size(), 1U);
  EXPECT_THAT(answers_[1][0], IsOk());
}

TEST_F(DispatcherTest, WhileAllLanesAreBusyWorkGathersAndLeavesTogether) {
  for (int id = 0; id < 7; ++id) ASSERT_THAT(Submit(id), IsOk());
  ASSERT_EQ(device_.num_running(), 2);
  device_.End();
  ASSERT_EQ(device_.num_running(), 2);  // the freed lane took all five that waited
  EXPECT_EQ(device_.num_blocks(1), 5);
  device_.End();
  device_.End();
  for (int id = 0; id < 7; ++id) EXPECT_EQ(answers_[id].size(), 1U);
}

TEST_F(DispatcherTest, AFewAnswersDoNotWaitForTheNextBatchToStart) {
  for (int id = 0; id < 3; ++id) ASSERT_THAT(Submit(id), IsOk());
  int running = -1;
  on_answer_ = [&](int id) {
    if (id == 0) running = device_.num_running();
  };
  device_.End();
  EXPECT_EQ(running, 1);                // that on the other lane
  EXPECT_EQ(device_.num_running(), 2);  // by now the one that waited, too
  device_.End();
  device_.End();
}

TEST_F(DispatcherTest, GatheredJobsWaitUntilTheyAreAskedForAndLeaveTogether) {
  for (int id = 0; id < 3; ++id) ASSERT_THAT(Gather(id), IsOk());
  EXPECT_EQ(device_.num_running(), 0);
  dispatcher_->DispatchGathered();
  ASSERT_EQ(device_.num_running(), 1);
  EXPECT_EQ(device_.num_blocks(0), 3);
  device_.End();
  ASSERT_THAT(Gather(3), IsOk());
  ASSERT_THAT(Submit(4), IsOk());  // which is asked for at once, and takes the other along
  EXPECT_EQ(device_.num_blocks(0), 2);
  device_.End();
  for (int id = 0; id < 5; ++id) EXPECT_EQ(answers_[id].size(), 1U);
}

// While an answer is told, its lane is free and a job waits that the teller will start.
TEST_F(DispatcherTest, WhoGathersStartsNoOthersJobs) {
  for (int id = 0; id < 3; ++id) ASSERT_THAT(Submit(id), IsOk());
  int without = -1;
  int with = -1;
  on_answer_ = [&](int id) {
    if (id != 0) return;
    dispatcher_->DispatchGathered();
    without = device_.num_running();
    ASSERT_THAT(Gather(3), IsOk());
    dispatcher_->DispatchGathered();
    with = device_.num_running();
  };
  device_.End();
  EXPECT_EQ(without, 1);
  EXPECT_EQ(with, 2);
  device_.End();
  device_.End();
  for (int id = 0; id < 4; ++id) EXPECT_EQ(answers_[id].size(), 1U);
}

TEST_F(DispatcherTest, ALaneStartsItsNextBatchBeforeItAnswersMany) {
  constexpr int kMany = 8;
  for (int id = 0; id < 2 + kMany; ++id) ASSERT_THAT(Submit(id), IsOk());
  device_.End();
  ASSERT_EQ(device_.num_blocks(1), kMany);
  ASSERT_THAT(Submit(100), IsOk());
  int running = -1;
  on_answer_ = [&](int id) {
    if (id == 2) running = device_.num_running();
  };
  device_.End(absl::OkStatus(), 1);
  EXPECT_EQ(running, 2);
  device_.End();
  device_.End();
}

TEST_F(DispatcherTest, ALaneStartsItsNextBatchFirstWhereItsDeviceWouldBeIdle) {
  PuppetDevice device(1);
  Device* const pointer = &device;
  dispatcher_ =
      std::make_unique<Dispatcher>(PuppetOptions(), absl::MakeConstSpan(&pointer, 1), &metrics_);
  int running = -1;
  on_answer_ = [&](int id) {
    if (id % 2 == 0) running = device.num_running();
  };
  // Told before that is only what takes hardly any time to tell.
  for (const int64_t reply_bytes : {100 << 10, 1 << 10}) {
    reply_bytes_ = reply_bytes;
    for (int id = 0; id < 2; ++id) ASSERT_THAT(Submit(id), IsOk());
    device.End();
    EXPECT_EQ(running, reply_bytes > (64 << 10) ? 1 : 0) << reply_bytes;
    device.End();
  }
  dispatcher_.reset();
}

TEST_F(DispatcherTest, AJobWhoseDelayBeganWhileLanesWereBusyLeavesOnTimeOnTheFirstThatIsFree) {
  DispatcherOptions options = SmallDispatcher(/*queue_requests=*/10);
  options.limits.max_queue_delay = absl::Milliseconds(200);
  Make(options);
  for (int id = 0; id < 2; ++id) {
    ASSERT_THAT(Submit(id), IsOk());
    ASSERT_TRUE(device_.AwaitRunning(id + 1));  // nobody else comes: the delay is over by itself
  }
  ASSERT_THAT(Submit(2), IsOk());
  device_.End();
  EXPECT_TRUE(device_.AwaitRunning(2));
  while (device_.num_running() > 0) device_.End();
  dispatcher_->WaitUntilIdle();
  for (int id = 0; id < 3; ++id) EXPECT_EQ(answers_[id].size(), 1U) << id;
}

TEST_F(DispatcherTest, ALateOrCancelledJobIsAnsweredButNeverLaunched) {
  Submit(0).IgnoreError();
  Submit(1).IgnoreError();
  ASSERT_THAT(Submit(2, now_ - absl::Seconds(1)), IsOk());
  ASSERT_THAT(Submit(3), IsOk());
  cancelled_[3]->store(true);
  device_.End();
  EXPECT_EQ(device_.num_running(), 1);
  ASSERT_EQ(answers_[2].size(), 1U);
  EXPECT_THAT(answers_[2][0], StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("waited")));
  ASSERT_EQ(answers_[3].size(), 1U);
  EXPECT_THAT(answers_[3][0], StatusIs(absl::StatusCode::kCancelled, HasSubstr("launch")));
  device_.End();
}

TEST_F(DispatcherTest, AFullQueueRefusesAndServesAgainOnceWorkLeft) {
  for (int id = 0; id < 12; ++id) ASSERT_THAT(Submit(id), IsOk());  // two run, ten wait
  EXPECT_THAT(Submit(12), StatusIs(absl::StatusCode::kResourceExhausted,
                                   HasSubstr("10 of 10 requests are waiting")));
  EXPECT_GE(dispatcher_->RetryHint(), absl::Milliseconds(1));
  device_.End();
  EXPECT_THAT(Submit(13), IsOk());
  while (device_.num_running() > 0) device_.End();
  EXPECT_TRUE(answers_[12].empty());
  EXPECT_EQ(answers_[13].size(), 1U);
}

TEST_F(DispatcherTest, AJobThatNoLaneCanHoldIsRefusedForGood) {
  DispatcherOptions options = PuppetOptions();
  options.limits.lane.input_bytes = 64;
  Make(options);
  EXPECT_THAT(Submit(1), IsInvalid("at most 64"));
}

TEST_F(DispatcherTest, AFailedLaunchThatLeavesTheDeviceHealthyIsAnInternalError) {
  ASSERT_THAT(Submit(1), IsOk());
  device_.End(absl::InternalError("launch refused"));
  ASSERT_EQ(answers_[1].size(), 1U);
  EXPECT_EQ(answers_[1][0].code(), absl::StatusCode::kInternal);
  ASSERT_THAT(Submit(2), IsOk());
  device_.End();
  EXPECT_THAT(answers_[2][0], IsOk());
}

TEST_F(DispatcherTest, LowWorkTakesNoLaneOfTheOthersAndHighWorkTheFirstThatIsFree) {
  ASSERT_THAT(Submit(1, absl::InfiniteFuture(), false, Priority::kLow), IsOk());
  ASSERT_THAT(Submit(2, absl::InfiniteFuture(), false, Priority::kLow), IsOk());
  EXPECT_EQ(device_.num_running(), 1);  // on the lane for background work
  ASSERT_THAT(Submit(3), IsOk());
  ASSERT_THAT(Submit(4), IsOk());
  ASSERT_THAT(Submit(5), IsOk());
  ASSERT_THAT(Submit(6, absl::InfiniteFuture(), false, Priority::kHigh), IsOk());
  EXPECT_EQ(device_.num_running(), 3);
  device_.End();  // the low one; the next of its kind follows
  device_.End();  // normal, and high goes before normal
  device_.End();
  EXPECT_TRUE(answers_[5].empty());
  while (device_.num_running() > 0) device_.End();
  for (int id = 1; id <= 6; ++id) EXPECT_EQ(answers_[id].size(), 1U) << id;
}

TEST_F(DispatcherTest, WhatCannotMakeItsDeadlineIsRefusedByReasonOnceItsCostIsKnown) {
  // Nothing is known: nobody is refused.
  ASSERT_THAT(Submit(1, now_ + absl::Microseconds(1)), IsOk());
  now_ += absl::Milliseconds(10);
  device_.End();
  const absl::Status hopeless = Submit(2, now_ + absl::Milliseconds(9));
  EXPECT_THAT(hopeless, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("idle server")));
  EXPECT_EQ(ReasonOf(hopeless), UnservedReason::kDeadlineUnreachable);
  ASSERT_THAT(Submit(3), IsOk());
  ASSERT_THAT(Submit(4), IsOk());
  ASSERT_THAT(Submit(5), IsOk());
  const absl::Status refused = Submit(6, now_ + absl::Milliseconds(25));
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("goes before it")));
  EXPECT_EQ(ReasonOf(refused), UnservedReason::kBacklog);
  // 10 ms to the end of the first, 10 of what waits, a quarter more, and its own.
  EXPECT_NEAR(absl::ToDoubleMilliseconds(RetryAfter(refused, absl::ZeroDuration())), 10.0, 0.1);
  ASSERT_THAT(Submit(7, now_ + absl::Milliseconds(60)), IsOk());
  // A second without news: what was learned may be wrong by now.
  now_ += absl::Milliseconds(1001);
  ASSERT_THAT(Submit(8, now_ + absl::Microseconds(1)), IsOk());
  while (device_.num_running() > 0) device_.End();
}

TEST_F(DispatcherTest, HowLongOneWouldWaitIsKnownBeforeItIsThere) {
  const auto wait = [&](Priority priority = Priority::kNormal) {
    return dispatcher_->WaitOf(TestOperation("Decode").index(), client_, priority);
  };
  for (int id = 0; id < 9; ++id) ASSERT_THAT(Submit(id), IsOk());  // both lanes are busy
  EXPECT_FALSE(wait().is_known);
  now_ += absl::Milliseconds(10);
  device_.End();
  device_.End();
  const double before = wait().seconds;
  for (int id = 10; id < 14; ++id) ASSERT_THAT(Submit(id), IsOk());
  EXPECT_TRUE(wait().is_known);
  EXPECT_GT(wait().seconds, before + 5e-3);
  EXPECT_LT(wait(Priority::kHigh).seconds, wait().seconds);
  EXPECT_EQ(wait(Priority::kLow).seconds, 0.0) << "its lanes are free";
  EXPECT_EQ(wait().devices, 1);
  now_ += absl::Milliseconds(1001);
  EXPECT_FALSE(wait().is_known) << "that is old";
  while (device_.num_running() > 0) device_.End();
}

TEST_F(DispatcherTest, PredictionsAreHeldAgainstWhatCame) {
  for (int id = 0; id < 2; ++id) {
    ASSERT_THAT(Submit(id, absl::InfiniteFuture(), false, Priority::kHigh), IsOk());
    now_ += absl::Milliseconds(10);
    device_.End();
  }
  const std::string page = metrics_.Render();
  EXPECT_THAT(page, HasSubstr("baseband_prediction_ratio_count{priority=\"high\"} 1\n"));
  EXPECT_THAT(page,
              HasSubstr("baseband_prediction_ratio_bucket{priority=\"high\",le=\"0.9\"} 0\n"));
  EXPECT_THAT(page,
              HasSubstr("baseband_prediction_ratio_bucket{priority=\"high\",le=\"1.1\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("baseband_device_seconds_total{priority=\"high\"} 0.02\n"));
}

TEST_F(DispatcherTest, ClientsThatShareABatchShareItsDeviceTime) {
  for (int id = 0; id < 2; ++id) ASSERT_THAT(Submit(id), IsOk());  // both lanes are busy
  for (const char* const client : {"a", "a", "a", "b"}) {
    client_ = client;
    ASSERT_THAT(Submit(2), IsOk());
  }
  device_.End();
  device_.End();
  ASSERT_EQ(device_.num_running(), 1);
  now_ += absl::Milliseconds(20);
  device_.End();

  const std::string page = metrics_.Render();
  EXPECT_THAT(page, HasSubstr("baseband_device_seconds_total{priority=\"normal\"} 0.02\n"));
  EXPECT_THAT(page, HasSubstr("baseband_client_device_seconds_total{client=\"a\"} 0.015\n"));
  EXPECT_THAT(page, HasSubstr("baseband_client_device_seconds_total{client=\"b\"} 0.005\n"));
}

TEST_F(DispatcherTest, TheAgeOfAClassIsThatOfItsOldestRequestThatWaits) {
  const auto age = [this](const std::string& priority) {
    dispatcher_->SampleGauges();
    const std::string page = metrics_.Render();
    const std::string series =
        "\nbaseband_queue_oldest_age_seconds{priority=\"" + priority + "\"} ";
    const size_t at = page.find(series);
    return at == std::string::npos ? -1.0 : std::stod(page.substr(at + series.size()));
  };
  for (int id = 0; id < 2; ++id) ASSERT_THAT(Submit(id), IsOk());
  now_ += absl::Seconds(1);
  EXPECT_EQ(age("normal"), 0) << "they do not wait: they run";
  ASSERT_THAT(Submit(2), IsOk());
  now_ += absl::Seconds(2);
  ASSERT_THAT(Submit(3), IsOk());
  ASSERT_THAT(Submit(4, absl::InfiniteFuture(), false, Priority::kHigh), IsOk());
  now_ += absl::Seconds(4);

  EXPECT_EQ(age("normal"), 6);
  EXPECT_EQ(age("high"), 4);
  EXPECT_EQ(age("low"), 0);

  while (device_.num_running() > 0) device_.End();
  EXPECT_EQ(age("normal"), 0);
  EXPECT_EQ(age("high"), 0);
}

}  // namespace
}  // namespace baseband::server
