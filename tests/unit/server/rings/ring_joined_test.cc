// Small requests of one registered job that are taken together: they are one job, and each is
// accepted, counted and answered as if it had come alone.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/rings/ring_session_fixture.h"

namespace baseband::server {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kInvalidArgument = 3;

class RingJoinedTest : public RingSessionFixture {
 protected:
  explicit RingJoinedTest(const ClientQuotas::Limits& quotas = {})
      : RingSessionFixture(kEntries, quotas, /*clock_stands=*/true) {}

  // Jobs that the device was given, in one batch.
  int RunningJobs() const { return device_.num_running() == 0 ? 0 : device_.num_blocks(0); }
};

TEST_F(RingJoinedTest, TheyAreOneJobAndEachIsCountedAndAnswered) {
  const uint32_t job = Register();
  for (int i = 0; i < 20; ++i) Submit(Numbered(job));
  TakeAll();
  EXPECT_EQ(RunningJobs(), 1);
  EXPECT_EQ(Metric("baseband_requests_in_flight{rpc=\"Encode\"}"),
            "baseband_requests_in_flight{rpc=\"Encode\"} 20");
  EXPECT_FALSE(HasNext());
  device_.End();
  for (uint64_t i = 1; i <= 20; ++i) ExpectAnswered(i);
  EXPECT_FALSE(HasNext());
  EXPECT_EQ(Metric("baseband_requests_in_flight{rpc=\"Encode\"}"),
            "baseband_requests_in_flight{rpc=\"Encode\"} 0");
  EXPECT_EQ(Metric("baseband_requests_total{code=\"OK\",rpc=\"Encode\"}"),
            "baseband_requests_total{code=\"OK\",rpc=\"Encode\"} 20");
  EXPECT_THAT(metrics_.Render(), HasSubstr("baseband_batch_requests_sum{rpc=\"Encode\"} 20\n"));
  EXPECT_THAT(metrics_.Render(),
              HasSubstr("baseband_request_duration_seconds_count{rpc=\"Encode\"} 20\n"));
}

TEST_F(RingJoinedTest, WhatDiffersIsAnotherJob) {
  const uint32_t job = Register();
  const uint32_t other = Register();
  const uint64_t now = NowNs();
  const auto submit = [&](uint32_t number, uint8_t priority, uint64_t deadline_ns) {
    BasebandSubmission submission = Numbered(number);
    submission.priority = priority;
    submission.deadline_ns = deadline_ns;
    Submit(submission);
    Submit(submission);
  };
  constexpr uint64_t kHour = 3'600'000'000'000;
  submit(job, 0, 0);
  submit(other, 0, 0);
  submit(job, 0, now + kHour);
  submit(job, 0, now + kHour + 19'000);  // with those before
  submit(job, 0, now + kHour + 21'000);
  submit(job, v1::PRIORITY_NORMAL, now + kHour + 21'000);
  TakeAll();
  const int jobs = RunningJobs();
  EXPECT_EQ(jobs, 5);
  while (device_.num_running() > 0) device_.End();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(Next().code, 0U);
}

TEST_F(RingJoinedTest, AWrongOneAmongThemIsRefusedAlone) {
  const uint32_t job = Register();
  for (int i = 0; i < 9; ++i) {
    BasebandSubmission submission = Numbered(job);
    if (i == 4) submission.reply_offset += 1;
    if (i == 5) submission.payload_bytes -= 1;
    if (i == 6) submission.payload_offset = submission.reply_offset;
    Submit(submission);
  }
  TakeAll();
  EXPECT_EQ(RunningJobs(), 2) << "before and after";
  for (uint64_t id = 6; id <= 8; ++id) {  // the first was 1
    const BasebandCompletion refused = Next();
    EXPECT_EQ(refused.code, kInvalidArgument);
  }
  while (device_.num_running() > 0) device_.End();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(Next().code, 0U);
  EXPECT_FALSE(HasNext());
}

TEST_F(RingJoinedTest, ADeviceThatFailsIsToldToEach) {
  const uint32_t job = Register();
  for (int i = 0; i < 7; ++i) Submit(Numbered(job));
  TakeAll();
  device_.End(absl::InternalError("a wire"));
  for (int i = 0; i < 7; ++i) {
    const BasebandCompletion failed = Next();
    EXPECT_EQ(failed.code, static_cast<uint32_t>(absl::StatusCode::kInternal));
    EXPECT_EQ(TextOf(failed), "a wire");
  }
}

TEST_F(RingJoinedTest, ThoseOfAClientThatIsGoneAreLeftOut) {
  const uint32_t job = Register();
  Submit(Numbered(job));
  TakeAll();
  for (int i = 0; i < 7; ++i) Submit(Numbered(job));
  TakeAll();
  session_->End();
  device_.End();
  EXPECT_EQ(device_.num_running(), 0);
  EXPECT_EQ(Metric("baseband_requests_in_flight{rpc=\"Encode\"}"),
            "baseband_requests_in_flight{rpc=\"Encode\"} 0");
}

// Of jobs that are not kept each request is one of its own.
TEST_F(RingJoinedTest, WhatIsKeptOfRegisteredJobsIsBounded) {
  environment_.limits.max_blocks_per_request = 100'000;
  environment_.limits.max_input_bytes = 1 << 20;
  BasebandSubmission large = Described(/*blocks=*/14'000);
  large.payload_bytes = 14'000 * kPayloadBytes;
  uint32_t last_large = 0;
  for (int i = 0; i < 3; ++i) last_large = Register(large);
  const auto are_joined = [&](uint32_t job) {
    Submit(Numbered(job));
    Submit(Numbered(job));
    TakeAll();
    const int jobs = RunningJobs();
    while (device_.num_running() > 0) device_.End();
    EXPECT_EQ(Next().code, 0U);
    EXPECT_EQ(Next().code, 0U);
    return jobs == 1;
  };
  EXPECT_TRUE(are_joined(Register()));
  int registered = 0;
  while (are_joined(Register())) ASSERT_LT(++registered, 500);
  BasebandSubmission forget{};
  forget.kind = BASEBAND_RING_FORGET;
  forget.job = last_large;
  Submit(forget);
  TakeAll();
  EXPECT_EQ(Next().code, 0U);
  EXPECT_TRUE(are_joined(Register()));
}

class RingJoinedQuotaTest : public RingJoinedTest {
 protected:
  RingJoinedQuotaTest() : RingJoinedTest({/*requests=*/5, 0, 0}) {}
};

TEST_F(RingJoinedQuotaTest, AsManyAreLetInAsIfTheyHadComeOneByOne) {
  const uint32_t job = Register();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 8; ++i) Submit(Numbered(job));
    TakeAll();
    EXPECT_EQ(RunningJobs(), 5);
    for (int i = 0; i < 3; ++i) {
      const BasebandCompletion refused = Next();
      EXPECT_EQ(refused.code, kResourceExhausted);
      EXPECT_GT(refused.value, 0U) << "when to come back";
    }
    EXPECT_FALSE(HasNext());
    device_.End();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(Next().code, 0U);
  }
  EXPECT_EQ(Metric("baseband_requests_total{code=\"OK\",rpc=\"Encode\"}"),
            "baseband_requests_total{code=\"OK\",rpc=\"Encode\"} 15");
}

}  // namespace
}  // namespace baseband::server
