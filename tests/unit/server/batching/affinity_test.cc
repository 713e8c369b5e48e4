// Jobs that must run where what they use lies.
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "server/batching/dispatcher.h"
#include "tests/support/matchers.h"
#include "tests/support/no_batch.h"
#include "tests/support/puppet_device.h"
#include "tests/support/small_dispatcher.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

class AffinityTest : public ::testing::Test {
 protected:
  AffinityTest() { Make({&first_, &second_}); }
  void Make(std::vector<Device*> devices, absl::Duration delay = absl::ZeroDuration()) {
    DispatcherOptions options = SmallDispatcher(/*queue_requests=*/1000);
    options.limits.max_queue_delay = delay;
    if (stopped_clock_) options.clock = [] { return absl::UnixEpoch() + absl::Hours(1); };
    options.make_batch = [](std::vector<JobPtr> jobs, Device&) {
      return std::make_unique<NoBatch>(std::move(jobs));
    };
    dispatcher_ = std::make_unique<Dispatcher>(options, devices, &metrics_);
  }

  absl::Status Submit(int id, Device* device, const char* client = "client",
                      ObjectPin object = nullptr) {
    auto job = std::make_unique<Job>(TestOperation("Decode"));
    job->footprint.blocks = 1;
    job->work.units = work_units_;
    job->caller = {client, Priority::kNormal};
    job->device = device;
    if (object != nullptr) job->objects.push_back(std::move(object));
    job->done = [this, id](absl::Status status, JobPtr done) {
      answers_[id] = std::move(status);
      ran_on_[id] = done->times.lane == nullptr ? nullptr : &done->times.lane->device();
    };
    absl::StatusOr<AdmissionTicket> ticket = dispatcher_->Admit(job.get());
    if (!ticket.ok()) return ticket.status();
    wait_s_ = job->schedule.wait_s;
    return dispatcher_->Submit(job, *std::move(ticket));
  }
  // A store on the first device.
  ObjectStore& Objects() {
    ObjectLimits limits;
    limits.max_bytes = limits.max_bytes_per_owner = 1 << 20;
    first_.set_objects(std::make_shared<ObjectStore>(limits, pool_));
    return *first_.objects();
  }
  void EndAll() {
    for (PuppetDevice* device : {&first_, &second_, &standby_}) {
      while (device->num_running() > 0) device->End();
    }
  }

  const std::shared_ptr<HostPool> pool_ = *HostPool::CreatePageable(1 << 20);
  std::map<int, absl::Status> answers_;
  std::map<int, Device*> ran_on_;
  bool stopped_clock_ = false;  // of dispatchers to be made
  double work_units_ = 0.0;     // of each that comes
  double wait_s_ = 0.0;         // as predicted for the last one
  Metrics metrics_{"test", TestOperations().counted()};
  PuppetDevice first_{1, "first"};
  PuppetDevice second_{1, "second"};
  PuppetDevice standby_{1, "standby", /*standby=*/true};
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(AffinityTest, WhatIsBoundWaitsForItsDeviceWhileOthersGoElsewhere) {
  ASSERT_THAT(Submit(0, &first_), IsOk());
  ASSERT_THAT(Submit(1, &first_), IsOk());
  EXPECT_EQ(first_.num_running(), 1);
  EXPECT_EQ(second_.num_running(), 0) << "it is free, and has nothing of job 1's";
  ASSERT_THAT(Submit(2, nullptr), IsOk());
  EXPECT_EQ(second_.num_running(), 1) << "job 2 came later and may run there";
  ASSERT_THAT(Submit(3, nullptr), IsOk());
  ASSERT_THAT(Submit(4, &second_), IsOk());
  first_.End();  // what may run on it leaves together: 1 and 3
  EXPECT_EQ(first_.num_blocks(0), 2);
  EndAll();
  for (int id = 0; id < 5; ++id) EXPECT_THAT(answers_[id], IsOk()) << id;
  EXPECT_EQ(ran_on_[0], &first_);
  EXPECT_EQ(ran_on_[1], &first_);
  EXPECT_EQ(ran_on_[3], &first_);
  EXPECT_EQ(ran_on_[4], &second_);
}

TEST_F(AffinityTest, WhatIsBoundIsPredictedToWaitForItsDevice) {
  // Nothing is over by itself, however slow the test is.
  stopped_clock_ = true;
  Make({&first_, &second_});
  work_units_ = 1e6;
  ASSERT_THAT(Submit(0, &first_), IsOk());
  ASSERT_THAT(Submit(1, nullptr), IsOk());
  EXPECT_EQ(wait_s_, 0.0);
  second_.End();
  ASSERT_THAT(Submit(2, &second_), IsOk());
  EXPECT_EQ(wait_s_, 0.0);
  second_.End();
  ASSERT_THAT(Submit(3, &first_), IsOk());
  EXPECT_GT(wait_s_, 0.0);
  EndAll();
}

TEST_F(AffinityTest, ClientsShareADeviceWhetherTheyAreBoundOrNot) {
  for (int id = 0; id < 40; ++id) {
    Device* const devices[] = {nullptr, &first_, &second_};
    ASSERT_THAT(Submit(id, devices[id % 3], id % 2 == 0 ? "even" : "odd"), IsOk());
  }
  EndAll();
  for (int id = 0; id < 40; ++id) {
    EXPECT_THAT(answers_[id], IsOk()) << id;
    if (id % 3 != 0) {
      EXPECT_EQ(ran_on_[id], id % 3 == 1 ? &first_ : &second_) << id;
    }
  }
}

TEST_F(AffinityTest, WhatIsBoundToALostDeviceIsToldSoAndTheRestGoesOn) {
  for (int id = 0; id < 2; ++id) ASSERT_THAT(Submit(id, &first_), IsOk());
  ASSERT_THAT(Submit(2, &second_), IsOk());
  ASSERT_THAT(Submit(3, nullptr), IsOk());
  ASSERT_THAT(dispatcher_->LoseDevice("first", DeviceLoss::kInjected, "a test"), IsOk());
  EXPECT_THAT(answers_[1],
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("first was lost, and with it what the request uses there"),
                             HasSubstr("a test"))));
  EXPECT_THAT(Submit(4, &first_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("first was lost, and with it")));
  EndAll();
  EXPECT_THAT(answers_[2], IsOk());
  EXPECT_THAT(answers_[3], IsOk());
  EXPECT_EQ(ran_on_[3], &second_);
}

TEST_F(AffinityTest, ObjectsGoWithTheirDevice) {
  ObjectStore& objects = Objects();
  ASSERT_THAT(objects.Create({"client", "x"}, 100), IsOk());
  dispatcher_->SampleGauges();
  EXPECT_THAT(metrics_.Render(), HasSubstr("baseband_device_objects{device=\"first\"} 1\n"));
  ASSERT_THAT(dispatcher_->LoseDevice("first", DeviceLoss::kInjected, "a test"), IsOk());
  EXPECT_THAT(objects.Use({"client", "x"}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("its device was lost")));
  dispatcher_->SampleGauges();
  dispatcher_->SampleGauges();
  EXPECT_THAT(
      metrics_.Render(),
      AllOf(HasSubstr("baseband_device_objects{device=\"first\"} 0\n"),
            HasSubstr("baseband_device_objects_dropped_total{device=\"first\",reason=\"device_"
                      "lost\"} 1\n")));
}

// Who waits for room may do so while the device is lost, reset and back; the address that it has is
// something else's by then.
TEST_F(AffinityTest, WhatWaitedOverAResetIsToldThatWhatItUsesIsGone) {
  ObjectStore& objects = Objects();
  const ObjectPin before = *objects.Create({"client", "x"}, 100);
  ASSERT_THAT(Submit(0, &first_, "client", before), IsOk());
  first_.End();
  ASSERT_THAT(dispatcher_->LoseDevice("first", DeviceLoss::kInjected, "a test"), IsOk());
  objects.Renew(pool_);
  dispatcher_->Restore(first_);
  EXPECT_THAT(Submit(1, &first_, "client", before),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("first was lost, and with it what the request uses "
                                 "there: it was reset meanwhile")));
  EXPECT_THAT(Submit(2, &first_, "client", *objects.Create({"client", "x"}, 100)), IsOk());
  EndAll();
  EXPECT_THAT(answers_[2], IsOk());
}

TEST_F(AffinityTest, ADeviceOnStandbyEndsWhatIsBoundToItAndTakesNothingElse) {
  Make({&first_, &standby_});
  ASSERT_THAT(Submit(0, nullptr), IsOk());
  ASSERT_THAT(Submit(1, nullptr), IsOk());
  ASSERT_THAT(Submit(2, &standby_), IsOk());
  EXPECT_EQ(first_.num_running(), 1);
  EXPECT_EQ(standby_.num_running(), 1);
  EXPECT_EQ(standby_.num_blocks(0), 1);
  EndAll();
  EXPECT_EQ(ran_on_[1], &first_);
  EXPECT_EQ(ran_on_[2], &standby_);
}

TEST_F(AffinityTest, ADelayEndsForTheDeviceThatABatchIsFor) {
  Make({&first_, &second_}, absl::Milliseconds(1));
  ASSERT_THAT(Submit(0, &second_), IsOk());
  ASSERT_TRUE(second_.AwaitRunning(1));
  ASSERT_THAT(Submit(1, &second_), IsOk());  // waits for its lane, while the other's is free
  second_.End();
  ASSERT_TRUE(second_.AwaitRunning(1));
  second_.End();
  dispatcher_->WaitUntilIdle();
  EXPECT_EQ(first_.num_running(), 0);
  EXPECT_THAT(answers_[1], IsOk());
}

}  // namespace
}  // namespace baseband::server
