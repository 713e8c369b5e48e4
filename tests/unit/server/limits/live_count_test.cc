#include "server/limits/live_count.h"

#include <atomic>
#include <memory>
#include <thread>

#include "gtest/gtest.h"

namespace baseband::server {
namespace {

TEST(LiveCountTest, WhoWaitsGoesOnOnceTheLastIsGone) {
  LiveCount count;
  count.WaitUntilNone();  // returns: there was none yet
  auto first = std::make_unique<LiveCount::One>(&count);
  auto second = std::make_unique<LiveCount::One>(&count);
  std::atomic<bool> last_is_going{false};
  std::thread waiter([&] {
    count.WaitUntilNone();
    EXPECT_TRUE(last_is_going);
  });
  first.reset();
  std::this_thread::yield();
  last_is_going = true;
  second.reset();
  waiter.join();
}

}  // namespace
}  // namespace baseband::server
