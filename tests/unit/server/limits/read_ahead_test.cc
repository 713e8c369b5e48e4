// How many messages begin to be read at a time: by who was in a hurry of late.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/limits/read_queue.h"
#include "tests/unit/server/limits/read_queue_fixture.h"

namespace baseband::server {
namespace {

constexpr int64_t kSmall = kMb / 20;  // 50 us each
constexpr int kAhead = 1000 / 50;     // as many come within ReadQueue::kAhead
constexpr int kMostAhead = 4 * kAhead;

class ReadAheadTest : public ReadQueueTest {
 protected:
  void SetUp() override {
    ReadQueueTest::SetUp();
    AnnouncedMessage* const message = MakeSmall(absl::InfiniteDuration());
    ASSERT_TRUE(Read(message));  // so long one alone takes
  }

  AnnouncedMessage* MakeSmall(absl::Duration timeout, Priority priority = Priority::kNormal) {
    AnnouncedMessage* const message = Make(timeout, "hurried", priority);
    message->bytes = kSmall;
    return message;
  }
  // False: it was refused.
  bool Read(AnnouncedMessage* message) {
    if (!queue_.Enter(message, now_).ok()) return false;
    EXPECT_EQ(NextToRead(), message);
    now_ += absl::Microseconds(50);
    queue_.Leave(message, ReadQueue::End::kCame, now_);
    return true;
  }

  // Messages of several clients that may wait, as many as begin.
  std::vector<AnnouncedMessage*> BeginBulk() {
    std::vector<AnnouncedMessage*> reading;
    while (true) {
      AnnouncedMessage* const message =
          Make(absl::InfiniteDuration(), "bulk " + std::to_string(reading.size() % 4));
      message->bytes = kSmall;
      Enter(message);
      if (NextToRead() == nullptr) {
        queue_.Abandon(message);
        return reading;
      }
      reading.push_back(message);
    }
  }
  // They come as fast as ever.
  void Bring(const std::vector<AnnouncedMessage*>& reading) {
    now_ += absl::Microseconds(50) * reading.size();
    for (AnnouncedMessage* message : reading) queue_.Leave(message, ReadQueue::End::kCame, now_);
  }
  // As many as come in that time, and a few more.
  void ExpectBegun(int count) {
    const std::vector<AnnouncedMessage*> reading = BeginBulk();
    Bring(reading);
    const int begun = static_cast<int>(reading.size());
    EXPECT_GE(begun, count + 1);
    EXPECT_LE(begun, static_cast<int>(std::ceil(1.25 * count)));
    EXPECT_NEAR(queue_.ahead_s(), 50e-6 * count, 1e-9);
  }
};

TEST_F(ReadAheadTest, AnEighthOfTheShortestTimeThatAnybodyHadBegins) {
  ExpectBegun(kMostAhead);
  ASSERT_TRUE(Read(MakeSmall(absl::Milliseconds(16))));
  ExpectBegun(2 * kAhead);
  ASSERT_TRUE(Read(MakeSmall(absl::Milliseconds(24))));
  ExpectBegun(2 * kAhead);
  ASSERT_TRUE(Read(MakeSmall(absl::Milliseconds(2))));
  ExpectBegun(kAhead);
}

TEST_F(ReadAheadTest, AHurryIsForgottenAfterAMinuteOrTwo) {
  ASSERT_TRUE(Read(MakeSmall(absl::Milliseconds(2))));
  now_ += absl::Seconds(59);
  ExpectBegun(kAhead);
  now_ += absl::Seconds(62);
  ExpectBegun(kMostAhead);
}

TEST_F(ReadAheadTest, WhoHasHighPriorityIsInAHurryWithoutADeadline) {
  ASSERT_TRUE(Read(MakeSmall(absl::InfiniteDuration(), Priority::kHigh)));
  ExpectBegun(kAhead);
}

TEST_F(ReadAheadTest, WhoseMessageNeedsNoTurnCountsAsWell) {
  queue_.Hurry(Priority::kNormal, absl::Hours(1), now_);
  queue_.Hurry(Priority::kHigh, absl::ZeroDuration(), now_);
  ExpectBegun(kMostAhead);
  queue_.Hurry(Priority::kNormal, absl::Milliseconds(4), now_);
  ExpectBegun(kAhead);
}

TEST_F(ReadAheadTest, WhoCouldNotBeInTimeAnyhowIsNotWaitedFor) {
  EXPECT_FALSE(Read(MakeSmall(-absl::Seconds(1))));
  EXPECT_FALSE(Read(MakeSmall(absl::ZeroDuration())));
  Enter(Make(absl::InfiniteDuration(), "other"));
  AnnouncedMessage* const other = NextToRead();
  EXPECT_FALSE(Read(MakeSmall(absl::Microseconds(40))));
  now_ += absl::Milliseconds(1);
  queue_.Leave(other, ReadQueue::End::kCame, now_);
  ExpectBegun(kMostAhead);
}

TEST_F(ReadAheadTest, WhoIsRefusedForWhatIsReadAheadIsNotTheNextTime) {
  const std::vector<AnnouncedMessage*> reading = BeginBulk();
  EXPECT_TRUE(absl::IsResourceExhausted(queue_.Enter(MakeSmall(absl::Milliseconds(3)), now_)));
  Bring(reading);
  BeginBulk();
  EXPECT_TRUE(queue_.Enter(MakeSmall(absl::Milliseconds(3)), now_).ok());
}

// Others are read beside it that bring nothing: as if the way in carried them, too.
TEST_F(ReadAheadTest, WhatIsAnnouncedAndNotSentDoesNotMakeTheWayInSeemWider) {
  const double rate = queue_.rate();
  for (int burst = 0; burst < 50; ++burst) {
    std::vector<AnnouncedMessage*> silent;
    for (int i = 0; i < kMostWaiting; ++i) {
      silent.push_back(Make(absl::InfiniteDuration(), "silent " + std::to_string(burst)));
      silent.back()->bytes = kSmall;
      (void)queue_.Enter(silent.back(), now_);
    }
    AnnouncedMessage* const honest = Enter(Make(absl::InfiniteDuration(), "honest"));
    std::vector<AnnouncedMessage*> reading;
    while (AnnouncedMessage* const next = NextToRead()) {
      if (next != honest) reading.push_back(next);
    }
    ASSERT_LT(reading.size(), 2 * kMostAhead) << burst;
    now_ += absl::Milliseconds(1);
    queue_.Leave(honest, ReadQueue::End::kCame, now_);
    for (AnnouncedMessage* message : silent) queue_.Abandon(message);
    for (AnnouncedMessage* message : reading) {
      queue_.Leave(message, ReadQueue::End::kGivenUp, now_);
    }
    now_ += absl::Seconds(1);
  }
  EXPECT_LT(queue_.rate(), 1.2 * rate);
}

// They are read by their deadlines, or dropped.
TEST_F(ReadAheadTest, WhoHasMoreTimeThanThoseBeforeHimWaitsNoLongerThanTheyDo) {
  FillLanes();
  for (int i = 0; i < kMostWaiting / 2; ++i) {
    AnnouncedMessage* const huge = Make(absl::Seconds(30), "silent " + std::to_string(i));
    huge->bytes = 1000 * kMb;
    (void)queue_.Enter(huge, now_);
  }
  ASSERT_GT(queue_.waiting(), 10);
  EXPECT_TRUE(absl::IsResourceExhausted(queue_.Enter(Make(absl::Seconds(30)), now_)));
  EXPECT_TRUE(queue_.Enter(Make(absl::Seconds(31)), now_).ok());
}

TEST_F(ReadAheadTest, NowAndThenWhoWouldBeLateIsReadAllTheSame) {
  const std::vector<AnnouncedMessage*> reading = FillLanes();
  int read = 0;
  for (uint64_t i = 0; i < 4 * ReadQueue::kPatience; ++i) {
    if (!queue_.Enter(Make(absl::Milliseconds(9)), now_).ok()) continue;
    for (AnnouncedMessage* message : reading) queue_.Leave(message, ReadQueue::End::kCame, now_);
    break;
  }
  for (AnnouncedMessage* next = NextToRead(); next != nullptr; next = NextToRead()) ++read;
  EXPECT_EQ(read, 1);
}

}  // namespace
}  // namespace baseband::server
