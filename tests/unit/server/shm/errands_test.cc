#include "server/shm/errands.h"

#include <atomic>
#include <memory>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace baseband::server {
namespace {

// What an errand holds may take as long to end as its work.
TEST(ErrandsTest, WhatAnErrandHoldsGoesOnItsThreadBeforeItCountsAsDone) {
  constexpr int kErrands = 100;
  const std::thread::id here = std::this_thread::get_id();
  std::atomic<int> gone{0};
  std::atomic<int> gone_here{0};
  {
    Errands errands;
    for (int i = 0; i < kErrands; ++i) {
      const auto end = [&](const int* held) {
        gone_here += std::this_thread::get_id() == here ? 1 : 0;
        ++gone;
        delete held;
      };
      std::shared_ptr<int> held(new int(i), end);
      errands.Run([held = std::move(held)] {});
    }
  }
  EXPECT_EQ(gone.load(), kErrands);
  EXPECT_EQ(gone_here.load(), 0);
}

TEST(ErrandsTest, NobodyWaitsForThemButTheirEnd) {
  absl::Notification may_end;
  std::atomic<int> ended{0};
  {
    Errands errands;
    errands.Run([&] {
      may_end.WaitForNotification();
      ++ended;
    });
    errands.Run([&] { may_end.Notify(); });
  }
  EXPECT_EQ(ended.load(), 1);
}

}  // namespace
}  // namespace baseband::server
