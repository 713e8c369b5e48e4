#include "server/limits/awaited_messages.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/constants.h"

namespace baseband::server {
namespace {

class Message final : public AwaitedMessages::Awaited {
 public:
  std::atomic<int> late{0};
  std::atomic<int> overdue{0};

 private:
  void OnLate() override { ++late; }
  void OnOverdue() override { ++overdue; }
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

TEST(AwaitedMessagesTest, WhoIsExpectedAndDoesNotComeIsToldOnceAndNobodyElse) {
  AwaitedMessages awaited;
  std::vector<std::unique_ptr<Message>> messages;
  for (size_t i = 0; i < 100; ++i) {
    messages.push_back(std::make_unique<Message>());
    awaited.Begin(messages[i].get(), kStart);
    if (i % 3 != 0)
      awaited.Expect(messages[i].get(), kStart + absl::Seconds(static_cast<int>(100 - i)));
  }
  for (size_t i = 0; i < 100; i += 2) EXPECT_TRUE(awaited.End(messages[i].get()));
  awaited.EndOverdue(kStart + absl::Seconds(50));
  awaited.EndOverdue(kStart + absl::Seconds(50));
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(messages[i]->overdue, i % 2 == 1 && i % 3 != 0 && i > 50 ? 1 : 0) << i;
    EXPECT_EQ(messages[i]->late, 0);
  }
  EXPECT_FALSE(awaited.End(messages[53].get()));
  EXPECT_TRUE(awaited.End(messages[51].get()));  // not expected yet
}

TEST(AwaitedMessagesTest, EachEndsOnceAmongManyThreads) {
  AwaitedMessages awaited;
  std::atomic<bool> stop{false};
  std::thread ends([&] {
    while (!stop) {
      awaited.EndLate(kStart + absl::Seconds(1));
      awaited.EndOverdue(kStart + absl::Seconds(1));
    }
  });
  std::vector<std::thread> calls;
  for (int thread = 0; thread < 4; ++thread) {
    calls.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        Message message;
        awaited.Begin(&message, kStart + absl::Seconds(i % 3));
        if (i % 3 == 1) awaited.Expect(&message, kStart);
        const bool in_time = awaited.End(&message);
        EXPECT_EQ(message.late + message.overdue, in_time ? 0 : 1);
        EXPECT_TRUE(in_time || (message.late == 1 ? i % 3 == 0 : i % 3 == 1));
      }
    });
  }
  for (std::thread& call : calls) call.join();
  stop = true;
  ends.join();
}

}  // namespace
}  // namespace baseband::server
