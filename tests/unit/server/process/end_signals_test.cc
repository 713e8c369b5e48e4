// Which signal ends the process for which reason, and which of them is the second.
#include "server/process/end_signals.h"

#include <signal.h>
#include <unistd.h>

#include <string>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace baseband::server {
namespace {

using Cause = EndSignals::Cause;

TEST(EndSignalsTest, EachCauseIsTold) {
  const EndSignals signals;
  ASSERT_EQ(kill(getpid(), SIGINT), 0);
  EndSignals::End end = signals.Await();
  EXPECT_EQ(end.cause, Cause::kSignal);
  EXPECT_EQ(end.why, "INT");
  ASSERT_TRUE(EndSignals::Send(Cause::kAdmin));
  end = signals.Await();
  EXPECT_EQ(end.cause, Cause::kAdmin);
  EXPECT_EQ(end.why, "an admin wants it so");
  ASSERT_TRUE(EndSignals::Send(Cause::kNoDevice));
  end = signals.Await();
  EXPECT_EQ(end.cause, Cause::kNoDevice);
  EXPECT_EQ(end.why, "no device is left");
}

TEST(EndSignalsTest, ASecondSignalCutsADrainShortThatBeganByOne) {
  const EndSignals signals;
  absl::Notification ended;
  signals.AwaitSecond(
      Cause::kSignal, [](const std::string& name) { ADD_FAILURE() << name; },
      [&ended] { ended.Notify(); });
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  ended.WaitForNotification();
}

TEST(EndSignalsTest, TheFirstSignalToADrainFromInsideIsOnlyTold) {
  const EndSignals signals;
  absl::Notification told;
  absl::Notification ended;
  signals.AwaitSecond(
      Cause::kAdmin,
      [&](const std::string& name) {
        EXPECT_EQ(name, "TERM");
        EXPECT_FALSE(ended.HasBeenNotified());
        told.Notify();
      },
      [&] {
        EXPECT_TRUE(told.HasBeenNotified());
        ended.Notify();
      });
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  told.WaitForNotification();
  ASSERT_TRUE(EndSignals::Send(Cause::kNoDevice)) << "which is no second signal";
  ASSERT_EQ(kill(getpid(), SIGINT), 0);
  ended.WaitForNotification();
  EXPECT_EQ(signals.Await().cause, Cause::kNoDevice);
}

}  // namespace
}  // namespace baseband::server
