#include "server/limits/awaited_messages.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace baseband::server {
namespace {

const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1);

class Message final : public AwaitedMessages::Awaited {
 public:
  std::atomic<int> late{0};

 private:
  void OnLate() override { ++late; }
};

TEST(AwaitedMessagesTest, WhoWaitsTooLongIsToldOnceAndNobodyElse) {
  AwaitedMessages awaited;
  std::vector<std::unique_ptr<Message>> messages;
  for (int i = 0; i < 100; ++i) {
    messages.push_back(std::make_unique<Message>());
    awaited.Begin(messages.back().get(), kStart + absl::Seconds(i));
  }
  for (int i = 0; i < 100; i += 2) EXPECT_TRUE(awaited.End(messages[static_cast<size_t>(i)].get()));
  awaited.EndLate(kStart + absl::Seconds(50));
  awaited.EndLate(kStart + absl::Seconds(50));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(messages[static_cast<size_t>(i)]->late, i % 2 == 1 && i < 50 ? 1 : 0) << i;
  }
  EXPECT_FALSE(awaited.End(messages[1].get()));
  EXPECT_TRUE(awaited.End(messages[99].get()));
}

TEST(AwaitedMessagesTest, EachEndsOnceAmongManyThreads) {
  AwaitedMessages awaited;
  std::atomic<bool> stop{false};
  std::thread ends([&] {
    while (!stop) awaited.EndLate(kStart + absl::Seconds(1));
  });
  std::vector<std::thread> calls;
  for (int thread = 0; thread < 4; ++thread) {
    calls.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        Message message;
        awaited.Begin(&message, kStart + absl::Seconds(i % 3));
        const bool in_time = awaited.End(&message);
        EXPECT_EQ(message.late, in_time ? 0 : 1);
        EXPECT_TRUE(in_time || i % 3 == 0);
      }
    });
  }
  for (std::thread& call : calls) call.join();
  stop = true;
  ends.join();
}

}  // namespace
}  // namespace baseband::server
