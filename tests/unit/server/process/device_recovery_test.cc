// Which lost devices are tried, how often, and what comes of it.
#include "server/process/device_recovery.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/puppet_device.h"

namespace baseband::server {
namespace {

using ::testing::HasSubstr;

class DeviceRecoveryTest : public ::testing::Test {
 protected:
  void Make(absl::Duration patience = absl::Minutes(1)) {
    DeviceRecoveryOptions options;
    options.max_resets_per_hour = 2;
    options.patience = patience;
    options.clock = [this] { return absl::FromUnixNanos(now_ns_); };
    options.reset = [this](Device&) {
      ++resets_;
      return reset_ ? reset_() : absl::OkStatus();
    };
    options.on_back = [this](Device& device, absl::Duration) { Tell(device.id() + " is back"); };
    options.on_given_up = [this](Device& device, const std::string& why) {
      Tell(device.id() + " is given up: " + why);
    };
    recovery_ = std::make_unique<DeviceRecovery>(std::move(options));
  }
  void Tell(std::string what) {
    absl::MutexLock lock(&mutex_);
    told_ = std::move(what);
    ++tells_;
  }
  // What is told as the `n`th.
  std::string Await(int n) {
    absl::MutexLock lock(&mutex_);
    const auto told = [&] { return tells_ >= n; };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&told), absl::Minutes(1)));
    EXPECT_EQ(tells_, n);
    return told_;
  }
  bool Begin() { return recovery_->Begin(device_, DeviceLoss::kError); }

  // An absl::Time is more than processors load at once: that would take a library.
  std::atomic<int64_t> now_ns_{absl::ToInt64Nanoseconds(absl::Hours(5))};
  std::function<absl::Status()> reset_;
  std::atomic<int> resets_{0};
  absl::Mutex mutex_;
  std::string told_;
  int tells_ = 0;
  PuppetDevice device_{1, "first"};
  PuppetDevice other_{1, "second"};
  std::unique_ptr<DeviceRecovery> recovery_;
};

TEST_F(DeviceRecoveryTest, OnceItsLanesHaveEndedADeviceIsResetAndComesBack) {
  Make();
  EXPECT_FALSE(recovery_->is_trying());
  ASSERT_TRUE(Begin());
  EXPECT_TRUE(recovery_->is_trying());
  EXPECT_EQ(resets_, 0) << "what runs on it would not bear that";
  recovery_->LanesEnded(device_);
  EXPECT_EQ(Await(1), "first is back");
  EXPECT_EQ(resets_, 1);
  EXPECT_EQ(recovery_->CountResets(device_), 1);
}

TEST_F(DeviceRecoveryTest, OnlyFaultsAreTried) {
  Make();
  EXPECT_FALSE(recovery_->Begin(device_, DeviceLoss::kStuck));
  EXPECT_FALSE(recovery_->Begin(device_, DeviceLoss::kInjected));
  EXPECT_FALSE(recovery_->is_trying());
}

TEST_F(DeviceRecoveryTest, ADeviceIsTriedSoOftenAnHourAndEachForItself) {
  Make();
  for (int n = 1; n <= 2; ++n) {
    ASSERT_TRUE(Begin());
    recovery_->LanesEnded(device_);
    (void)Await(n);
  }
  EXPECT_FALSE(Begin());
  EXPECT_TRUE(recovery_->Begin(other_, DeviceLoss::kError));
  recovery_->LanesEnded(other_);
  EXPECT_EQ(Await(3), "second is back");
  now_ns_ += absl::ToInt64Nanoseconds(absl::Hours(1)) - 1;
  EXPECT_FALSE(Begin());
  ++now_ns_;
  EXPECT_TRUE(Begin());
}

TEST_F(DeviceRecoveryTest, ADeviceThatFailsItsTestIsGivenUp) {
  Make();
  reset_ = [] { return absl::InternalError("wrong answers"); };
  ASSERT_TRUE(Begin());
  recovery_->LanesEnded(device_);
  EXPECT_EQ(Await(1), "first is given up: INTERNAL: wrong answers");
  EXPECT_FALSE(recovery_->is_trying());
}

TEST_F(DeviceRecoveryTest, LanesThatDoNotEndAreWaitedForOnlySoLong) {
  Make(absl::Milliseconds(50));
  ASSERT_TRUE(Begin());
  EXPECT_EQ(Await(1), "first is given up: what ran on it has not ended within 50ms");
  EXPECT_EQ(resets_, 0);
}

TEST_F(DeviceRecoveryTest, AResetThatHangsIsGivenUpAndSaidAtTheEnd) {
  Make(absl::Milliseconds(50));
  absl::Notification let_go;
  absl::Notification went;
  reset_ = [&] {
    let_go.WaitForNotification();
    went.Notify();
    return absl::OkStatus();
  };
  ASSERT_TRUE(Begin());
  recovery_->LanesEnded(device_);
  EXPECT_THAT(Await(1), HasSubstr("its reset has not ended within 50ms"));
  EXPECT_FALSE(recovery_->Stop());
  let_go.Notify();
  went.WaitForNotification();
}

TEST_F(DeviceRecoveryTest, AfterTheEndNobodyComesBack) {
  Make();
  ASSERT_TRUE(Begin());
  EXPECT_TRUE(recovery_->Stop());
  recovery_->LanesEnded(device_);
  EXPECT_FALSE(recovery_->is_trying());
  EXPECT_FALSE(Begin());
  EXPECT_EQ(tells_, 0);
}

}  // namespace
}  // namespace baseband::server
