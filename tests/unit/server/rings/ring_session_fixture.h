// A ring with the client's side of it, and a device that ends its work when the test says so.
#ifndef BASEBAND_TESTS_UNIT_SERVER_RINGS_RING_SESSION_FIXTURE_H_
#define BASEBAND_TESTS_UNIT_SERVER_RINGS_RING_SESSION_FIXTURE_H_

#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "baseband/v1/baseband.pb.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"
#include "server/rings/ring_session.h"
#include "tests/support/no_batch.h"
#include "tests/support/puppet_device.h"
#include "tests/support/small_dispatcher.h"

namespace baseband::server {

inline constexpr uint32_t kResourceExhausted = 8;  // of completions

// Of the clock of deadlines.
inline uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

class RingSessionFixture : public ::testing::Test {
 protected:
  static constexpr uint64_t kHeader = 16 << 10;
  static constexpr uint64_t kPayload = 20 << 10;
  static constexpr uint64_t kReply = 24 << 10;
  static constexpr uint64_t kReplyBytes = 1024;
  static constexpr uint64_t kPayloadBytes = 10;
  static constexpr uint32_t kEntries = 64;

  // Of a dispatcher whose clock stands, what comes one after the other comes at once.
  explicit RingSessionFixture(uint32_t entries, const ClientQuotas::Limits& quotas = {},
                              bool clock_stands = false)
      : quotas_(quotas) {
    DispatcherOptions options = SmallDispatcher(/*queue_requests=*/64);
    if (clock_stands) options.clock = [now = SteadyNow()] { return now; };
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
    environment_.limits.max_joined_blocks = 64;

    memory_ = *SharedMemory::Create(256 << 10, {});
    ring_ = baseband_ring_at(memory_->region().base, entries);
    ring_.header->version = BASEBAND_RING_VERSION;
    ring_.header->entries = entries;
    session_ = *RingSession::Open(environment_, "client", memory_, 0);
    session_->LengthenTurns();
  }
  ~RingSessionFixture() override {
    if (session_ != nullptr) session_->End();
    dispatcher_->DispatchGathered();
    while (device_.num_running() > 0) device_.End();
    session_.reset();
    calls_.WaitUntilNone();
  }

  // A small Encode, unless there are many blocks.
  BasebandSubmission Described(uint32_t blocks = 1) const {
    v1::EncodeRequest request;
    v1::EncodeGroup& group = *request.add_groups();
    group.mutable_code()->mutable_nr()->set_base_graph(2);
    group.mutable_code()->mutable_nr()->set_zc(8);
    group.set_count(blocks);
    const std::string header = request.SerializeAsString();
    header.copy(reinterpret_cast<char*>(memory_->region().base) + kHeader, header.size());
    BasebandSubmission submission{};
    submission.header_offset = kHeader;
    submission.header_bytes = static_cast<uint32_t>(header.size());
    submission.payload_offset = kPayload;
    submission.payload_bytes = kPayloadBytes;
    submission.reply_offset = kReply;
    submission.reply_bytes = kReplyBytes;
    submission.operation = v1::SubmitRequest::kEncodeFieldNumber;
    return submission;
  }
  // The next one, whether or not the one before it was answered; true: the bell has to be rung.
  bool Submit(BasebandSubmission submission) {
    submission.id = submitted_;
    return baseband_ring_submit(&ring_, submitted_++, &submission) != 0;
  }
  bool Submit() { return Submit(Described()); }
  // The next completion, which must be there.
  BasebandCompletion Next() {
    BasebandCompletion completion{};
    EXPECT_EQ(baseband_ring_next(&ring_, completed_, &completion), 1) << completed_;
    ++completed_;
    return completion;
  }
  bool HasNext() const {
    BasebandCompletion completion;
    return baseband_ring_next(&ring_, completed_, &completion) != 0;
  }
  void ExpectAnswered(uint64_t id) {
    const BasebandCompletion completion = Next();
    EXPECT_EQ(completion.id, id);
    EXPECT_EQ(completion.code, 0U);
  }

  // `like`, Described(), as a job.
  uint32_t Register(BasebandSubmission like) {
    like.kind = BASEBAND_RING_REGISTER;
    Submit(like);
    EXPECT_TRUE(session_->Take());
    const BasebandCompletion registered = Next();
    EXPECT_EQ(registered.code, 0U);
    return static_cast<uint32_t>(registered.value);
  }
  uint32_t Register() { return Register(Described()); }
  // With memory of its own.
  BasebandSubmission Numbered(uint32_t job) const {
    const uint64_t place = submitted_ % kEntries;
    BasebandSubmission submission{};
    submission.job = job;
    submission.payload_offset = kPayload + 64 * place;
    submission.payload_bytes = kPayloadBytes;
    submission.reply_offset = kReply + kReplyBytes * place;
    submission.reply_bytes = kReplyBytes;
    return submission;
  }
  void TakeAll() {
    while (session_->Take()) {
    }
    dispatcher_->DispatchGathered();
  }
  std::string TextOf(const BasebandCompletion& refused) const {
    return {reinterpret_cast<const char*>(memory_->region().base) + refused.header_offset,
            refused.header_bytes};
  }
  std::string Metric(const std::string& name) const {
    const std::string page = metrics_.Render();
    const size_t at = page.find(name + " ");
    return at == std::string::npos ? "none" : page.substr(at, page.find('\n', at) - at);
  }

  PuppetDevice device_{1};
  Metrics metrics_{"test", TestOperations().counted()};
  FlightRecorder recorder_{absl::ZeroDuration()};
  InFlightGate gate_;
  LiveCount calls_;
  ClientQuotas quotas_;
  StreamLimit streams_{"streams", 10};
  SlowPathExecutor slow_path_{SlowPathExecutor::Options()};
  std::unique_ptr<Dispatcher> dispatcher_;
  CallEnvironment environment_;
  std::shared_ptr<SharedMemory> memory_;
  BasebandRing ring_{};
  std::shared_ptr<RingSession> session_;
  uint64_t submitted_ = 0;
  uint64_t completed_ = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_UNIT_SERVER_RINGS_RING_SESSION_FIXTURE_H_
