// What becomes of a ring's requests that are not done: late ones, those without room or beyond a
// quota, those of a client that has gone, and those that a drain finds.
#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/ring_requests.h"
#include "tests/support/raw_ring.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

class RingEndsTest : public RingTest {};

TEST_F(RingEndsTest, WhatIsTooLateIsNotDone) {
  Serve();
  RawRing ring(socket_);
  ring.Open();
  BasebandSubmission submission = Put(&ring, EncodeOf(NrCode(1, 384), 1));
  submission.deadline_ns = MonotonicNs(-absl::Milliseconds(1));
  EXPECT_EQ(ring.Do(submission).code, kDeadlineExceeded);
  submission.deadline_ns = 1;
  EXPECT_EQ(ring.Do(submission).code, kDeadlineExceeded);
  submission.deadline_ns = MonotonicNs(absl::Seconds(60));
  EXPECT_EQ(ring.Do(submission).code, kOk);
  submission.deadline_ns = ~uint64_t{0};  // as a difference that became negative
  EXPECT_THAT(ring.Text(ring.Do(submission)),
              HasSubstr("deadline_ns 18446744073709551615 is not in [0, 9223372036854775807]"));
  EXPECT_EQ(server_->Metric("baseband_deadlines_total", {"outcome=\"met\""}), 1);
}

TEST_F(RingEndsTest, WhoHasTooLittleRoomForTheAnswerIsToldHowMuchItTakes) {
  Serve();
  const std::unique_ptr<client::Client> plain = NewClient();
  RawRing ring(socket_);
  ring.Open();
  const v1::EncodeRequest request = EncodeOf(NrCode(1, 384), 3);
  BasebandSubmission submission = Put(&ring, request);
  submission.reply_bytes = 64;
  const BasebandCompletion refused = ring.Do(submission);
  EXPECT_EQ(refused.code, kOutOfRange);
  EXPECT_EQ(ring.Text(refused),
            absl::StrCat("reply_bytes 64 is less than the answer may take, ", refused.value));
  submission.reply_bytes = 0;
  EXPECT_EQ(ring.Do(submission).header_bytes, 0U);
  EXPECT_EQ(server_->Metric("baseband_batches_total"), 0) << "nothing was done";
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_unserved_total",
                                     {"rpc=\"Encode\"", "reason=\"reply_range\""}, 2));
  submission.reply_bytes = static_cast<uint32_t>(refused.value);
  EXPECT_TRUE(Essence(Read<v1::EncodeResponse>(ring, ring.Do(submission))) ==
              Essence(plain->Encode(request)));
}

TEST_F(RingEndsTest, QuotasHoldAndSayWhenToComeBack) {
  Serve({"--client-requests=1", "--client-streams=2"});
  RawRing ring(socket_);
  ring.Open();
  v1::DecodeRequest decode = DecodeOfZeros(NrCode(1, 384), 40);
  decode.mutable_groups(0)->set_fixed_iterations(true);
  decode.mutable_groups(0)->set_max_iterations(50);
  const BasebandSubmission long_one = Put(&ring, ring.free_offset(), 1 << 20, decode);
  const BasebandSubmission short_one = Put(&ring, 6 << 20, 1 << 20, EncodeOf(NrCode(1, 384), 1));
  ring.Submit({long_one, short_one});
  int refused = 0;
  for (int i = 0; i < 2; ++i) {
    const absl::optional<BasebandCompletion> completion = ring.Next();
    ASSERT_TRUE(completion.has_value());
    if (completion->code == kOk) continue;
    ++refused;
    EXPECT_EQ(completion->code, kResourceExhausted);
    EXPECT_GT(completion->value, 0U) << "microseconds";
    EXPECT_THAT(ring.Text(*completion), HasSubstr("1 request"));
  }
  EXPECT_EQ(refused, 1);
  // A ring is a stream.
  RawRing second(socket_);
  second.Open();
  RawRing third(socket_);
  EXPECT_EQ(third.Ask().code, kResourceExhausted);
}

TEST_F(RingEndsTest, WhatAClientLeavesBehindGoesOnceItIsDone) {
  Serve();
  for (int i = 0; i < 3; ++i) {
    RawRing ring(socket_);
    ring.Open();
    for (int k = 0; k < 4; ++k) {
      ring.Submit(Put(&ring, ring.free_offset(), 1 << 20, DecodeOfZeros(NrCode(1, 384), 40)));
    }
  }
  EXPECT_TRUE(WaitUntilNothingIsLeft());
  // Freed, with its ring in it, while requests are under way.
  RawRing ring(socket_);
  ring.Open();
  ring.Submit(Put(&ring, ring.free_offset(), 1 << 20, DecodeOfZeros(NrCode(1, 384), 40)));
  EXPECT_EQ(ring.regions().Free(ring.region()).code, kOk);
  EXPECT_TRUE(WaitUntilNothingIsLeft());
}

TEST_F(RingEndsTest, ADrainAnswersEveryRequest) {
  Serve();
  constexpr uint64_t kBefore = 8;
  RawRing ring(socket_, /*entries=*/64);
  ring.Open();
  // Long enough that none is done before the drain begins.
  v1::DecodeRequest decode = DecodeOfZeros(NrCode(1, 384), 100);
  decode.mutable_groups(0)->set_fixed_iterations(true);
  decode.mutable_groups(0)->set_max_iterations(100);
  BasebandSubmission submission = Put(&ring, ring.free_offset(), 1 << 20, decode);
  for (submission.id = 0; submission.id < kBefore; ++submission.id) ring.Submit(submission);
  ASSERT_TRUE(WaitUntilTaken(kBefore));
  server_->process().Signal(SIGTERM);
  std::set<uint64_t> answered;
  int refused = 0;
  const auto take = [&] {
    const absl::optional<BasebandCompletion> completion = ring.Next();
    if (!completion.has_value()) return false;
    refused += completion->code == kUnavailable;
    EXPECT_TRUE(answered.insert(completion->id).second);
    if (completion->id < kBefore) {
      EXPECT_EQ(completion->code, kOk) << "was accepted before";
    } else {
      EXPECT_THAT(completion->code, ::testing::AnyOf(kOk, kUnavailable));
    }
    return true;
  };
  for (; refused < 4; ++submission.id) {
    ring.Submit(submission);
    ASSERT_TRUE(take()) << answered.size() << " of " << submission.id + 1 << " were answered";
  }
  while (answered.size() < submission.id) ASSERT_TRUE(take());
  EXPECT_EQ(server_->process().Wait(absl::Seconds(30)), 0);
  EXPECT_TRUE(ring.regions().Receive().is_over);
}

TEST_F(RingEndsTest, WhatOutlastsADrainIsAnsweredAsCancelled) {
  Serve({"--drain=1s", "--queue-mib=1024"});
  constexpr uint32_t kRequests = 64;
  RawRing ring(socket_, kRequests);
  ring.Open();
  // Ten times what two threads do while it drains.
  v1::DecodeRequest decode = DecodeOfZeros(NrCode(1, 384), 200);
  decode.mutable_groups(0)->set_fixed_iterations(true);
  decode.mutable_groups(0)->set_max_iterations(100);
  BasebandSubmission submission = Put(&ring, ring.free_offset(), 1 << 20, decode);
  for (submission.id = 0; submission.id < kRequests; ++submission.id) ring.Submit(submission);
  ASSERT_TRUE(WaitUntilTaken(kRequests));
  server_->process().Signal(SIGTERM);
  std::set<uint64_t> answered;
  std::map<uint32_t, int> codes;
  while (answered.size() < kRequests) {
    const absl::optional<BasebandCompletion> completion = ring.Next();
    ASSERT_TRUE(completion.has_value()) << answered.size() << " were answered";
    EXPECT_TRUE(answered.insert(completion->id).second);
    ++codes[completion->code];
  }
  EXPECT_GE(codes[kCancelled], 1);
  EXPECT_EQ(codes[kOk] + codes[kCancelled], static_cast<int>(kRequests));
  EXPECT_EQ(server_->process().Wait(absl::Seconds(30)), 0);
  EXPECT_THAT(server_->process().Output(), HasSubstr("drained")) << "nothing had to be cut off";
  EXPECT_TRUE(ring.regions().Receive().is_over);
}

}  // namespace
}  // namespace baseband::testing
