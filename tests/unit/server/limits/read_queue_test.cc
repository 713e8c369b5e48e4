#include "server/limits/read_queue.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/limits/retry_after.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
namespace {

constexpr int64_t kMb = 1000 * 1000;
constexpr int kLanes = ReadQueue::kLeastReading;
constexpr int64_t kMostWaiting = 64;

// A megabyte takes a millisecond, and as many as are read share that rate.
class ReadQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 2 * ReadQueue::kLeastSeen; ++i) ReadOne("teacher");
  }

  AnnouncedMessage* Make(absl::Duration deadline, const std::string& client = "a",
                         Priority priority = Priority::kNormal) {
    AnnouncedMessage& message = messages_.emplace_back();
    message.bytes = kMb;
    message.client = client;
    message.priority = priority;
    message.deadline = now_ + deadline;
    return &message;
  }
  AnnouncedMessage* Enter(AnnouncedMessage* message) {
    EXPECT_TRUE(queue_.Enter(message, now_).ok());
    return message;
  }
  AnnouncedMessage* NextToRead() {
    const ReadQueue::Turn turn = queue_.Next(now_);
    EXPECT_TRUE(turn.status.ok()) << turn.status;
    return turn.message;
  }
  void ReadOne(const std::string& client) {
    AnnouncedMessage* const message = Enter(Make(absl::Seconds(1), client));
    ASSERT_EQ(NextToRead(), message);
    now_ += absl::Milliseconds(1);
    queue_.Leave(message, ReadQueue::End::kCame, now_);
  }
  // All lanes, of several clients, whose messages go behind all that have deadlines: each begins
  // as it goes before those that are read.
  std::vector<AnnouncedMessage*> FillLanes() {
    for (int i = 0; i < kLanes; ++i) ReadOne("filler " + std::to_string(i));
    std::vector<AnnouncedMessage*> reading;
    for (int i = 0; i < kLanes; ++i) {
      const absl::Duration deadline = i == 0 ? absl::InfiniteDuration() : absl::Hours(24 - i);
      reading.push_back(Enter(Make(deadline, "filler " + std::to_string(i))));
      EXPECT_EQ(NextToRead(), reading.back());
    }
    return reading;
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  std::deque<AnnouncedMessage> messages_;
  ReadQueue queue_{kMostWaiting};
};

TEST_F(ReadQueueTest, ClassesGoBeforeEachOtherAndInAClassTheEarliestDeadline) {
  const std::vector<AnnouncedMessage*> reading = FillLanes();
  AnnouncedMessage* const low = Enter(Make(absl::Seconds(1), "a", Priority::kLow));
  AnnouncedMessage* const never = Enter(Make(absl::InfiniteDuration()));
  AnnouncedMessage* const late = Enter(Make(absl::Seconds(3)));
  AnnouncedMessage* const early = Enter(Make(absl::Seconds(2)));
  AnnouncedMessage* const high = Enter(Make(absl::InfiniteDuration(), "a", Priority::kHigh));
  EXPECT_EQ(NextToRead(), nullptr);  // as many are read as may be
  for (AnnouncedMessage* message : reading) queue_.Leave(message, ReadQueue::End::kCame, now_);
  for (AnnouncedMessage* expected : {high, early, late, never, low}) {
    AnnouncedMessage* const next = NextToRead();
    EXPECT_EQ(next, expected);
    now_ += absl::Milliseconds(1);
    queue_.Leave(next, ReadQueue::End::kCame, now_);
  }
}

// A megabyte takes a millisecond; a tenth of the deadline is left for the network.
TEST_F(ReadQueueTest, WhoCannotBeReadInTimeIsRefusedAndToldWhy) {
  Enter(Make(absl::Seconds(1)));
  ASSERT_NE(NextToRead(), nullptr);
  const absl::Status backlog = queue_.Enter(Make(absl::Milliseconds(2)), now_);
  EXPECT_TRUE(absl::IsResourceExhausted(backlog)) << backlog;
  EXPECT_EQ(ReasonOf(backlog), UnservedReason::kBacklog);
  EXPECT_GE(RetryAfter(backlog, absl::ZeroDuration()), ReadQueue::kAhead);
  const absl::Status too_early = queue_.Enter(Make(absl::Milliseconds(1)), now_);
  EXPECT_TRUE(absl::IsDeadlineExceeded(too_early)) << too_early;
  EXPECT_EQ(ReasonOf(too_early), UnservedReason::kDeadlineUnreachable);
  const absl::Status passed = queue_.Enter(Make(absl::ZeroDuration()), now_);
  EXPECT_EQ(ReasonOf(passed), UnservedReason::kDeadlinePassed);
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(4)), now_).ok());
}

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
  queue_.Answered(*message, 5e-3, /*in_time=*/true);
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
    queue_.Answered(*message, 0.0, /*in_time=*/false);
  }
  EXPECT_FALSE(is_let_in());
  for (int i = 0; i < 200; ++i) {
    AnnouncedMessage* const message = Enter(Make(absl::Seconds(1)));
    ASSERT_EQ(NextToRead(), message);
    now_ += absl::Milliseconds(1);
    queue_.Leave(message, ReadQueue::End::kCame, now_);
    queue_.Answered(*message, 1e-6, /*in_time=*/true);
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
      queue_.Answered(*message, in_time ? seconds : 4e-3, in_time);
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

TEST_F(ReadQueueTest, WhoseDeadlinePassesWhileItWaitsIsRefusedWhateverIsBeforeIt) {
  FillLanes();
  Enter(Make(absl::InfiniteDuration(), "a", Priority::kHigh));
  AnnouncedMessage* const late = Enter(Make(absl::Milliseconds(20)));
  now_ += absl::Milliseconds(20);
  const ReadQueue::Turn turn = queue_.Next(now_);
  EXPECT_EQ(turn.message, late);
  EXPECT_EQ(ReasonOf(turn.status), UnservedReason::kDeadlinePassed);
  EXPECT_EQ(queue_.waiting(), 1);
}

TEST_F(ReadQueueTest, WhoDoesNotSendIsWaitedForNoLonger) {
  const std::vector<AnnouncedMessage*> silent = FillLanes();
  AnnouncedMessage* const waits = Enter(Make(absl::InfiniteDuration()));
  EXPECT_EQ(NextToRead(), nullptr);
  now_ += absl::Milliseconds(4 * (kLanes + 1) + 5);
  EXPECT_EQ(NextToRead(), waits);
  EXPECT_EQ(queue_.reading(), 1);
  for (AnnouncedMessage* message : silent) {  // whenever
    queue_.Leave(message, ReadQueue::End::kGivenUp, now_);
  }
  queue_.Leave(waits, ReadQueue::End::kCame, now_);
  EXPECT_EQ(queue_.reading(), 0);
}

TEST_F(ReadQueueTest, WhoNeverSendsNeitherSlowsNorStopsOthers) {
  const double before = queue_.rate();
  for (int i = 0; i < 300; ++i) {
    AnnouncedMessage* const silent = Make(absl::Seconds(100), "silent", Priority::kHigh);
    (void)queue_.Enter(silent, now_);
    AnnouncedMessage* const honest = Enter(Make(absl::Seconds(1), "honest"));
    int beside = 0;
    for (AnnouncedMessage* next = NextToRead(); next != honest; next = NextToRead()) {
      ASSERT_NE(next, nullptr);
      ASSERT_LE(++beside, i == 0 ? kLanes : 1) << "one at a time once it is known";
    }
    now_ += absl::Milliseconds(1);
    queue_.Leave(honest, ReadQueue::End::kCame, now_);
    now_ += absl::Milliseconds(30);
  }
  EXPECT_GT(queue_.rate(), 0.8 * before);
}

// However many of such a client's go before it.
TEST(ManyReadQueueTest, WhoMayNotBeginHidesNobodyBehindHim) {
  ReadQueue queue(4096);
  std::deque<AnnouncedMessage> messages;
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  const auto enter = [&](const std::string& client, Priority priority) {
    AnnouncedMessage& message = messages.emplace_back();
    message.bytes = kMb;
    message.client = client;
    message.priority = priority;
    EXPECT_TRUE(queue.Enter(&message, now).ok());
    return &message;
  };
  for (int i = 0; i < 2000; ++i) enter("silent", Priority::kHigh);
  while (queue.Next(now).message != nullptr) {
  }
  now += absl::Seconds(1);  // they are overdue
  AnnouncedMessage* const other = enter("other", Priority::kLow);
  bool has_begun = false;
  for (AnnouncedMessage* next = queue.Next(now).message; next != nullptr;
       next = queue.Next(now).message) {
    has_begun = has_begun || next == other;
  }
  EXPECT_TRUE(has_begun);
  EXPECT_EQ(queue.overdue(), kLanes);
}

TEST_F(ReadQueueTest, WhoTakesMoreTimeIsNoneOfThoseThatWereLate) {
  const auto late = [&](absl::Duration timeout) {
    AnnouncedMessage* const message = Make(timeout);
    if (!queue_.Enter(message, now_).ok() || NextToRead() != message) return false;
    now_ += absl::Milliseconds(1);
    queue_.Leave(message, ReadQueue::End::kCame, now_);
    queue_.Answered(*message, 0.0, /*in_time=*/false);
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

TEST_F(ReadQueueTest, ALargeMessageThatMayWaitKeepsNobodyOut) {
  AnnouncedMessage* const large = Make(absl::InfiniteDuration(), "a", Priority::kLow);
  large->bytes = 64 * kMb;
  Enter(large);
  ASSERT_EQ(NextToRead(), large);
  for (int i = 0; i < 10; ++i) {
    AnnouncedMessage* const small = Enter(Make(absl::Milliseconds(4)));
    EXPECT_EQ(NextToRead(), small);
    now_ += absl::Milliseconds(2);
    queue_.Leave(small, ReadQueue::End::kCame, now_);
  }
}

TEST_F(ReadQueueTest, WhoIsNotWantedAnyMoreIsNotRead) {
  const std::vector<AnnouncedMessage*> reading = FillLanes();
  AnnouncedMessage* const waits = Enter(Make(absl::Seconds(1)));
  EXPECT_TRUE(queue_.Abandon(waits));
  EXPECT_FALSE(queue_.Abandon(waits));
  EXPECT_FALSE(queue_.Abandon(reading[0]));
  EXPECT_EQ(queue_.waiting(), 0);
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(NextToRead(), nullptr);
}

TEST_F(ReadQueueTest, OnceItIsClosedAllThatWaitAreTold) {
  FillLanes();
  for (int i = 0; i < 3; ++i) Enter(Make(absl::InfiniteDuration()));
  queue_.Close(absl::UnavailableError("the end"));
  for (int i = 0; i < 3; ++i) {
    const ReadQueue::Turn turn = queue_.Next(now_);
    EXPECT_NE(turn.message, nullptr);
    EXPECT_EQ(turn.status, absl::UnavailableError("the end"));
  }
  EXPECT_EQ(queue_.Next(now_).message, nullptr);
  EXPECT_EQ(queue_.Enter(Make(absl::InfiniteDuration()), now_), absl::UnavailableError("the end"));
}

TEST_F(ReadQueueTest, WhileOthersWaitNobodyHasMoreThanHalfOfTheLanes) {
  for (int i = 0; i < kLanes / 2; ++i) {
    Enter(Make(absl::Seconds(1), "greedy"));
    ASSERT_NE(NextToRead(), nullptr);
  }
  AnnouncedMessage* const third = Enter(Make(absl::Seconds(1), "greedy"));
  AnnouncedMessage* const other = Enter(Make(absl::Seconds(2), "other"));
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(NextToRead(), other);
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(NextToRead(), third);  // nobody else waits
}

TEST_F(ReadQueueTest, WhoCameFirstHasATurnNowAndThenWhateverGoesBeforeIt) {
  AnnouncedMessage* reading = Enter(Make(absl::InfiniteDuration(), "a", Priority::kHigh));
  ASSERT_EQ(NextToRead(), reading);
  AnnouncedMessage* const low = Enter(Make(absl::InfiniteDuration(), "a", Priority::kLow));
  for (uint64_t turns = 0; reading != low; ++turns) {
    ASSERT_LE(turns, ReadQueue::kPatience);
    Enter(Make(absl::InfiniteDuration(), "a", Priority::kHigh));
    now_ += absl::Milliseconds(1);
    queue_.Leave(reading, ReadQueue::End::kCame, now_);
    reading = NextToRead();
    ASSERT_NE(reading, nullptr);
    // One at a time, for what is read is there at once.
    while (queue_.waiting() > 1) {
      AnnouncedMessage* const more = NextToRead();
      if (more == nullptr) break;
      queue_.Leave(std::exchange(reading, more), ReadQueue::End::kCame, now_);
    }
  }
}

TEST_F(ReadQueueTest, NoMoreWaitThanMay) {
  FillLanes();
  for (int64_t i = 0; i < kMostWaiting / 2; ++i) Enter(Make(absl::InfiniteDuration(), "b"));
  const absl::Status half = queue_.Enter(Make(absl::InfiniteDuration(), "b"), now_);
  EXPECT_EQ(ReasonOf(half), UnservedReason::kQueueRequests);
  EXPECT_EQ(half.message(),
            "the queue is full: of this client 32 of 32 requests are waiting to be read");
  for (int64_t i = 0; i < kMostWaiting / 2; ++i) Enter(Make(absl::InfiniteDuration()));
  const absl::Status full = queue_.Enter(Make(absl::InfiniteDuration()), now_);
  EXPECT_EQ(ReasonOf(full), UnservedReason::kQueueRequests);
  EXPECT_EQ(full.message(), "the queue is full: 64 of 64 requests are waiting to be read");
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
