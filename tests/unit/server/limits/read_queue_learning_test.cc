// What a ReadQueue learns of how fast messages come and are answered, and whom it refuses for it.
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/metrics/unserved.h"
#include "tests/unit/server/limits/read_queue_fixture.h"

namespace baseband::server {
namespace {

TEST_F(ReadQueueTest, NowAndThenOneIsLetInToSeeWhetherThereIsRoom) {
  Enter(Make(absl::Seconds(1)));
  ASSERT_NE(NextToRead(), nullptr);
  uint64_t refused = 0;
  while (!queue_.Enter(Make(absl::Milliseconds(1.5)), now_).ok()) {
    ASSERT_LT(++refused, ReadQueue::kPatience);
  }
  EXPECT_GT(refused, 0U);
}

TEST_F(ReadQueueTest, WhatFollowsTheReadingCountsToo) {
  AnnouncedMessage* const message = Make(absl::Seconds(1));
  message->method = 3;
  Enter(message);
  ASSERT_EQ(NextToRead(), message);
  now_ += absl::Milliseconds(1);
  queue_.Leave(message, ReadQueue::End::kCame, now_);
  queue_.Answered(*message, 5e-3, 0.0, /*in_time=*/true);
  Enter(Make(absl::Seconds(1)));
  ASSERT_NE(NextToRead(), nullptr);
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(6)), now_).ok());
  AnnouncedMessage* const same = Make(absl::Milliseconds(6));
  same->method = 3;
  EXPECT_EQ(ReasonOf(queue_.Enter(same, now_)), UnservedReason::kDeadlineUnreachable);
}

// Predictions that come true say nothing of what the network takes; answers that were late do.
TEST_F(ReadQueueTest, WhereAnswersAreLateLessIsLetIn) {
  const auto is_let_in = [&] {
    AnnouncedMessage* const other = Enter(Make(absl::Seconds(1)));
    EXPECT_EQ(NextToRead(), other);
    AnnouncedMessage* const message = Make(absl::Milliseconds(4));
    const bool result = queue_.Enter(message, now_).ok();
    if (result) {
      EXPECT_EQ(NextToRead(), message);
      queue_.Leave(message, ReadQueue::End::kGivenUp, now_);
    }
    queue_.Leave(other, ReadQueue::End::kGivenUp, now_);
    return result;
  };
  EXPECT_TRUE(is_let_in());
  for (int i = 0; i < 20; ++i) {
    AnnouncedMessage* const message = Enter(Make(absl::Seconds(1)));
    ASSERT_EQ(NextToRead(), message);
    now_ += absl::Milliseconds(1);
    queue_.Leave(message, ReadQueue::End::kCame, now_);
    queue_.Answered(*message, 0.0, 0.0, /*in_time=*/false);
  }
  EXPECT_FALSE(is_let_in());
  for (int i = 0; i < 200; ++i) {
    AnnouncedMessage* const message = Enter(Make(absl::Seconds(1)));
    ASSERT_EQ(NextToRead(), message);
    now_ += absl::Milliseconds(1);
    queue_.Leave(message, ReadQueue::End::kCame, now_);
    queue_.Answered(*message, 1e-6, 0.0, /*in_time=*/true);
  }
  EXPECT_TRUE(is_let_in());
}

// Whoever is never in time would be read for nothing whenever nobody else is.
TEST_F(ReadQueueTest, WhatIsAlwaysLateIsTriedNowAndThenUntilItIsInTime) {
  constexpr absl::Duration kDeadline = absl::Milliseconds(5);
  // Of so many, those that are let in; they are answered after `seconds`.
  const auto let_in = [&](int count, double seconds) {
    int in = 0;
    for (int i = 0; i < count; ++i) {
      AnnouncedMessage* const message = Make(kDeadline);
      now_ += kDeadline;
      message->deadline = now_ + kDeadline;
      if (!queue_.Enter(message, now_).ok()) continue;
      if (NextToRead() != message) continue;
      ++in;
      now_ += absl::Milliseconds(1);
      queue_.Leave(message, ReadQueue::End::kCame, now_);
      const bool in_time = seconds < 4e-3;
      queue_.Answered(*message, in_time ? seconds : 4e-3, 0.0, in_time);
    }
    return in;
  };
  EXPECT_EQ(let_in(100, 1e-3), 100);
  EXPECT_EQ(let_in(60, 20e-3), 60);  // some may be late
  EXPECT_EQ(let_in(1, 1e-3), 1);
  EXPECT_EQ(let_in(60, 20e-3), 60);
  let_in(100, 20e-3);
  EXPECT_EQ(let_in(10 * static_cast<int>(ReadQueue::kPatience), 20e-3), 10);
  let_in(4 * static_cast<int>(ReadQueue::kPatience), 1e-3);
  EXPECT_EQ(let_in(100, 1e-3), 100);
}

TEST_F(ReadQueueTest, WhatIsLateOfOneClientIsNoSignForAnother) {
  constexpr absl::Duration kDeadline = absl::Milliseconds(5);
  const auto is_let_in = [&](const std::string& client) {
    AnnouncedMessage* const message = Make(kDeadline, client);
    if (!queue_.Enter(message, now_).ok()) return false;
    EXPECT_EQ(NextToRead(), message);
    now_ += absl::Milliseconds(1);
    queue_.Leave(message, ReadQueue::End::kCame, now_);
    queue_.Answered(*message, client == "late" ? 1.0 : 1e-3, 0.0, client != "late");
    return true;
  };
  int late = 0;
  for (int i = 0; i < 500; ++i) {
    late += is_let_in("late") ? 1 : 0;
    EXPECT_TRUE(is_let_in("honest")) << i;
  }
  EXPECT_LT(late, 200);
}

TEST_F(ReadQueueTest, WhatComesOnceItIsOverdueTeachesNothingOfLateness) {
  constexpr absl::Duration kDeadline = absl::Milliseconds(20);
  for (int i = 0; i < 2 * LateRequests::kHopeless; ++i) {
    AnnouncedMessage* const slow = Enter(Make(kDeadline));
    ASSERT_EQ(NextToRead(), slow) << i;
    now_ += kDeadline;
    queue_.Leave(slow, ReadQueue::End::kCame, now_);
    queue_.Answered(*slow, 0.0, 0.0, /*in_time=*/false);
    now_ += ReadQueue::kSlow;
  }
  EXPECT_NEAR(queue_.rate(), 1e9, 2e8);
}

TEST_F(ReadQueueTest, NobodyIsRefusedWhoHasTheWayInForItself) {
  AnnouncedMessage* const message = Enter(Make(absl::Milliseconds(0.5)));
  EXPECT_EQ(NextToRead(), message);
}

TEST_F(ReadQueueTest, AsManyAreReadAsComeAsFastAsOne) {
  constexpr size_t kRoom = 16;  // so many take as long as one
  size_t most = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<AnnouncedMessage*> reading;
    for (size_t i = 0; i < kRoom; ++i) {
      if (queue_.waiting() < kMostWaiting / 2) Enter(Make(absl::InfiniteDuration()));
    }
    while (AnnouncedMessage* const next = NextToRead()) reading.push_back(next);
    most = reading.size();
    now_ += absl::Milliseconds(1);
    for (AnnouncedMessage* message : reading) {
      queue_.Leave(message, ReadQueue::End::kCame, now_);
    }
  }
  EXPECT_GE(most, 8U);  // all that wait
}

TEST_F(ReadQueueTest, WhereAllShareTheRateNoMoreAreReadThanFillIt) {
  for (int round = 0; round < 200; ++round) {
    while (queue_.waiting() < kMostWaiting / 2) Enter(Make(absl::InfiniteDuration()));
    std::vector<AnnouncedMessage*> reading;
    while (AnnouncedMessage* const next = NextToRead()) reading.push_back(next);
    EXPECT_EQ(reading.size(), static_cast<size_t>(kLanes));
    now_ += absl::Milliseconds(static_cast<int64_t>(reading.size()));
    for (AnnouncedMessage* message : reading) {
      queue_.Leave(message, ReadQueue::End::kCame, now_);
    }
  }
  EXPECT_NEAR(queue_.rate(), 1e9, 1e7);
}

TEST_F(ReadQueueTest, WhoTakesMoreTimeIsNoneOfThoseThatWereLate) {
  const auto late = [&](absl::Duration timeout) {
    AnnouncedMessage* const message = Make(timeout);
    if (!queue_.Enter(message, now_).ok() || NextToRead() != message) return false;
    now_ += absl::Milliseconds(1);
    queue_.Leave(message, ReadQueue::End::kCame, now_);
    queue_.Answered(*message, 0.0, 0.0, /*in_time=*/false);
    return true;
  };
  for (int i = 0; i < 100; ++i) late(absl::Milliseconds(5));
  EXPECT_TRUE(late(absl::Seconds(1)));
  for (int i = 0; i < 100; ++i) {
    late(absl::Milliseconds(5));
    EXPECT_TRUE(queue_.Abandon(Enter(Make(absl::Seconds(1)))));
  }
}

// Else nobody would ever be refused where all are slow.
TEST(FreshReadQueueTest, WhatComesLaterThanAnybodyExpectsTeachesTheRate) {
  ReadQueue queue(64);
  std::deque<AnnouncedMessage> messages;
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  for (int i = 0; i < ReadQueue::kLeastSeen; ++i) {
    AnnouncedMessage& message = messages.emplace_back();
    message.bytes = kMb;
    message.client = "slow";
    ASSERT_TRUE(queue.Enter(&message, now).ok());
    ASSERT_EQ(queue.Next(now).message, &message);
    now += absl::Milliseconds(500);
    queue.DropOverdue(now);
    EXPECT_EQ(queue.overdue(), 1);
    queue.Leave(&message, ReadQueue::End::kCame, now);
  }
  EXPECT_NEAR(queue.rate(), 2e6, 1e6);
}

// The way in of which nothing is known is given to those that have the time to teach something.
TEST(FreshReadQueueTest, WhoHasLostMuchOfItsTimeIsRefusedWhileNothingIsKnown) {
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  ReadQueue queue(kMostWaiting);
  std::deque<AnnouncedMessage> messages(kLanes + 1);
  for (AnnouncedMessage& message : messages) {
    message.bytes = kMb;
    message.client = &message == &messages.front() ? "a" : "b";
    message.deadline = now + absl::Milliseconds(4);
    ASSERT_TRUE(queue.Enter(&message, now).ok());
  }
  for (int i = 0; i < kLanes; ++i) EXPECT_TRUE(queue.Next(now).status.ok());
  EXPECT_EQ(queue.Next(now).message, nullptr);
  now += absl::Milliseconds(2);
  const ReadQueue::Turn turn = queue.Next(now);
  EXPECT_EQ(turn.message, &messages.back());
  EXPECT_EQ(ReasonOf(turn.status), UnservedReason::kBacklog);
  EXPECT_EQ(queue.rate(), 0.0);
}

}  // namespace
}  // namespace baseband::server
