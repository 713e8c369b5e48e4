// A ring's sleep, with a device that ends its work when the test says so: the bell is asked for
// exactly where it will be rung, and where it will not the poller looks by itself.
#include "server/rings/ring_poller.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "baseband/v1/baseband.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/rings/ring_session.h"
#include "tests/support/no_batch.h"
#include "tests/support/puppet_device.h"
#include "tests/support/small_dispatcher.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

constexpr uint64_t kHeader = 32 << 10;
constexpr uint64_t kPayload = 36 << 10;
constexpr uint64_t kReply = 40 << 10;

// A ring of one entry, so that each request fills it, and the client's side of it.
class RingSleepTest : public ::testing::Test {
 protected:
  RingSleepTest() {
    DispatcherOptions options = SmallDispatcher(/*queue_requests=*/10);
    options.make_batch = [](std::vector<JobPtr> jobs, Device&) {
      return std::make_unique<NoBatch>(std::move(jobs));
    };
    Device* const devices[] = {&device_};
    dispatcher_ = std::make_unique<Dispatcher>(options, devices, &metrics_);
    environment_.operations = &TestOperations();
    environment_.dispatcher = dispatcher_.get();
    environment_.metrics = &metrics_;
    environment_.recorder = &recorder_;
    environment_.gate = &gate_;
    environment_.calls = &calls_;
    environment_.quotas = &quotas_;
    environment_.streams = &streams_;
    environment_.slow_path = &slow_path_;
    environment_.staging = *HostPool::CreatePageable(1 << 20);
    environment_.reply = *HostPool::CreatePageable(1 << 20);
    environment_.limits.max_blocks_per_request = 10;

    memory_ = *SharedMemory::Create(64 << 10, {});
    ring_ = baseband_ring_at(memory_->region().base, 1);
    ring_.header->version = BASEBAND_RING_VERSION;
    ring_.header->entries = 1;
    session_ = *RingSession::Open(environment_, "client", memory_, 0);
  }
  ~RingSleepTest() override {
    session_->End();
    dispatcher_->DispatchGathered();
    while (device_.num_running() > 0) device_.End();
    session_.reset();
    calls_.WaitUntilNone();
  }

  // The next one, whether or not the one before it was answered; true: the bell has to be rung.
  bool Submit() {
    v1::EncodeRequest request;
    v1::EncodeGroup& group = *request.add_groups();
    group.mutable_code()->mutable_nr()->set_base_graph(2);
    group.mutable_code()->mutable_nr()->set_zc(8);
    group.set_count(1);
    const std::string header = request.SerializeAsString();
    header.copy(reinterpret_cast<char*>(memory_->region().base) + kHeader, header.size());
    BasebandSubmission submission{};
    submission.id = submitted_;
    submission.header_offset = kHeader;
    submission.header_bytes = static_cast<uint32_t>(header.size());
    submission.payload_offset = kPayload;
    submission.payload_bytes = 10;
    submission.reply_offset = kReply;
    submission.reply_bytes = 4096;
    submission.operation = v1::SubmitRequest::kEncodeFieldNumber;
    return baseband_ring_submit(&ring_, submitted_++, &submission) != 0;
  }
  void ExpectAnswered(uint64_t id) {
    BasebandCompletion completion;
    ASSERT_EQ(baseband_ring_next(&ring_, id, &completion), 1);
    EXPECT_EQ(completion.id, id);
    EXPECT_EQ(completion.code, 0U);
  }
  bool MaySleep() {
    look_again_ = false;
    return session_->MaySleep(&look_again_);
  }

  PuppetDevice device_{1};
  Metrics metrics_{"test", TestOperations().counted()};
  FlightRecorder recorder_{absl::ZeroDuration()};
  InFlightGate gate_;
  LiveCount calls_;
  ClientQuotas quotas_{ClientQuotas::Limits()};
  StreamLimit streams_{"streams", 10};
  SlowPathExecutor slow_path_{SlowPathExecutor::Options()};
  std::unique_ptr<Dispatcher> dispatcher_;
  CallEnvironment environment_;
  std::shared_ptr<SharedMemory> memory_;
  BasebandRing ring_{};
  std::shared_ptr<RingSession> session_;
  uint64_t submitted_ = 0;
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
