// What comes too late, or cannot be done in time, is refused without much ado; each still hears
// why.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/rings/ring_session_fixture.h"

namespace baseband::server {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kDeadlineExceeded = 4;
constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kLargePayload = 128 << 10;

class RingRefusedTest : public RingSessionFixture {
 protected:
  RingRefusedTest() : RingSessionFixture(kEntries) {
    environment_.limits.max_joined_blocks = 1;  // each is a job of its own
  }

  void SubmitDue(uint32_t job, uint64_t deadline_ns) {
    BasebandSubmission submission = Numbered(job);
    submission.deadline_ns = deadline_ns;
    Submit(submission);
  }
  // A batch of the device's takes so long from now on, as far as the server has learned.
  void LearnThatBatchesTake(uint32_t job, absl::Duration time) {
    for (int i = 0; i < 3; ++i) {
      Submit(Numbered(job));
      TakeAll();
      absl::SleepFor(time);
      device_.End();
      EXPECT_EQ(Next().code, 0U);
    }
  }
};

TEST_F(RingRefusedTest, WhatComesLateIsToldSoAndCounted) {
  const uint32_t job = Register();
  for (int i = 0; i < 20; ++i) SubmitDue(job, i == 10 ? 0 : 1);
  TakeAll();
  for (uint64_t id = 1; id <= 20; ++id) {
    if (id == 11) continue;
    const BasebandCompletion late = Next();
    EXPECT_EQ(late.id, id);
    EXPECT_EQ(late.code, kDeadlineExceeded);
    EXPECT_THAT(TextOf(late), HasSubstr("had passed when the request arrived"));
  }
  EXPECT_FALSE(HasNext());
  device_.End();
  ExpectAnswered(11);
  EXPECT_EQ(Metric("baseband_requests_total{code=\"DEADLINE_EXCEEDED\",rpc=\"Encode\"}"),
            "baseband_requests_total{code=\"DEADLINE_EXCEEDED\",rpc=\"Encode\"} 19");
  EXPECT_EQ(Metric("baseband_requests_in_flight{rpc=\"Encode\"}"),
            "baseband_requests_in_flight{rpc=\"Encode\"} 0");
}

TEST_F(RingRefusedTest, EachIsCountedWhereItBelongs) {
  const uint32_t encode = Register();
  v1::DecodeRequest request;
  v1::DecodeGroup& group = *request.add_groups();
  group.mutable_code()->mutable_nr()->set_base_graph(2);
  group.mutable_code()->mutable_nr()->set_zc(8);
  group.set_count(1);
  const std::string header = request.SerializeAsString();
  BasebandSubmission described = Described();
  header.copy(reinterpret_cast<char*>(memory_->region().base) + kHeader, header.size());
  described.header_bytes = static_cast<uint32_t>(header.size());
  described.payload_bytes = 50 * 8;
  described.operation = v1::SubmitRequest::kDecodeFieldNumber;
  const uint32_t decode = Register(described);
  for (int i = 0; i < 4; ++i) SubmitDue(encode, 1);
  for (int i = 0; i < 3; ++i) {
    BasebandSubmission submission = Numbered(decode);
    submission.payload_bytes = 50 * 8;
    submission.payload_offset = kLargePayload;
    submission.deadline_ns = 1;
    Submit(submission);
  }
  TakeAll();
  for (int i = 0; i < 7; ++i) EXPECT_EQ(Next().code, kDeadlineExceeded);
  EXPECT_EQ(Metric("baseband_requests_total{code=\"DEADLINE_EXCEEDED\",rpc=\"Encode\"}"),
            "baseband_requests_total{code=\"DEADLINE_EXCEEDED\",rpc=\"Encode\"} 4");
  EXPECT_EQ(Metric("baseband_requests_total{code=\"DEADLINE_EXCEEDED\",rpc=\"Decode\"}"),
            "baseband_requests_total{code=\"DEADLINE_EXCEEDED\",rpc=\"Decode\"} 3");
}

TEST_F(RingRefusedTest, WhatALaterDeadlineHasTimeForIsTakenAllTheSame) {
  const uint32_t job = Register();
  LearnThatBatchesTake(job, absl::Milliseconds(100));
  Submit(Numbered(job));
  TakeAll();  // the device has this one, 100 ms
  const uint64_t soon = NowNs() + 150 * kMs;
  for (int i = 0; i < 10; ++i) SubmitDue(job, soon);
  const uint64_t first = submitted_;
  SubmitDue(job, NowNs() + 60'000 * kMs);
  SubmitDue(job, 0);
  for (int i = 0; i < 10; ++i) SubmitDue(job, soon);
  TakeAll();
  for (int i = 0; i < 20; ++i) {
    const BasebandCompletion refused = Next();
    EXPECT_EQ(refused.code, kResourceExhausted) << refused.id;
    EXPECT_TRUE(refused.id < first || refused.id > first + 1) << refused.id;
    EXPECT_THAT(TextOf(refused), HasSubstr("with what goes before it; its deadline is in"));
    EXPECT_GT(refused.value, 0U) << "when to come back";
  }
  EXPECT_FALSE(HasNext());
  EXPECT_EQ(Metric("baseband_requests_total{code=\"RESOURCE_EXHAUSTED\",rpc=\"Encode\"}"),
            "baseband_requests_total{code=\"RESOURCE_EXHAUSTED\",rpc=\"Encode\"} 20");
  while (device_.num_running() > 0) device_.End();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Next().code, 0U);
}

}  // namespace
}  // namespace baseband::server
