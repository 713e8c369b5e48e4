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
constexpr int kLanes = 4;
constexpr int64_t kMostWaiting = 16;

// A megabyte takes a millisecond, and as many as are read share that rate.
class ReadQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 2 * LinkLaw::kLeastSeen; ++i) ReadOne("teacher");
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
  ReadQueue queue_{kLanes, kMostWaiting};
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

TEST_F(ReadQueueTest, WhoCannotBeReadInTimeIsRefusedAndToldWhy) {
  Enter(Make(absl::Seconds(1), "teacher"));
  ASSERT_NE(NextToRead(), nullptr);
  const absl::Status backlog = queue_.Enter(Make(absl::Milliseconds(1.5)), now_);
  EXPECT_TRUE(absl::IsResourceExhausted(backlog));
  EXPECT_EQ(ReasonOf(backlog), UnservedReason::kBacklog);
  // Two megabytes, a quarter for caution: a millisecond too late.
  EXPECT_NEAR(absl::ToDoubleMilliseconds(RetryAfter(backlog, absl::ZeroDuration())), 1.0, 0.1);
  const absl::Status too_early = queue_.Enter(Make(absl::Milliseconds(0.5), "teacher"), now_);
  EXPECT_TRUE(absl::IsDeadlineExceeded(too_early));
  EXPECT_EQ(ReasonOf(too_early), UnservedReason::kDeadlineUnreachable);
  const absl::Status passed = queue_.Enter(Make(absl::ZeroDuration()), now_);
  EXPECT_EQ(ReasonOf(passed), UnservedReason::kDeadlinePassed);
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(10)), now_).ok());
}

TEST_F(ReadQueueTest, WhatFollowsTheReadingCountsToo) {
  for (int i = 0; i < LinkLaw::kLeastSeen; ++i) queue_.Served(3, kMb, 5e-3, now_);
  Enter(Make(absl::Seconds(1)));
  ASSERT_NE(NextToRead(), nullptr);
  AnnouncedMessage* const other_method = Make(absl::Milliseconds(5));
  EXPECT_TRUE(queue_.Enter(other_method, now_).ok());
  AnnouncedMessage* const message = Make(absl::Milliseconds(5), "teacher");
  message->method = 3;
  EXPECT_EQ(ReasonOf(queue_.Enter(message, now_)), UnservedReason::kDeadlineUnreachable);
}

// What is learned of a slow link is its client's alone, and of a fast one as well.
TEST_F(ReadQueueTest, EveryClientIsExpectedToTakeWhatItTook) {
  for (int i = 0; i < 2 * LinkLaw::kLeastSeen; ++i) {
    AnnouncedMessage* const message = Enter(Make(absl::Seconds(1), "far"));
    ASSERT_EQ(NextToRead(), message);
    now_ += absl::Milliseconds(20);
    queue_.Leave(message, ReadQueue::End::kCame, now_);
    ReadOne("teacher");
  }
  Enter(Make(absl::Seconds(1), "teacher"));
  ASSERT_NE(NextToRead(), nullptr);
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(3), "teacher"), now_).ok());
  EXPECT_EQ(ReasonOf(queue_.Enter(Make(absl::Milliseconds(15), "far"), now_)),
            UnservedReason::kDeadlineUnreachable);
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(30), "far"), now_).ok());
}

// It may have a faster link than all that came before.
TEST_F(ReadQueueTest, WhoHasNotBeenTriedIsNotRefusedForGood) {
  Enter(Make(absl::Seconds(1), "teacher"));
  ASSERT_NE(NextToRead(), nullptr);
  const absl::Status status = queue_.Enter(Make(absl::Milliseconds(0.5), "new"), now_);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_GT(RetryAfter(status, absl::ZeroDuration()), absl::ZeroDuration());
}

TEST_F(ReadQueueTest, NobodyIsRefusedWhoHasTheWayInForItself) {
  AnnouncedMessage* const message = Enter(Make(absl::Milliseconds(0.5)));
  EXPECT_EQ(NextToRead(), message);
}

TEST_F(ReadQueueTest, NobodyIsRefusedByWhatIsOld) {
  now_ += LinkLaw::kFresh + absl::Milliseconds(1);
  Enter(Make(absl::Seconds(1)));
  ASSERT_NE(NextToRead(), nullptr);
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(1.5)), now_).ok());
}

TEST_F(ReadQueueTest, WhereAllShareTheRateOneIsReadAfterTheOther) {
  std::vector<AnnouncedMessage*> messages;
  for (int i = 0; i < 3; ++i) messages.push_back(Enter(Make(absl::Seconds(1 + i), "teacher")));
  EXPECT_EQ(NextToRead(), messages[0]);
  EXPECT_EQ(NextToRead(), messages[1]);  // a millisecond before the end of the first one
  EXPECT_EQ(NextToRead(), nullptr);
  now_ += absl::Milliseconds(1);  // half of both has come
  EXPECT_EQ(NextToRead(), messages[2]);
}

TEST_F(ReadQueueTest, NobodyWaitsForWhoHasNotSentBefore) {
  Enter(Make(absl::Seconds(1), "liar"));
  ASSERT_NE(NextToRead(), nullptr);
  Enter(Make(absl::Seconds(1), "liar"));
  ASSERT_NE(NextToRead(), nullptr);
  AnnouncedMessage* const third = Enter(Make(absl::Seconds(1)));
  EXPECT_EQ(NextToRead(), third);
}

TEST_F(ReadQueueTest, WhereMoreComeAsFastAsOneAllLanesAreUsed) {
  for (int round = 0; round < 50; ++round) {
    std::vector<AnnouncedMessage*> reading;
    for (int i = 0; i < kLanes; ++i) {
      Enter(Make(absl::InfiniteDuration(), "client " + std::to_string(i)));
    }
    while (AnnouncedMessage* const next = NextToRead()) reading.push_back(next);
    const size_t begun = reading.size();
    now_ += absl::Milliseconds(1);
    for (AnnouncedMessage* message : reading) queue_.Leave(message, ReadQueue::End::kCame, now_);
    for (size_t i = begun; i < kLanes; ++i) {
      AnnouncedMessage* const left = NextToRead();
      now_ += absl::Milliseconds(1);
      queue_.Leave(left, ReadQueue::End::kCame, now_);
    }
    if (round == 49) {
      EXPECT_EQ(begun, static_cast<size_t>(kLanes));
    }
  }
}

TEST_F(ReadQueueTest, NobodyBeginsWhoWouldMakeLateWhatIsReadAlready) {
  AnnouncedMessage* const first = Enter(Make(absl::Milliseconds(1.5), "teacher"));
  ASSERT_EQ(NextToRead(), first);
  AnnouncedMessage* const second = Enter(Make(absl::Seconds(1)));
  EXPECT_EQ(NextToRead(), nullptr);
  now_ += absl::Milliseconds(1);
  queue_.Leave(first, ReadQueue::End::kCame, now_);
  EXPECT_EQ(NextToRead(), second);
}

TEST_F(ReadQueueTest, WhoseDeadlinePassesWhileItWaitsIsRefusedWhateverIsBeforeIt) {
  FillLanes();
  Enter(Make(absl::InfiniteDuration(), "a", Priority::kHigh));
  AnnouncedMessage* const late = Enter(Make(absl::Milliseconds(8)));
  now_ += absl::Milliseconds(8);
  const ReadQueue::Turn turn = queue_.Next(now_);
  EXPECT_EQ(turn.message, late);
  EXPECT_EQ(ReasonOf(turn.status), UnservedReason::kDeadlinePassed);
  EXPECT_EQ(queue_.waiting(), 1);
}

TEST_F(ReadQueueTest, WhoAnnouncesAndDoesNotSendLosesItsLane) {
  const std::vector<AnnouncedMessage*> silent = FillLanes();
  AnnouncedMessage* const waits = Enter(Make(absl::InfiniteDuration()));
  EXPECT_EQ(NextToRead(), nullptr);
  now_ += absl::Milliseconds(2 * kLanes) + ReadQueue::kAhead;
  EXPECT_EQ(NextToRead(), waits);
  EXPECT_EQ(queue_.reading(), 1);
  for (AnnouncedMessage* message : silent) {  // whenever
    queue_.Leave(message, ReadQueue::End::kDidNotCome, now_);
  }
  queue_.Leave(waits, ReadQueue::End::kCame, now_);
  EXPECT_EQ(queue_.reading(), 0);
}

TEST_F(ReadQueueTest, WhoNeverSendsDoesNotMakeTheWayInSeemSlow) {
  for (int i = 0; i < 200; ++i) {
    if (AnnouncedMessage* const silent = Make(absl::Seconds(100), "silent");
        queue_.Enter(silent, now_).ok() && i < 2) {
      ASSERT_EQ(NextToRead(), silent);
    }
    AnnouncedMessage* const honest = Enter(Make(absl::Seconds(100), "honest"));
    while (NextToRead() != honest) ASSERT_EQ(queue_.reading(), 1) << "beside, one at a time";
    now_ += absl::Milliseconds(1);
    queue_.Leave(honest, ReadQueue::End::kCame, now_);
    now_ += absl::Milliseconds(10);
  }
  EXPECT_LE(queue_.waiting(), 8);
  Enter(Make(absl::Seconds(1)));
  ASSERT_NE(NextToRead(), nullptr);
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(3)), now_).ok());
}

TEST_F(ReadQueueTest, WhoNeverSendsHoldsUpNobodyElse) {
  for (int i = 0; i < 2; ++i) {  // both are overdue, in vain
    Enter(Make(absl::Seconds(100), "silent", Priority::kHigh));
    ASSERT_NE(NextToRead(), nullptr);
  }
  now_ += absl::Milliseconds(20);
  EXPECT_EQ(NextToRead(), nullptr);
  for (int i = 0; i < 100; ++i) {
    // With a deadline that any company would make late, and before all others.
    (void)queue_.Enter(Make(absl::Milliseconds(1.2), "silent", Priority::kHigh), now_);
    AnnouncedMessage* const honest = Enter(Make(absl::Milliseconds(1.5), "teacher"));
    AnnouncedMessage* next = NextToRead();
    if (next != nullptr && next != honest) next = NextToRead();
    EXPECT_EQ(next, honest);
    now_ += absl::Milliseconds(1);
    queue_.Leave(honest, ReadQueue::End::kCame, now_);
    now_ += absl::Milliseconds(5);
    while (queue_.Next(now_).message != nullptr) {
    }
  }
}

TEST_F(ReadQueueTest, ABurstThatNeverComesKeepsNobodyOutForLong) {
  for (int i = 0; i < 8; ++i) {
    AnnouncedMessage* const message = Make(absl::InfiniteDuration(), "silent", Priority::kHigh);
    message->bytes = 64 * kMb;
    Enter(message);
    (void)NextToRead();
  }
  EXPECT_FALSE(queue_.Enter(Make(absl::Milliseconds(50), "teacher"), now_).ok());
  now_ += absl::Milliseconds(300);  // twice what two of them take
  while (queue_.Next(now_).message != nullptr) {
  }
  AnnouncedMessage* const honest = Enter(Make(absl::Milliseconds(3), "teacher"));
  EXPECT_EQ(NextToRead(), honest);
}

TEST_F(ReadQueueTest, ALargeMessageThatMayWaitKeepsNobodyOut) {
  AnnouncedMessage* const large = Make(absl::InfiniteDuration(), "teacher", Priority::kLow);
  large->bytes = 64 * kMb;
  Enter(large);
  ASSERT_EQ(NextToRead(), large);
  for (int i = 0; i < 10; ++i) {
    AnnouncedMessage* const small = Enter(Make(absl::Milliseconds(4), "teacher"));
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
  EXPECT_EQ(ReasonOf(half), UnservedReason::kClientRequests);
  EXPECT_EQ(half.message(), "8 requests of this client are waiting to be read, of 8");
  for (int64_t i = 0; i < kMostWaiting / 2; ++i) Enter(Make(absl::InfiniteDuration()));
  const absl::Status full = queue_.Enter(Make(absl::InfiniteDuration()), now_);
  EXPECT_EQ(ReasonOf(full), UnservedReason::kQueueRequests);
  EXPECT_EQ(full.message(), "16 of 16 requests are waiting to be read");
}

TEST(FreshReadQueueTest, OneAfterTheOtherIsReadUntilItIsKnownHowLongThatTakes) {
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  ReadQueue queue(kLanes, kMostWaiting);
  std::deque<AnnouncedMessage> messages(2);
  for (AnnouncedMessage& message : messages) {
    message.bytes = kMb;
    message.deadline = now + absl::Milliseconds(4);
    ASSERT_TRUE(queue.Enter(&message, now).ok());
  }
  EXPECT_EQ(queue.Next(now).message, &messages[0]);
  EXPECT_EQ(queue.Next(now).message, nullptr);
  now += absl::Milliseconds(2);
  queue.Leave(&messages[0], ReadQueue::End::kDidNotCome, now);
  messages[0].deadline = now + absl::Milliseconds(4);
  ASSERT_TRUE(queue.Enter(&messages[0], now).ok());
  // Half of its time is over, which is no way to learn anything: but it has the way for itself.
  EXPECT_EQ(queue.Next(now).message, &messages[1]);
}

}  // namespace
}  // namespace baseband::server
