// A queue that has learned a rate, and a clock that goes when the test says so.
#ifndef BASEBAND_TESTS_UNIT_SERVER_LIMITS_READ_QUEUE_FIXTURE_H_
#define BASEBAND_TESTS_UNIT_SERVER_LIMITS_READ_QUEUE_FIXTURE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/limits/read_queue.h"

namespace baseband::server {

inline constexpr int64_t kMb = 1000 * 1000;
inline constexpr int kLanes = ReadQueue::kLeastReading;
inline constexpr int64_t kMostWaiting = 64;

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
    if (work_s_ > 0.0) queue_.Answered(*message, work_s_, work_s_, /*in_time=*/true);
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
  double work_s_ = 0.0;                                // what ReadOne's take of a device
  std::map<std::string, ReadQueue::Devices> devices_;  // of whom they have something to do before
  ReadQueue queue_{kMostWaiting,
                   [this](const AnnouncedMessage& message) { return devices_[message.client]; }};
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_UNIT_SERVER_LIMITS_READ_QUEUE_FIXTURE_H_
