#include "server/limits/byte_limit.h"

#include <thread>
#include <vector>

#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

TEST(ByteLimitTest, WhatIsHeldGrowsShrinksAndGoesBackOnce) {
  ByteLimit limit("searches", 100);
  {
    ByteHold a(&limit);
    ByteHold b(&limit);
    EXPECT_THAT(a.Resize(60), IsOk());
    EXPECT_THAT(b.Resize(40), IsOk());
    EXPECT_EQ(limit.used(), 100);
    EXPECT_THAT(a.Resize(10), IsOk());
    EXPECT_THAT(b.Resize(90), IsOk());
    EXPECT_EQ(limit.used(), 100);
    EXPECT_THAT(a.Resize(0), IsOk());
    EXPECT_EQ(limit.used(), 90);
  }
  EXPECT_EQ(limit.used(), 0);
}

TEST(ByteLimitTest, WhatIsTooMuchIsRefusedWithItsBytesAndTheBound) {
  ByteLimit limit("searches", 100);
  ByteHold a(&limit);
  ByteHold b(&limit);
  ASSERT_THAT(a.Resize(60), IsOk());
  ASSERT_THAT(b.Resize(30), IsOk());
  EXPECT_THAT(b.Resize(41), StatusIs(absl::StatusCode::kResourceExhausted,
                                     AllOf(HasSubstr("41 bytes"), HasSubstr("searches hold 60"),
                                           HasSubstr("have 100"))));
  EXPECT_THAT(b.Resize(101), StatusIs(absl::StatusCode::kInvalidArgument,
                                      AllOf(HasSubstr("101 bytes"), HasSubstr("have 100"))))
      << "it need not come again";
  EXPECT_EQ(limit.used(), 90);  // it has what it had
}

TEST(ByteLimitTest, ThreadsNeverHoldMoreThanTheBoundTogether) {
  ByteLimit limit("searches", 1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        ByteHold hold(&limit);
        (void)hold.Resize(300 + t);
        EXPECT_LE(limit.used(), 1000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(limit.used(), 0);
}

}  // namespace
}  // namespace baseband::server
