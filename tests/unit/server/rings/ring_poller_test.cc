// A ring's sleep, with a device that ends its work when the test says so: the bell is asked for
// exactly where it will be rung, and where it will not the poller looks by itself.
#include "server/rings/ring_poller.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/server/rings/ring_session_fixture.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

// A ring of one entry, so that each request fills it.
class RingSleepTest : public RingSessionFixture {
 protected:
  RingSleepTest() : RingSessionFixture(/*entries=*/1) {}
  bool MaySleep() {
    look_again_ = false;
    return session_->MaySleep(&look_again_);
  }
  bool look_again_ = false;
};

TEST_F(RingSleepTest, AnEmptyRingAsksForTheBellUntilItIsAwake) {
  EXPECT_TRUE(MaySleep());
  EXPECT_FALSE(look_again_);
  EXPECT_TRUE(Submit()) << "the bell";
  EXPECT_FALSE(MaySleep()) << "there is something to be taken";
  session_->Awake();
  EXPECT_TRUE(session_->Take());
  EXPECT_FALSE(session_->Take());
}

TEST_F(RingSleepTest, AFullRingWithoutASubmissionAsksForTheBell) {
  Submit();
  ASSERT_TRUE(session_->Take());
  dispatcher_->DispatchGathered();
  ASSERT_TRUE(session_->is_full());
  EXPECT_TRUE(MaySleep());
  EXPECT_FALSE(look_again_);
  device_.End();
  ExpectAnswered(0);
  EXPECT_TRUE(Submit()) << "the bell";
  EXPECT_TRUE(session_->Take());
}

// As it is between a completion that the client has read and answered with its next submission, and
// the server's count of it.
TEST_F(RingSleepTest, AFullRingWithASubmissionLooksAgainForNobodyRings) {
  Submit();
  ASSERT_TRUE(session_->Take());
  dispatcher_->DispatchGathered();
  EXPECT_FALSE(Submit()) << "the server is awake";
  EXPECT_FALSE(session_->Take()) << "it is full";
  EXPECT_TRUE(MaySleep());
  EXPECT_TRUE(look_again_);
  EXPECT_EQ(ring_.header->server_waits, 0U);
  device_.End();
  ExpectAnswered(0);
  EXPECT_FALSE(MaySleep()) << "it is not full any more";
  EXPECT_FALSE(look_again_);
  EXPECT_TRUE(session_->Take());
}

TEST_F(RingSleepTest, ThePollerTakesWhatCameWhileTheRingWasFullWithoutTheBell) {
  auto poller =
      RingPoller::Start(absl::ZeroDuration(), [this] { dispatcher_->DispatchGathered(); });
  ASSERT_THAT(poller, IsOk());
  const int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ASSERT_TRUE((*poller)->Add(session_, bell));
  EXPECT_EQ((*poller)->CountRings(), 1U);
  const auto submit = [&] {
    const uint64_t one = 1;
    const bool rings = Submit();
    EXPECT_TRUE(!rings || write(bell, &one, sizeof(one)) == ssize_t{sizeof(one)});
  };
  submit();
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(device_.AwaitRunning(1)) << i << ": forgotten";
    submit();
    device_.End();
    ExpectAnswered(i);
  }
  ASSERT_TRUE(device_.AwaitRunning(1));
  (*poller)->Remove(session_, bell);
  close(bell);
}

// How many descriptors this process may have while it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t most) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit few = {most, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

int NextDescriptor() {
  const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  close(fd);
  return fd;
}

TEST(RingPollerTest, WithoutADescriptorItDoesNotStartAndKeepsNone) {
  const int next = NextDescriptor();
  for (const int more : {0, 1}) {
    const FewDescriptors few(static_cast<rlim_t>(next + more));
    EXPECT_THAT(RingPoller::Start(absl::ZeroDuration(), nullptr),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr("--ring-threads): Too many open files")));
  }
  EXPECT_EQ(NextDescriptor(), next);
}

}  // namespace
}  // namespace baseband::server
