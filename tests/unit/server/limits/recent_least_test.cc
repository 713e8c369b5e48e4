#include "server/limits/recent_least.h"

#include "gtest/gtest.h"
#include "tests/support/constants.h"

namespace baseband::server {
namespace {

constexpr absl::Duration kPeriod = absl::Seconds(5);

TEST(RecentLeastTest, NothingIsInfinite) {
  RecentLeast least(kPeriod);
  EXPECT_EQ(least.Get(kStart), absl::InfiniteDuration());
}

TEST(RecentLeastTest, TheLeastIsKeptForAPeriodAndForgottenAfterTwo) {
  // Whenever in a period it came, and whether or not somebody asked in between.
  for (absl::Duration came; came < 2 * kPeriod; came += absl::Milliseconds(700)) {
    for (const absl::Duration step : {absl::Milliseconds(900), absl::Milliseconds(4900), kPeriod}) {
      RecentLeast least(kPeriod);
      least.Add(absl::Milliseconds(30), kStart);
      absl::Time now = kStart + came;
      least.Add(absl::Milliseconds(2), now);
      least.Add(absl::Milliseconds(8), now);
      for (; now <= kStart + came + 3 * kPeriod; now += step) {
        const absl::Duration age = now - kStart - came;
        if (age <= kPeriod) {
          EXPECT_EQ(least.Get(now), absl::Milliseconds(2)) << came << " " << age;
        } else if (age >= 2 * kPeriod) {
          EXPECT_EQ(least.Get(now), absl::InfiniteDuration()) << came << " " << age;
        } else {
          (void)least.Get(now);
        }
      }
    }
  }
}

}  // namespace
}  // namespace baseband::server
