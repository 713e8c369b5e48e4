#include "server/limits/read_queue.h"

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/limits/retry_after.h"
#include "server/metrics/unserved.h"
#include "tests/unit/server/limits/read_queue_fixture.h"

namespace baseband::server {
namespace {

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

TEST_F(ReadQueueTest, HoweverLongTheWorkAfterwardsTakesASilentClientIsOverdueAsSoon) {
  for (int i = 0; i < 3; ++i) {
    AnnouncedMessage* const worked_on = Enter(Make(absl::InfiniteDuration(), "silent"));
    ASSERT_EQ(NextToRead(), worked_on);
    now_ += absl::Milliseconds(1);
    queue_.Leave(worked_on, ReadQueue::End::kCame, now_);
    queue_.Answered(*worked_on, 8.0, 0.0, /*in_time=*/true);
  }
  for (int i = 0; i < kLanes; ++i) Enter(Make(absl::InfiniteDuration(), "silent"));
  while (NextToRead() != nullptr) {
  }
  now_ += absl::Milliseconds(4 * (kLanes + 1) + 5);
  AnnouncedMessage* const other = Enter(Make(absl::InfiniteDuration(), "other"));
  EXPECT_EQ(NextToRead(), other);
}

TEST_F(ReadQueueTest, WhatASilentClientAnnouncesRefusesNoOther) {
  for (int i = 0; i < kMostWaiting / 2; ++i) {
    AnnouncedMessage* const silent = Make(absl::Seconds(100), "silent", Priority::kHigh);
    silent->bytes = 64 * kMb;
    (void)queue_.Enter(silent, now_);
  }
  for (int i = 0; i < 20; ++i) {
    AnnouncedMessage* const honest = Enter(Make(absl::Milliseconds(40), "honest"));
    AnnouncedMessage* next = nullptr;
    do {
      next = NextToRead();
      ASSERT_NE(next, nullptr);
    } while (next != honest);
    now_ += absl::Milliseconds(1);
    queue_.Leave(honest, ReadQueue::End::kCame, now_);
  }
}

// Again and again, before they are overdue.
TEST_F(ReadQueueTest, WhoIsGivenUpInPlaceOfBeingReadGoesBehindOthersForAWhile) {
  for (const ReadQueue::End end :
       {ReadQueue::End::kGivenUp, ReadQueue::End::kLate, ReadQueue::End::kCameOtherwise}) {
    AnnouncedMessage* const silent =
        Enter(Make(absl::InfiniteDuration(), "silent", Priority::kHigh));
    ASSERT_EQ(NextToRead(), silent);
    now_ += absl::Milliseconds(3);
    queue_.Leave(silent, end, now_);
  }
  const auto enter = [&] {
    Enter(Make(absl::InfiniteDuration(), "silent", Priority::kHigh));
    Enter(Make(absl::InfiniteDuration(), "silent", Priority::kHigh));
    return Enter(Make(absl::InfiniteDuration(), "honest"));
  };
  const auto leave_all = [&](const std::vector<AnnouncedMessage*>& messages) {
    for (AnnouncedMessage* message : messages) {
      queue_.Leave(message, ReadQueue::End::kCame, now_);
    }
  };
  AnnouncedMessage* const before = enter();
  EXPECT_EQ(NextToRead(), before);
  AnnouncedMessage* const one = NextToRead();
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(NextToRead(), nullptr) << "one at a time";
  leave_all({before, one});
  AnnouncedMessage* const another = NextToRead();
  leave_all({another});
  now_ += 2 * ReadQueue::kSlow;
  AnnouncedMessage* const after = enter();
  EXPECT_EQ(NextToRead()->client, "silent");
  EXPECT_EQ(NextToRead()->client, "silent");
  EXPECT_EQ(NextToRead(), after);
}

TEST_F(ReadQueueTest, OneThatStallsOfManyIsNoSign) {
  for (int i = 0; i < 200; ++i) {
    AnnouncedMessage* const first = Enter(Make(absl::InfiniteDuration()));
    AnnouncedMessage* const second = Enter(Make(absl::InfiniteDuration()));
    ASSERT_EQ(NextToRead(), first);
    ASSERT_EQ(NextToRead(), second) << i;
    now_ += absl::Milliseconds(i % 20 == 0 ? 4 : 2);
    queue_.Leave(first, i % 20 == 0 ? ReadQueue::End::kGivenUp : ReadQueue::End::kCame, now_);
    queue_.Leave(second, ReadQueue::End::kCame, now_);
  }
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

}  // namespace
}  // namespace baseband::server
