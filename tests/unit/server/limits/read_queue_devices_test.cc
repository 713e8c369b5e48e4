// What is not read because devices have enough to do.
#include "server/limits/retry_after.h"
#include "server/metrics/unserved.h"
#include "tests/unit/server/limits/read_queue_fixture.h"

namespace baseband::server {
namespace {

class ReadQueueDevicesTest : public ReadQueueTest {
 protected:
  void SetUp() override {}  // by then a test has said what one takes of a device

  void Teach(double work_s) {
    work_s_ = work_s;
    ReadQueueTest::SetUp();
    now_ += absl::Milliseconds(1);
  }
  void DevicesHaveToDo(const std::string& client, double seconds, bool is_known = true) {
    devices_[client] = {seconds, 1, is_known};
  }
};

TEST_F(ReadQueueDevicesTest, NoneBeginsUntilDevicesAreSoonThroughWithWhatTheyHave) {
  Teach(0.0);
  AnnouncedMessage* const message = Enter(Make(absl::Seconds(1)));
  DevicesHaveToDo("a", 20e-3);
  EXPECT_EQ(NextToRead(), nullptr);
  now_ += absl::Milliseconds(18);
  DevicesHaveToDo("a", 2e-3);  // no longer than its reading and kAhead
  EXPECT_EQ(NextToRead(), message);
}

TEST_F(ReadQueueDevicesTest, OneBeginsNowAndThenWhateverDevicesAreSaidToHave) {
  Teach(0.0);
  DevicesHaveToDo("a", 1e9, /*is_known=*/false);
  for (int i = 0; i < 2; ++i) Enter(Make(absl::Seconds(10)));
  EXPECT_EQ(NextToRead(), nullptr);
  for (int i = 0; i < 2; ++i) {
    now_ += ReadQueue::kTrickle;
    EXPECT_NE(NextToRead(), nullptr);
    EXPECT_EQ(NextToRead(), nullptr);
  }
}

TEST_F(ReadQueueDevicesTest, WhoWouldComeToThemTooLateIsRefusedUnread) {
  Teach(0.0);
  DevicesHaveToDo("a", 20e-3);
  const absl::Status refused = queue_.Enter(Make(absl::Milliseconds(25)), now_);
  EXPECT_EQ(ReasonOf(refused), UnservedReason::kBacklog) << refused;
  EXPECT_GE(RetryAfter(refused, absl::ZeroDuration()), absl::Milliseconds(1));
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(30)), now_).ok());
  DevicesHaveToDo("b", 20e-3, /*is_known=*/false);
  EXPECT_TRUE(queue_.Enter(Make(absl::Milliseconds(25), "b"), now_).ok()) << "that is a guess";
}

TEST_F(ReadQueueDevicesTest, WhomDevicesComeToSoonIsReadBeforeWhoHasGivenThemEnough) {
  Teach(0.0);
  DevicesHaveToDo("flood", 20e-3);
  for (int i = 0; i < 5; ++i) Enter(Make(absl::Milliseconds(150), "flood"));
  AnnouncedMessage* const other = Enter(Make(absl::Milliseconds(160), "b"));
  EXPECT_EQ(NextToRead(), other);
  EXPECT_EQ(NextToRead(), nullptr);
}

TEST_F(ReadQueueDevicesTest, WhatIsReadCountsAsDevicesWork) {
  Teach(4e-3);
  for (int i = 0; i < 6; ++i) Enter(Make(absl::Seconds(1)));
  // One brings 4 ms, and each takes a millisecond to read for each that is read.
  EXPECT_NE(NextToRead(), nullptr);
  EXPECT_EQ(NextToRead(), nullptr);
  devices_["a"].count = 4;  // which share that
  EXPECT_NE(NextToRead(), nullptr);
  EXPECT_NE(NextToRead(), nullptr);
}

// Low has lanes of its own, and what other clients have read holds nobody up for long.
TEST_F(ReadQueueDevicesTest, NeitherLowNorOthersWorkIsHeldAgainstAnybody) {
  Teach(0.1);
  Enter(Make(absl::Seconds(1), "low", Priority::kLow));
  ASSERT_NE(NextToRead(), nullptr);
  AnnouncedMessage* const high = Enter(Make(absl::Milliseconds(250), "h", Priority::kHigh));
  EXPECT_EQ(NextToRead(), high);
  AnnouncedMessage* const normal = Enter(Make(absl::Milliseconds(250), "n"));
  EXPECT_EQ(NextToRead(), normal) << "high counts for a millisecond, as another client's";
  AnnouncedMessage* const own = Enter(Make(absl::Seconds(1), "n"));
  EXPECT_EQ(NextToRead(), nullptr);
  EXPECT_TRUE(queue_.Abandon(own));
}

TEST_F(ReadQueueDevicesTest, WhoBringsMuchWorkTeachesLittleOfOthers) {
  Teach(1e-3);
  work_s_ = 0.1;
  for (int i = 0; i < 20; ++i) ReadOne("heavy");
  work_s_ = 1e-3;
  for (int i = 0; i < 8; ++i) ReadOne("teacher");
  for (int i = 0; i < 3; ++i) Enter(Make(absl::Seconds(1)));
  for (int i = 0; i < 3; ++i) EXPECT_NE(NextToRead(), nullptr) << i;
}

}  // namespace
}  // namespace baseband::server
