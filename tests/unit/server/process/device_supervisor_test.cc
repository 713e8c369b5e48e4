// Devices that fault under a dispatcher: health, readiness and the process' end.
#include "server/process/device_supervisor.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/matchers.h"
#include "tests/support/no_batch.h"
#include "tests/support/puppet_device.h"
#include "tests/support/small_dispatcher.h"

namespace baseband::server {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);

class DeviceSupervisorTest : public ::testing::Test {
 protected:
  ~DeviceSupervisorTest() override {
    if (supervisor_ != nullptr) {
      EXPECT_TRUE(supervisor_->Stop());
    }
    dispatcher_.reset();
  }

  void Make(std::vector<Device*> devices, int max_resets = 2) {
    lifecycle_.SetServing();
    DeviceSupervisorOptions options;
    options.devices = devices;
    options.max_resets_per_hour = max_resets;
    options.self_test = [this](Device&) {
      ++tests_;
      return self_test_ ? self_test_() : absl::OkStatus();
    };
    options.end_process = [this] { ++ends_; };
    options.error = [this](const std::string& line) { Log(line); };
    options.info = [this](const std::string& line) { Log(line); };
    supervisor_ = std::make_unique<DeviceSupervisor>(std::move(options), &lifecycle_);
    DispatcherOptions dispatcher = SmallDispatcher(/*queue_requests=*/100);
    dispatcher.on_loss = [this](Device& device, DeviceLoss cause, const std::string& why) {
      supervisor_->OnLoss(device, cause, why);
    };
    dispatcher.on_loss_end = [this](Device& device) { supervisor_->OnLossEnd(device); };
    dispatcher.make_batch = [](std::vector<JobPtr> jobs, Device&) {
      return std::make_unique<NoBatch>(std::move(jobs));
    };
    dispatcher_ = std::make_unique<Dispatcher>(dispatcher, devices, &metrics_);
    supervisor_->Connect(dispatcher_.get());
    supervisor_->Tell([this](bool serves) {
      absl::MutexLock lock(&mutex_);
      health_.push_back(serves);
    });
  }
  void Log(const std::string& line) {
    absl::MutexLock lock(&mutex_);
    log_ += line + "\n";
  }
  std::string log() {
    absl::MutexLock lock(&mutex_);
    return log_;
  }
  std::vector<bool> health() {
    absl::MutexLock lock(&mutex_);
    return health_;
  }
  absl::Status Submit() {
    auto job = std::make_unique<Job>(TestOperation("Encode"));
    job->done = [this](const absl::Status& status, JobPtr) {
      absl::MutexLock lock(&mutex_);
      answers_.push_back(status.code());
    };
    absl::StatusOr<AdmissionTicket> ticket = dispatcher_->Admit(job.get());
    if (!ticket.ok()) return ticket.status();
    JobPtr taken = std::move(job);
    return dispatcher_->Submit(taken, *std::move(ticket));
  }
  void Fault(PuppetDevice& device) {
    device.set_healthy(false);
    device.End(absl::InternalError("illegal memory access"));
  }
  template <typename Condition>
  static bool Await(const Condition& condition) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (!condition()) {
      if (absl::Now() > deadline) return false;
      absl::SleepFor(absl::Milliseconds(1));
    }
    return true;
  }

  Lifecycle lifecycle_;
  Metrics metrics_{"test", TestOperations().counted()};
  std::function<absl::Status()> self_test_;
  std::atomic<int> tests_{0};
  std::atomic<int> ends_{0};
  absl::Mutex mutex_;
  std::string log_;
  std::vector<bool> health_;
  std::vector<absl::StatusCode> answers_;
  PuppetDevice first_{2, "first", /*standby=*/false, /*can_be_reset=*/true};
  PuppetDevice second_{1, "second", /*standby=*/false, /*can_be_reset=*/true};
  std::unique_ptr<DeviceSupervisor> supervisor_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(DeviceSupervisorTest, TheOnlyDeviceComesBackOnceAllItsLanesHaveEnded) {
  Make({&first_});
  ASSERT_THAT(Submit(), IsOk());
  ASSERT_THAT(Submit(), IsOk());
  ASSERT_EQ(first_.num_running(), 2);
  Fault(first_);
  EXPECT_THAT(answers_, ElementsAre(absl::StatusCode::kInternal, absl::StatusCode::kInternal));
  EXPECT_EQ(tests_, 0) << "the other lane is still at work";
  EXPECT_THAT(health(), ElementsAre(false));
  EXPECT_EQ(lifecycle_.WhyNotLive(), "");
  EXPECT_EQ(lifecycle_.WhyNotReady(), "no healthy device: one is being reset");
  EXPECT_THAT(Submit(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no device")));

  first_.End(absl::InternalError("likewise"));
  ASSERT_TRUE(Await([&] { return first_.healthy() && lifecycle_.WhyNotReady().empty(); }));
  EXPECT_EQ(first_.num_resets(), 1);
  EXPECT_EQ(tests_, 1);
  EXPECT_TRUE(Await([&] { return health() == std::vector<bool>{false, true}; }));
  EXPECT_THAT(metrics_.Render(), HasSubstr("baseband_device_resets_total{device=\"first\"} 1\n"));
  EXPECT_THAT(log(), AllOf(HasSubstr("first was lost (error): illegal memory access; it is reset, "
                                     "1 of 2 times in an hour\n"),
                           HasSubstr("first was reset, passed its self-test and serves again")));
  ASSERT_THAT(Submit(), IsOk());
  first_.End();
  EXPECT_EQ(answers_.back(), absl::StatusCode::kOk);
  EXPECT_EQ(ends_, 0);
}

TEST_F(DeviceSupervisorTest, FaultsBeyondTheLimitEndTheProcess) {
  Make({&first_}, /*max_resets=*/2);
  for (int fault = 1; fault <= 3; ++fault) {
    ASSERT_TRUE(Await([&] { return first_.healthy(); }));
    ASSERT_THAT(Submit(), IsOk());
    Fault(first_);
  }
  EXPECT_EQ(ends_, 1);
  EXPECT_FALSE(first_.healthy());
  EXPECT_EQ(first_.num_resets(), 2);
  EXPECT_TRUE(lifecycle_.has_no_device());
  EXPECT_EQ(lifecycle_.WhyNotLive(), "no healthy device");
  EXPECT_THAT(log(), HasSubstr("it has been reset 2 times in the last hour, and that is enough"));
}

TEST_F(DeviceSupervisorTest, ADeviceThatFailsItsSelfTestEndsTheProcessIfItIsTheLast) {
  Make({&first_, &second_});
  self_test_ = [] { return absl::InternalError("wrong answers"); };
  ASSERT_THAT(Submit(), IsOk());
  PuppetDevice& faulty = first_.num_running() > 0 ? first_ : second_;
  PuppetDevice& other = first_.num_running() > 0 ? second_ : first_;
  Fault(faulty);
  ASSERT_TRUE(Await([&] { return log().find("does not come back") != std::string::npos; }));
  EXPECT_EQ(ends_, 0) << "the other one serves";
  EXPECT_TRUE(health().empty());
  EXPECT_THAT(log(), HasSubstr(faulty.id() + " does not come back: INTERNAL: wrong answers"));
  ASSERT_THAT(Submit(), IsOk());
  Fault(other);
  EXPECT_TRUE(Await([&] { return ends_ == 1; }));
  EXPECT_THAT(health(), ElementsAre(false));
}

TEST_F(DeviceSupervisorTest, AStuckOrAbandonedLastDeviceEndsTheProcessAtOnce) {
  Make({&first_});
  ASSERT_THAT(dispatcher_->LoseDevice("first", DeviceLoss::kInjected, "so"), IsOk());
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(first_.num_resets(), 0);
}

TEST_F(DeviceSupervisorTest, AFullPoolIsNoFailedSelfTest) {
  Make({&first_});
  self_test_ = [this] {
    return tests_ < 3 ? absl::ResourceExhaustedError("no memory") : absl::OkStatus();
  };
  ASSERT_THAT(Submit(), IsOk());
  Fault(first_);
  EXPECT_TRUE(Await([&] { return first_.healthy(); }));
  EXPECT_EQ(tests_, 3);
}

TEST_F(DeviceSupervisorTest, AResetThatOthersFeelWaitsForTheirLanesAndNobodyStartsMeanwhile) {
  Make({&first_, &second_});
  ASSERT_THAT(Submit(), IsOk());
  ASSERT_THAT(Submit(), IsOk());
  ASSERT_EQ(first_.num_running(), 1);
  ASSERT_EQ(second_.num_running(), 1);
  int running_at_reset = -1;
  first_.set_on_reset([&](const Device::Alone& alone) {
    return alone([&] {
      running_at_reset = second_.num_running();
      EXPECT_THAT(Submit(), IsOk());
      EXPECT_EQ(second_.num_running(), 0) << "it waits";
      return absl::OkStatus();
    });
  });
  Fault(first_);
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_EQ(first_.num_resets(), 1);
  EXPECT_EQ(running_at_reset, -1);
  second_.End();
  ASSERT_TRUE(Await([&] { return first_.healthy(); }));
  EXPECT_EQ(running_at_reset, 0);
  ASSERT_TRUE(Await([&] { return first_.num_running() + second_.num_running() == 1; }));
  (first_.num_running() > 0 ? first_ : second_).End();
}

}  // namespace
}  // namespace baseband::server
