#include "client/cpp/submit_queue.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

constexpr absl::Duration kNever = absl::InfiniteDuration();

class SubmitQueueTest : public ::testing::Test {
 protected:
  // A request of some 100 bytes.
  SubmitQueue::Place Add(absl::Duration timeout) {
    SubmitItem item;
    item.fields = kSubmitEncode;
    const std::string bytes(100, 'x');
    const grpc::Slice slice(bytes);
    item.request = grpc::ByteBuffer(&slice, 1);
    item.deadline = now_ + timeout;
    SubmitQueue::Request request = SubmitQueue::Number(++id_, std::move(item), Priority::kNormal);
    const SubmitQueue::Place place = request.place();
    queue_.Add(std::move(request));
    return place;
  }
  // As many as there are credits for take them. How many.
  int TakeCredits(bool is_alone = false) {
    int count = 0;
    while (const auto* const first = queue_.FirstWithoutCredits()) {
      if (!queue_.HasCredits(first->item, is_alone)) break;
      queue_.TakeCredits();
      ++count;
    }
    return count;
  }

  const absl::Time now_ = SteadyNow();
  SubmitQueue queue_;

 private:
  uint64_t id_ = 0;
};

TEST_F(SubmitQueueTest, CreditsAreOfRequestsAndOfBytes) {
  for (int i = 0; i < 5; ++i) Add(kNever);
  EXPECT_EQ(TakeCredits(), 0);
  queue_.AddCredits(10, 99);
  EXPECT_EQ(TakeCredits(), 0);
  queue_.AddCredits(0, 500);
  const int taken = TakeCredits();
  EXPECT_GE(taken, 2);
  EXPECT_LE(taken, 5);
  queue_.AddCredits(-10, 1 << 20);
  EXPECT_EQ(TakeCredits(), 0);
}

TEST_F(SubmitQueueTest, OneThatIsAloneNeedsNoBytes) {
  Add(kNever);
  Add(kNever);
  queue_.AddCredits(10, 0);
  EXPECT_EQ(TakeCredits(/*is_alone=*/true), 1);
  queue_.Withhold(now_ + absl::Seconds(1), nullptr);
  EXPECT_EQ(TakeCredits(/*is_alone=*/true), 0);
}

TEST_F(SubmitQueueTest, WhatIsWithheldIsPassedOverUntilItIsLetGo) {
  queue_.AddCredits(10, 1 << 20);
  const auto second = Add(absl::Seconds(20));
  const auto first = Add(absl::Seconds(10));
  ASSERT_EQ(TakeCredits(), 2);
  EXPECT_EQ(queue_.FirstLetGo(), absl::InfiniteFuture());
  queue_.Withhold(now_ + absl::Seconds(5), nullptr);
  ASSERT_NE(queue_.Next(), nullptr);
  EXPECT_EQ(queue_.Next()->place(), second);
  queue_.Withhold(now_ + absl::Seconds(3), nullptr);
  EXPECT_EQ(queue_.Next(), nullptr);
  EXPECT_TRUE(queue_.has_waiting());
  EXPECT_EQ(queue_.FirstLetGo(), now_ + absl::Seconds(3));
  queue_.LetGoUntil(now_ + absl::Seconds(4));
  ASSERT_NE(queue_.Next(), nullptr);
  EXPECT_EQ(queue_.Next()->place(), second);
  EXPECT_FALSE(queue_.LetGo(second));
  EXPECT_TRUE(queue_.LetGo(first));
  EXPECT_EQ(queue_.Next()->place(), first);
  EXPECT_EQ(queue_.FirstLetGo(), absl::InfiniteFuture());
}

TEST_F(SubmitQueueTest, WhatIsWithdrawnGivesItsCreditsBackWhereverItIs) {
  queue_.AddCredits(2, 1 << 20);
  const auto withheld = Add(absl::Seconds(10));
  const auto ready = Add(absl::Seconds(20));
  const auto without = Add(absl::Seconds(30));
  ASSERT_EQ(TakeCredits(), 2);
  queue_.Withhold(now_ + absl::Seconds(1), nullptr);
  EXPECT_EQ(queue_.Withdraw(without)->charged, 0);
  const auto next = Add(absl::Seconds(30));
  EXPECT_EQ(TakeCredits(), 0);
  EXPECT_GT(queue_.Withdraw(withheld)->charged, 0);
  EXPECT_EQ(TakeCredits(), 1);
  EXPECT_GT(queue_.Withdraw(ready)->charged, 0);
  EXPECT_FALSE(queue_.Withdraw(ready).has_value());
  ASSERT_EQ(queue_.size(), 1u);
  EXPECT_EQ(queue_.WithdrawAll().front().place(), next);
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(SubmitQueueTest, AWaiterLivesAsLongAsItsRequestIsWithheld) {
  struct Waiter final : ClientThrottle::Waiter {
    bool OnRoom() override { return false; }
  };
  auto waiter = std::make_shared<Waiter>();
  const std::weak_ptr<Waiter> watch = waiter;
  queue_.AddCredits(1, 1 << 20);
  const auto place = Add(absl::Seconds(10));
  ASSERT_EQ(TakeCredits(), 1);
  queue_.Withhold(now_ + absl::Seconds(1), std::move(waiter));
  EXPECT_FALSE(watch.expired());
  queue_.Withdraw(place);
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace baseband::client
