#include "kernels/base/periodic_thread.h"

#include <atomic>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace baseband {
namespace {

TEST(PeriodicThreadTest, LooksUntilItIsDestroyed) {
  std::atomic<int> looks{0};
  absl::Notification enough;
  {
    const PeriodicThread watchdog(absl::Milliseconds(1), [&] {
      if (++looks == 3) enough.Notify();
    });
    enough.WaitForNotification();
  }
  const int before = looks;
  EXPECT_GE(before, 3);
  EXPECT_EQ(looks, before);
}

}  // namespace
}  // namespace baseband
