// The slow path does all it has taken, in order, and takes no more than it may.
#include "server/limits/slow_path_executor.h"

#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SlowPathExecutorTest, WorkIsDoneInOrderAndBeforeFinishReturns) {
  std::vector<int> done;
  SlowPathExecutor slow_path(10, 10);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(slow_path.Add(1, [&done, i] { done.push_back(i); }), IsOk());
  }
  slow_path.Finish();
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
  EXPECT_THAT(slow_path.Add(1, [] {}), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("down")));
}

TEST(SlowPathExecutorTest, WhatWaitsIsBoundedInPiecesAndBytes) {
  absl::Notification begun;
  absl::Notification go_on;
  int done = 0;
  SlowPathExecutor slow_path(2, 100);
  ASSERT_THAT(slow_path.Add(100,
                            [&] {
                              begun.Notify();
                              go_on.WaitForNotification();
                            }),
              IsOk());
  begun.WaitForNotification();  // no longer waits, and its bytes do not count
  const auto add = [&](int64_t bytes) { return slow_path.Add(bytes, [&done] { ++done; }); };
  EXPECT_THAT(add(101), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("100 bytes")));
  EXPECT_THAT(add(60), IsOk());
  EXPECT_THAT(add(41),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1 requests of 60")));
  EXPECT_THAT(add(40), IsOk());
  EXPECT_THAT(add(0), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 2")));
  go_on.Notify();
  slow_path.Finish();
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace baseband::server
