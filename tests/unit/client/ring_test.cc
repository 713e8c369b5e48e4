// The C++ library's ring, with a server that says of answers how much room they take, rightly or
// not.
#include "client/cpp/ring.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/client/c/fake_ring_server.h"

namespace baseband::client {
namespace {

using ::testing::AllOf;
using testing::FakeRingServer;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr int64_t kMemory = 1 << 20;
constexpr uint64_t kUsualReply = 4096;
const auto kUnavailable = absl::StatusCode::kUnavailable;

class RingReplyTest : public ::testing::Test {
 protected:
  struct Call {
    absl::Notification is_done;
    absl::Status status;
  };

  RingReplyTest() {
    v1::SharedMemoryCapabilities shared;
    shared.set_listen("unix:" + server_.path());
    shared.set_server_id(std::string(16, '\x09'));
    shared.set_max_ring_entries(64);
    RingOptions options;
    options.memory_bytes = kMemory;
    options.entries = 8;
    ring_ = *Ring::Connect(shared, options);
  }

  // Of one header and size, which is to be answered with its payload.
  std::unique_ptr<Call> Start() { return Start(payload_, false); }
  std::unique_ptr<Call> Start(absl::string_view payload, bool is_in_place) {
    auto call = std::make_unique<Call>();
    Ring::Request request;
    request.operation = 11;
    request.header = "header";
    request.payload = payload;
    request.is_in_place = is_in_place;
    EXPECT_THAT(ring_->Start(std::move(request),
                             [call = call.get()](absl::StatusOr<grpc::ByteBuffer> answer) {
                               call->status = answer.status();
                               call->is_done.Notify();
                             }),
                IsOk());
    return call;
  }
  BasebandSubmission Take() {
    BasebandSubmission submission{};
    while (!server_.Take(&submission) || submission.kind != BASEBAND_RING_RUN) {
      std::this_thread::yield();
    }
    const auto* const payload =
        reinterpret_cast<const char*>(server_.region()) + submission.payload_offset;
    EXPECT_EQ(std::string(payload, submission.payload_bytes), payload_);
    return submission;
  }
  void Complete(const BasebandSubmission& submission) {
    BasebandCompletion completion{};
    completion.id = submission.id;
    server_.Complete(completion);
  }
  void WantRoom(const BasebandSubmission& submission, uint64_t value) {
    static const std::string kText = "the server's text";
    BasebandCompletion completion{};
    completion.id = submission.id;
    completion.code = 11;
    completion.value = value;
    completion.header_offset = submission.reply_offset;
    completion.header_bytes = static_cast<uint32_t>(kText.size());
    kText.copy(reinterpret_cast<char*>(server_.region()) + submission.reply_offset, kText.size());
    server_.Complete(completion);
  }
  static absl::Status Await(const std::unique_ptr<Call>& call) {
    call->is_done.WaitForNotification();
    return call->status;
  }

  FakeRingServer server_;
  const std::string payload_ = std::string(10000, 'p');
  std::unique_ptr<Ring> ring_;
};

TEST_F(RingReplyTest, WhatNeedsMoreRoomIsSentOnceMoreAndTheRoomIsRemembered) {
  const auto first = Start();
  const BasebandSubmission small = Take();
  EXPECT_EQ(small.reply_bytes, kUsualReply);
  WantRoom(small, 64 * 1000);
  const BasebandSubmission large = Take();
  EXPECT_EQ(large.reply_bytes, 64 * 1000U);
  Complete(large);
  EXPECT_THAT(Await(first), IsOk());
  const auto second = Start();
  const BasebandSubmission next = Take();
  EXPECT_EQ(next.reply_bytes, 64 * 1000U);
  Complete(next);
  EXPECT_THAT(Await(second), IsOk());
}

TEST_F(RingReplyTest, RoomThatTheRingDoesNotHaveIsNotRemembered) {
  for (const uint64_t value : {uint64_t{kMemory} + 64, uint64_t{1} << 36, uint64_t{kMemory} - 64}) {
    const auto call = Start();
    const BasebandSubmission submission = Take();
    EXPECT_EQ(submission.reply_bytes, kUsualReply) << value;
    WantRoom(submission, value);
    EXPECT_THAT(Await(call), StatusIs(kUnavailable, HasSubstr("the server's text: ")));
  }
  EXPECT_TRUE(ring_->is_alive());
  const auto call = Start();
  Complete(Take());
  EXPECT_THAT(Await(call), IsOk());
}

// As much as makes payload and reply together 64 bytes, modulo 2^64.
TEST_F(RingReplyTest, RoomThatWrapsAroundEndsTheRing) {
  const auto other = Start();
  const BasebandSubmission untouched = Take();
  const auto call = Start();
  WantRoom(Take(), uint64_t{0} - 10048 + 64);
  EXPECT_THAT(Await(call), StatusIs(kUnavailable, HasSubstr("broke the ring's protocol")));
  EXPECT_THAT(Await(other), StatusIs(kUnavailable, HasSubstr("broke the ring's protocol")));
  const auto* const payload =
      reinterpret_cast<const char*>(server_.region()) + untouched.payload_offset;
  EXPECT_EQ(std::string(payload, untouched.payload_bytes), payload_);
  EXPECT_EQ(payload[untouched.payload_bytes + 64], '\0');
}

TEST_F(RingReplyTest, AServerThatAlwaysWantsMoreIsLeftAfterTheSecondTime) {
  const auto call = Start();
  WantRoom(Take(), 2 * kUsualReply);
  WantRoom(Take(), 4 * kUsualReply);
  EXPECT_THAT(Await(call), StatusIs(kUnavailable, HasSubstr("wants more room than it has said")));
  const auto next = Start();
  const BasebandSubmission submission = Take();
  EXPECT_EQ(submission.reply_bytes, kUsualReply) << "nothing was learned of it";
  Complete(submission);
  EXPECT_THAT(Await(next), IsOk());
}

TEST_F(RingReplyTest, WhatCannotBeSentAgainBringsTheServersText) {
  const auto call = Start();
  WantRoom(Take(), 2 * kUsualReply + 1);  // no reply may have as much
  EXPECT_THAT(Await(call), StatusIs(kUnavailable, AllOf(HasSubstr("the server's text: "),
                                                        HasSubstr("reply_bytes 8193"))));
}

TEST_F(RingReplyTest, APayloadInPlaceStaysWhereItIsAndTakesNoOtherMemory) {
  // Of which there would be no room for a copy.
  auto* const memory = reinterpret_cast<char*>(ring_->Loan(kMemory - 4 * 2 * kUsualReply));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(ring_->Loan(kMemory), nullptr);
  payload_.copy(memory, payload_.size());
  const absl::string_view placed(memory, payload_.size());
  const auto first = Start(placed, true);
  const auto second = Start(placed, true);
  const BasebandSubmission of_first = Take();
  const BasebandSubmission of_second = Take();
  EXPECT_EQ(of_first.payload_offset, of_second.payload_offset);
  EXPECT_NE(of_first.reply_offset, of_second.reply_offset);
  WantRoom(of_first, 2 * kUsualReply);
  const BasebandSubmission again = Take();
  EXPECT_EQ(again.payload_offset, of_first.payload_offset);
  EXPECT_EQ(again.reply_bytes, 2 * kUsualReply);
  Complete(again);
  Complete(of_second);
  EXPECT_THAT(Await(first), IsOk());
  EXPECT_THAT(Await(second), IsOk());
  EXPECT_EQ(std::string(placed), payload_);
}

// The server's side of requests that a test sends one by one: all are answered, and each has the
// number by which it came, 0: with its header.
class RingMemoryTest : public RingReplyTest {
 protected:
  uint32_t NumberOf(const std::string& header) {
    absl::Notification is_done;
    Ring::Request request;
    request.operation = 11;
    request.header = header;
    EXPECT_THAT(ring_->Start(std::move(request),
                             [&is_done](const absl::StatusOr<grpc::ByteBuffer>& answer) {
                               EXPECT_THAT(answer.status(), IsOk());
                               is_done.Notify();
                             }),
                IsOk());
    uint32_t number = 0;
    for (bool has_run = false; !has_run;) {
      BasebandSubmission submission{};
      while (!server_.Take(&submission)) std::this_thread::yield();
      BasebandCompletion completion{};
      completion.id = submission.id;
      if (submission.kind == BASEBAND_RING_REGISTER) {
        completion.value = ++last_number_;
      } else if (submission.kind == BASEBAND_RING_FORGET) {
        forgotten_.push_back(submission.job);
      } else {
        number = submission.job;
        has_run = true;
      }
      server_.Complete(completion);
    }
    is_done.WaitForNotification();
    return number;
  }
  // Comes three times, the third by its number.
  uint32_t NumberOfOneThatComesAgain(const std::string& header) {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(NumberOf(header), 0U) << header;
    return NumberOf(header);
  }

  uint32_t last_number_ = 0;
  std::vector<uint32_t> forgotten_;
};

TEST_F(RingMemoryTest, WhatWasUsedLeastRecentlyIsForgottenForWhatIsNew) {
  EXPECT_EQ(NumberOfOneThatComesAgain("often"), 1U);
  EXPECT_EQ(NumberOfOneThatComesAgain("once"), 2U);
  for (size_t i = 0; i < 2 * Ring::kMaxKnown; ++i) {
    NumberOf("other " + std::to_string(i));
    if (i % 100 == 0) {
      EXPECT_EQ(NumberOf("often"), 1U) << i;
    }
  }
  EXPECT_THAT(forgotten_, ::testing::ElementsAre(2U)) << "by the server, too";
  EXPECT_EQ(NumberOfOneThatComesAgain("new"), 3U);
  EXPECT_EQ(NumberOfOneThatComesAgain("once"), 4U);
}

TEST_F(RingMemoryTest, WhatIsUnderWayIsNotForgotten) {
  const auto call = Start();
  const BasebandSubmission under_way = Take();
  for (size_t i = 0; i < 2 * Ring::kMaxKnown; ++i) NumberOf("other " + std::to_string(i));
  WantRoom(under_way, 2 * kUsualReply);
  const BasebandSubmission again = Take();
  EXPECT_EQ(again.reply_bytes, 2 * kUsualReply);
  Complete(again);
  EXPECT_THAT(Await(call), IsOk());
  EXPECT_EQ(NumberOf("another"), 0U);
}

}  // namespace
}  // namespace baseband::client
