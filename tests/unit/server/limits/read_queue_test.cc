#include "server/limits/read_queue.h"

#include <cmath>
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
constexpr int64_t kMostWaiting = 8;

// A megabyte takes a millisecond, and as many as are read share that rate.
class ReadQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 2 * ReadLaw::kLeastSeen; ++i) ReadOne("teacher");
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
    queue_.Leave(message, true, now_);
  }
  // Of several clients, without deadlines.
  std::vector<AnnouncedMessage*> FillLanes() {
    std::vector<AnnouncedMessage*> reading;
    for (int i = 0; i < kLanes; ++i) {
      reading.push_back(Enter(Make(absl::InfiniteDuration(), "filler " + std::to_string(i))));
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
  for (AnnouncedMessage* message : reading) queue_.Leave(message, true, now_);
  for (AnnouncedMessage* expected : {high, early, late, never, low}) {
    AnnouncedMessage* const next = NextToRead();
    EXPECT_EQ(next, expected);
    now_ += absl::Milliseconds(1);
    queue_.Leave(next, true, now_);
  }
}

TEST_F(ReadQueueTest, WhoCannotBeReadInTimeIsRefusedAndToldWhy) {
  Enter(Make(absl::Seconds(1)));
  ASSERT_NE(NextToRead(), nullptr);
  const absl::Status backlog = queue_.Enter(Make(absl::Milliseconds(1.5)), now_);
  EXPECT_TRUE(absl::IsResourceExhausted(backlog));
  EXPECT_EQ(ReasonOf(backlog), UnservedReason::kBacklog);
  // Two megabytes, a quarter for caution: a millisecond too late.
  EXPECT_NEAR(absl::ToDoubleMilliseconds(RetryAfter(backlog, absl::ZeroDuration())), 1.0, 0.1);
  const absl::Status too_early = queue_.Enter(Make(absl::Milliseconds(0.5)), now_);
  EXPECT_TRUE(absl::IsDeadlineExceeded(too_early));
  EXPECT_EQ(ReasonOf(too_early), UnservedReason::kDeadlineUnreachable);
  const absl::Status passed = queue_.Enter(Make(absl::ZeroDuration()), now_);
  EXPECT_EQ(ReasonOf(passed), UnservedReason::kDeadlinePassed);
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(10)), now_).ok());
}

TEST_F(ReadQueueTest, WhatFollowsTheReadingCountsToo) {
  for (int i = 0; i < ReadLaw::kLeastSeen; ++i) queue_.Served(3, kMb, 5e-3, now_);
  Enter(Make(absl::Seconds(1)));
  ASSERT_NE(NextToRead(), nullptr);
  AnnouncedMessage* const other_method = Make(absl::Milliseconds(5));
  EXPECT_TRUE(queue_.Enter(other_method, now_).ok());
  AnnouncedMessage* const message = Make(absl::Milliseconds(5));
  message->method = 3;
  EXPECT_EQ(ReasonOf(queue_.Enter(message, now_)), UnservedReason::kDeadlineUnreachable);
}

TEST_F(ReadQueueTest, NobodyIsRefusedWhoHasTheWayInForItself) {
  AnnouncedMessage* const message = Enter(Make(absl::Milliseconds(0.5)));
  EXPECT_EQ(NextToRead(), message);
}

TEST_F(ReadQueueTest, NobodyIsRefusedByWhatIsOld) {
  now_ += ReadLaw::kFresh + absl::Milliseconds(1);
  Enter(Make(absl::Seconds(1)));
  ASSERT_NE(NextToRead(), nullptr);
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(1.5)), now_).ok());
}

TEST_F(ReadQueueTest, NobodyBeginsWhoWouldMakeLateWhatIsReadAlready) {
  AnnouncedMessage* const first = Enter(Make(absl::Milliseconds(1.5)));
  ASSERT_EQ(NextToRead(), first);
  AnnouncedMessage* const second = Enter(Make(absl::Seconds(1)));
  EXPECT_EQ(NextToRead(), nullptr);
  now_ += absl::Milliseconds(1);
  queue_.Leave(first, true, now_);
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
  const absl::Time wake = queue_.NextWake();
  EXPECT_LE(wake, now_ + absl::Milliseconds(2 * kLanes) + ReadQueue::kAhead);
  now_ = wake;
  EXPECT_EQ(NextToRead(), waits);
  for (AnnouncedMessage* message : silent) queue_.Leave(message, false, now_);  // whenever
  queue_.Leave(waits, true, now_);
  EXPECT_EQ(queue_.reading(), 0);
  EXPECT_EQ(queue_.NextWake(), absl::InfiniteFuture());
}

TEST_F(ReadQueueTest, WhoNeverSendsDoesNotMakeTheWayInSeemSlow) {
  for (int i = 0; i < 200; ++i) {
    AnnouncedMessage* const silent = Enter(Make(absl::Seconds(100), "silent"));
    ASSERT_EQ(NextToRead(), silent);
    AnnouncedMessage* const honest = Enter(Make(absl::Seconds(100), "honest"));
    ASSERT_EQ(NextToRead(), honest);
    now_ += absl::Milliseconds(2);
    queue_.Leave(honest, true, now_);
    now_ += absl::Milliseconds(10);
    ASSERT_EQ(NextToRead(), nullptr);
    ASSERT_EQ(queue_.reading(), 0);
  }
  Enter(Make(absl::Seconds(1)));
  ASSERT_NE(NextToRead(), nullptr);
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(3)), now_).ok());
}

TEST_F(ReadQueueTest, WhileOthersWaitNobodyHasMoreThanHalfOfTheLanes) {
  for (int i = 0; i < kLanes / 2; ++i) {
    Enter(Make(absl::Seconds(1), "greedy"));
    ASSERT_NE(NextToRead(), nullptr);
  }
  AnnouncedMessage* const third = Enter(Make(absl::Seconds(1), "greedy"));
  AnnouncedMessage* const other = Enter(Make(absl::Seconds(2), "other"));
  EXPECT_EQ(NextToRead(), other);
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
    queue_.Leave(reading, true, now_);
    reading = NextToRead();
    ASSERT_NE(reading, nullptr);
    // One at a time, for what is read is there at once.
    while (queue_.waiting() > 1) {
      AnnouncedMessage* const more = NextToRead();
      if (more == nullptr) break;
      queue_.Leave(std::exchange(reading, more), true, now_);
    }
  }
}

TEST_F(ReadQueueTest, NoMoreWaitThanMay) {
  FillLanes();
  for (int64_t i = 0; i < kMostWaiting; ++i) Enter(Make(absl::InfiniteDuration()));
  const absl::Status full = queue_.Enter(Make(absl::InfiniteDuration()), now_);
  EXPECT_EQ(ReasonOf(full), UnservedReason::kQueueRequests);
  EXPECT_EQ(full.message(), "8 of 8 requests are waiting to be read");
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
  queue.Leave(&messages[0], false, now);
  messages[0].deadline = now + absl::Milliseconds(4);
  ASSERT_TRUE(queue.Enter(&messages[0], now).ok());
  // Half of its time is over, which is no way to learn anything: but it has the way for itself.
  EXPECT_EQ(queue.Next(now).message, &messages[1]);
}

TEST(ReadLawTest, TellsLatencyFromBytesAndOnesOwnFromWhatAllShare) {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  ReadLaw law;
  EXPECT_FALSE(law.IsKnown(now));
  for (int i = 0; i < 100; ++i) {
    const double bytes = i % 2 == 0 ? 100e3 : 1e6;
    law.Learn(bytes, bytes, 50e-6 + 1e-9 * bytes, now);
  }
  EXPECT_NEAR(law.Of(2e6, 2e6), 2.05e-3, 0.05e-3);
  EXPECT_TRUE(law.IsKnown(now + ReadLaw::kFresh));
  EXPECT_FALSE(law.IsKnown(now + ReadLaw::kFresh + absl::Milliseconds(1)));
  // Four together take as long as one, eight twice as long: the rate is four times one's.
  for (int i = 0; i < 200; ++i) {
    const double together = i % 2 == 0 ? 4.0 : 8.0;
    law.Learn(1e6, together * 1e6, 50e-6 + 1e-3 * together / 4.0, now);
  }
  EXPECT_NEAR(law.Of(1e6, 1e6), 1.05e-3, 0.05e-3);
  EXPECT_NEAR(law.Of(1e6, 8e6), 2.05e-3, 0.2e-3);
  EXPECT_NEAR(law.RateOf(1e6, 16.0), 4e9, 0.4e9);
  for (const double wrong : {0.0, -1.0, std::nan("")}) {
    law.Learn(wrong, 1e6, 1.0, now);
    law.Learn(1e6, 1e6, wrong, now);
  }
  EXPECT_NEAR(law.Of(1e6, 1e6), 1.05e-3, 0.05e-3);
}

}  // namespace
}  // namespace baseband::server
