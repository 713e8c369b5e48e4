// Devices that are lost: every accepted job is answered once, none is lost, and no memory goes back
// while a device may still use it.
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "kernels/ldpc/code.h"
#include "server/batching/dispatcher.h"
#include "server/operations/decode/decode.h"
#include "tests/support/matchers.h"
#include "tests/support/puppet_device.h"
#include "tests/support/small_dispatcher.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

using ::testing::UnorderedElementsAre;

constexpr absl::StatusCode kUnavailable = absl::StatusCode::kUnavailable;
constexpr absl::StatusCode kInternal = absl::StatusCode::kInternal;

class DeviceLossTest : public ::testing::Test {
 protected:
  void Make(std::vector<Device*> devices) {
    DispatcherOptions options = SmallDispatcher(/*queue_requests=*/1000);
    options.clock = [this] { return now_; };
    options.on_loss = [this](const Device& device, DeviceLoss cause, const std::string& why) {
      losses_.push_back(device.id() + " " + kDeviceLossNames[static_cast<size_t>(cause)]);
      why_ = why;
      answers_at_loss_ = num_answers_;
    };
    dispatcher_ = std::make_unique<Dispatcher>(options, devices, &metrics_);
  }

  absl::Status Submit(int id, const char* operation = "Decode",
                      absl::Time deadline = absl::InfiniteFuture()) {
    DecodeGroup group;
    group.code = *ldpc::NrCode(2, 2);
    group.count = 1;
    group.llr_count = group.code->num_sent();
    JobPtr job;
    if (operation == absl::string_view("Decode")) {
      job = std::make_unique<DecodeJob>(TestOperation("Decode"), std::vector<DecodeGroup>{group});
    } else {
      job = std::make_unique<Job>(TestOperation(operation));
    }
    job->SetInput(*pool_->Lease(job->payload_bytes));
    job->reply = *pool_->Lease(job->reply_bytes);
    job->fingerprint = static_cast<uint64_t>(id) + 1;
    job->caller = {"client", Priority::kNormal};
    job->deadline = deadline;
    job->cancelled = std::make_shared<std::atomic<bool>>(false);
    job->done = [this, id](absl::Status status, JobPtr done) {
      ++num_answers_;
      answers_[id].push_back(status);
      times_[id] = done->times;
    };
    absl::StatusOr<AdmissionTicket> ticket = dispatcher_->Admit(job.get());
    if (!ticket.ok()) return ticket.status();
    return dispatcher_->Submit(job, *std::move(ticket));
  }
  void Look(int times) {
    for (int i = 0; i < times; ++i) dispatcher_->LookAtLanes();
  }
  // The answers of the jobs up to `last`, of which each must have one.
  std::vector<absl::StatusCode> Codes(int last) {
    std::vector<absl::StatusCode> codes;
    for (int id = 0; id <= last; ++id) {
      EXPECT_EQ(answers_[id].size(), 1U) << id;
      codes.push_back(answers_[id].empty() ? absl::StatusCode::kUnknown : answers_[id][0].code());
    }
    return codes;
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  const std::shared_ptr<HostPool> pool_ = *HostPool::CreatePageable(1 << 20);
  std::map<int, std::vector<absl::Status>> answers_;
  std::map<int, JobTimes> times_;
  std::atomic<int> num_answers_{0};
  std::vector<std::string> losses_;
  std::string why_;
  int answers_at_loss_ = -1;
  Metrics metrics_{"test", TestOperations().counted()};
  PuppetDevice first_{1, "first"};
  PuppetDevice second_{1, "second"};
  PuppetDevice standby_{1, "standby", /*standby=*/true};
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(DeviceLossTest, AnErrorOfTheLastDeviceAnswersAllThatRunsAndAllThatWaits) {
  Make({&first_});
  for (int id = 0; id < 4; ++id) ASSERT_THAT(Submit(id), IsOk());
  first_.set_healthy(false);
  first_.End(absl::InternalError("gone"));
  EXPECT_THAT(Codes(3), ElementsAre(kInternal, kUnavailable, kUnavailable, kUnavailable));
  EXPECT_THAT(answers_[0][0].message(),
              AllOf(HasSubstr("first was lost while this request ran on it"),
                    HasSubstr("not tried again by itself"), HasSubstr("refused for 60 s: gone")));
  EXPECT_THAT(losses_, ElementsAre("first error"));
  EXPECT_EQ(answers_at_loss_, 0) << "health turns before clients are told";
  EXPECT_THAT(Submit(5), StatusIs(kUnavailable, HasSubstr("no device")));
  EXPECT_FALSE(dispatcher_->HasHealthyDevice());
  EXPECT_FALSE(dispatcher_->HasStuckLane());
  EXPECT_THAT(metrics_.Render(),
              HasSubstr("baseband_devices_lost_total{device=\"first\",reason=\"error\"} 1\n"));
}

// On the first device and on whichever is next: it ran there, too.
TEST_F(DeviceLossTest, AQueryOfDeathTakesOneDeviceAndItsLikeIsRefusedUntilAnAdminLiftsThat) {
  Make({&first_, &second_});
  ASSERT_THAT(Submit(0), IsOk());
  ASSERT_EQ(first_.num_running() + second_.num_running(), 1);
  PuppetDevice& faulty = first_.num_running() == 1 ? first_ : second_;
  PuppetDevice& other = first_.num_running() == 1 ? second_ : first_;
  ASSERT_THAT(Submit(1), IsOk());
  ASSERT_THAT(Submit(2), IsOk());  // waits
  faulty.set_healthy(false);
  faulty.End(absl::InternalError("gone"));
  EXPECT_EQ(num_answers_, 1) << "what ran beside it on another device has nothing to do with it";
  EXPECT_THAT(answers_[0], ElementsAre(StatusIs(kInternal, HasSubstr("fingerprint"))));

  EXPECT_THAT(Submit(0), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("60 s more")));
  dispatcher_->SampleGauges();
  EXPECT_THAT(metrics_.Render(), HasSubstr("baseband_quarantined_fingerprints 1\n"));
  other.End();
  other.End();
  EXPECT_THAT(answers_[2], ElementsAre(IsOk())) << "what only waited went to the other device";
  EXPECT_THAT(dispatcher_->quarantine().Lift(1), IsOk());
  ASSERT_THAT(Submit(0), IsOk());
  other.End();
  EXPECT_THAT(answers_[0], ElementsAre(StatusIs(kInternal, HasSubstr("")), IsOk()));
}

// Else it would run on the next device as soon as a lane of that is free.
TEST_F(DeviceLossTest, WhatWaitsAndIsLikeAQueryOfDeathIsRefusedAndTheOthersGoOn) {
  Make({&first_, &second_});
  ASSERT_THAT(Submit(0), IsOk());
  PuppetDevice& faulty = first_.num_running() == 1 ? first_ : second_;
  PuppetDevice& other = first_.num_running() == 1 ? second_ : first_;
  ASSERT_THAT(Submit(1), IsOk());
  for (const int id : {2, 0, 3, 0}) ASSERT_THAT(Submit(id), IsOk());  // wait
  faulty.set_healthy(false);
  faulty.End(absl::InternalError("gone"));
  constexpr absl::StatusCode kRefused = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(answers_[0],
              UnorderedElementsAre(StatusIs(kInternal, HasSubstr("while this request ran on it")),
                                   StatusIs(kRefused, HasSubstr("60 s more")),
                                   StatusIs(kRefused, HasSubstr("60 s more"))));
  EXPECT_EQ(dispatcher_->quarantine().List(now_)[0].refused, 2);
  while (other.num_running() > 0) other.End();
  for (const int id : {1, 2, 3}) EXPECT_THAT(answers_[id], ElementsAre(IsOk())) << id;
  EXPECT_EQ(num_answers_, 6);
  EXPECT_EQ(pool_->used(), 0);
}

TEST_F(DeviceLossTest, WhatRunsAllTheTimeIsNotRefusedForTheFaultOfAnother) {
  Make({&first_, &second_});
  for (uint32_t i = 0; i < Quarantine::kKnownGood; ++i) {
    ASSERT_THAT(Submit(0), IsOk());
    (first_.num_running() > 0 ? first_ : second_).End();
  }
  ASSERT_THAT(Submit(0), IsOk());
  PuppetDevice& faulty = first_.num_running() == 1 ? first_ : second_;
  faulty.set_healthy(false);
  faulty.End(absl::InternalError("gone"));
  EXPECT_THAT(answers_[0].back(), StatusIs(kInternal, HasSubstr("it has ended well often")));
  EXPECT_THAT(Submit(0), IsOk());
  (faulty.num_running() > 0 ? faulty : &faulty == &first_ ? second_ : first_).End();
}

TEST_F(DeviceLossTest, TheOtherDevicesGoOnWithWhatWaits) {
  Make({&first_, &second_});
  for (int id = 0; id < 4; ++id) ASSERT_THAT(Submit(id), IsOk());
  ASSERT_EQ(first_.num_running(), 1);
  ASSERT_EQ(second_.num_running(), 1);
  ASSERT_THAT(dispatcher_->LoseDevice("first", DeviceLoss::kInjected, "so"), IsOk());
  EXPECT_EQ(num_answers_, 1);
  second_.End();
  ASSERT_EQ(second_.num_running(), 1);
  EXPECT_EQ(second_.num_blocks(0), 2);
  second_.End();
  int unavailable = 0;
  for (const absl::StatusCode code : Codes(3)) unavailable += code == kUnavailable;
  EXPECT_EQ(unavailable, 1);
  EXPECT_TRUE(dispatcher_->HasHealthyDevice());
  EXPECT_THAT(dispatcher_->LoseDevice("first", DeviceLoss::kInjected, "so"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("device 'first'")));
  EXPECT_THAT(dispatcher_->LoseDevice("third", DeviceLoss::kInjected, "so"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("device 'third'")));
  EXPECT_THAT(losses_, ElementsAre("first injected"));
  first_.End();  // what it still ran, too late
  EXPECT_EQ(num_answers_, 4);
}

TEST_F(DeviceLossTest, ADeviceOnStandbyWorksOnceNoOtherIsHealthy) {
  Make({&first_, &standby_});
  for (int id = 0; id < 3; ++id) ASSERT_THAT(Submit(id), IsOk());
  EXPECT_EQ(standby_.num_running(), 0);
  ASSERT_THAT(dispatcher_->LoseDevice("first", DeviceLoss::kInjected, "so"), IsOk());
  ASSERT_EQ(standby_.num_running(), 1);
  EXPECT_EQ(standby_.num_blocks(0), 2);
  ASSERT_THAT(Submit(3), IsOk());
  standby_.End();
  standby_.End();
  EXPECT_THAT(Codes(3), ElementsAre(kUnavailable, absl::StatusCode::kOk, absl::StatusCode::kOk,
                                    absl::StatusCode::kOk));
  first_.End();
}

TEST_F(DeviceLossTest, WhatWasLearnedOfADeviceDoesNotCountForItsStandby) {
  Make({&first_, &standby_});
  ASSERT_THAT(Submit(0), IsOk());
  now_ += absl::Milliseconds(10);
  first_.End();
  const absl::Time soon = now_ + absl::Milliseconds(1);
  EXPECT_THAT(Submit(1, "Decode", soon),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("idle server")));
  ASSERT_THAT(dispatcher_->LoseDevice("first", DeviceLoss::kInjected, "so"), IsOk());
  EXPECT_THAT(Submit(2, "Decode", soon), IsOk());
  standby_.End();
  EXPECT_THAT(answers_[2], ElementsAre(IsOk()));
}

TEST_F(DeviceLossTest, PiecesOfSearchesDoNotMoveToTheDeviceOnStandby) {
  Make({&first_, &standby_});
  ASSERT_THAT(Submit(0), IsOk());
  ASSERT_THAT(Submit(1, "Minimize"), IsOk());
  ASSERT_THAT(dispatcher_->LoseDevice("first", DeviceLoss::kInjected, "so"), IsOk());
  EXPECT_THAT(Codes(1), ElementsAre(kUnavailable, kUnavailable));
  EXPECT_EQ(standby_.num_running(), 0);
  first_.End();
}

TEST_F(DeviceLossTest, AStuckLaneLosesItsDeviceAndTheLateEndIsNobodysAnswer) {
  Make({&first_, &second_});
  ASSERT_THAT(Submit(0), IsOk());
  ASSERT_THAT(Submit(1), IsOk());
  const int64_t used = pool_->used();
  Look(Dispatcher::kLooks);
  EXPECT_EQ(num_answers_, 0);
  second_.End();
  ASSERT_THAT(Submit(2), IsOk());  // on the second one: its looks begin anew
  ASSERT_EQ(second_.num_running() + first_.num_running(), 2);
  Look(1);
  EXPECT_THAT(losses_, ElementsAre("first stuck"));
  EXPECT_THAT(why_, HasSubstr("lane 0 has made no progress"));
  EXPECT_EQ(num_answers_, 2);
  // It may be the request's doing that the lane stands still: it does not go to the next device.
  EXPECT_THAT(answers_[1], ElementsAre(StatusIs(kInternal, HasSubstr("made no progress"))));
  EXPECT_THAT(Submit(1), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("refused")));
  EXPECT_TRUE(dispatcher_->HasStuckLane());
  Look(Dispatcher::kLooks - 1);
  EXPECT_EQ(losses_.size(), 1U);
  second_.End();
  // The job's memory stays for whoever still writes to it; with a sanitizer this proves it.
  EXPECT_GT(pool_->used(), 0);
  EXPECT_LT(pool_->used(), used);
  first_.task(0)->RunPiece(0);
  first_.End();
  EXPECT_EQ(pool_->used(), 0);
  EXPECT_FALSE(dispatcher_->HasStuckLane());
  EXPECT_EQ(num_answers_, 3);
  EXPECT_EQ(times_[1].lane, first_.lanes()[0].get());
  EXPECT_GE(times_[1].ended, times_[1].started);
}

TEST_F(DeviceLossTest, NobodyWaitsForALaneThatIsStuckToBeIdle) {
  Make({&first_});
  const auto f = [] { return absl::OkStatus(); };
  ASSERT_THAT(Submit(0), IsOk());
  EXPECT_THAT(dispatcher_->WhileLanesAreIdle(absl::ZeroDuration(), f),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("other devices had work")));
  Look(Dispatcher::kLooks + 1);
  EXPECT_THAT(dispatcher_->WhileLanesAreIdle(absl::Seconds(2), f),
              StatusIs(kUnavailable, HasSubstr("does not end")));
  first_.End();
  EXPECT_THAT(dispatcher_->WhileLanesAreIdle(absl::Seconds(2), f), IsOk());
}

TEST_F(DeviceLossTest, WhatRanBesideALaneThatStoodStillIsTriedAgainElsewhere) {
  PuppetDevice two(2, "two");
  Make({&two});
  ASSERT_THAT(Submit(0), IsOk());
  Look(Dispatcher::kLooks);
  ASSERT_THAT(Submit(1), IsOk());
  ASSERT_EQ(two.num_running(), 2);
  Look(1);
  EXPECT_THAT(Codes(1), ElementsAre(kInternal, kUnavailable));
  EXPECT_THAT(dispatcher_->quarantine().List(now_).size(), 1);
  two.End();
  two.End();
}

TEST_F(DeviceLossTest, ALaneThatMakesProgressIsNotStuck) {
  Make({&first_});
  ASSERT_THAT(Submit(0), IsOk());
  for (int64_t progress = 1; progress < 10; ++progress) {
    Look(Dispatcher::kLooks);
    first_.set_progress(progress);
  }
  EXPECT_TRUE(losses_.empty());
  Look(Dispatcher::kLooks + 1);
  EXPECT_THAT(losses_, ElementsAre("first stuck"));
  first_.End(absl::InternalError("too late"));
  EXPECT_EQ(num_answers_, 1);
}

// Whoever is first answers; the races are the sanitizers' to find.
TEST_F(DeviceLossTest, EndAndLossAtTheSameTimeAnswerOnce) {
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    PuppetDevice device(1, "racer");
    Make({&device});
    answers_.clear();
    ASSERT_THAT(Submit(0), IsOk());
    absl::Notification go;
    std::thread other([&] {
      go.WaitForNotification();
      dispatcher_->LoseDevice("racer", DeviceLoss::kInjected, "so").IgnoreError();
    });
    go.Notify();
    device.End();
    other.join();
    EXPECT_EQ(answers_[0].size(), 1U);
    dispatcher_.reset();
    EXPECT_EQ(pool_->used(), 0);
  }
}

}  // namespace
}  // namespace baseband::server
