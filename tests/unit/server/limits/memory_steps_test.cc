#include "server/limits/memory_steps.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/limits/retry_after.h"
#include "server/metrics/unserved.h"
#include "tests/support/constants.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kHeld = 500 * kMib;
constexpr int64_t kLimit = 1500 * kMib;

// In use with so many percent of what was free at the start.
int64_t At(int percent) { return kHeld + percent * 10 * kMib; }

TEST(MemoryStepsTest, OneStepAfterTheOther) {
  MemorySteps steps(kLimit, kHeld);
  EXPECT_EQ(steps.Update(kHeld / 2), MemoryStep::kNone);
  EXPECT_EQ(steps.Update(At(79)), MemoryStep::kNone);
  EXPECT_EQ(steps.Update(At(81)), MemoryStep::kGiveBack);
  EXPECT_THAT(steps.Admit(Priority::kLow), IsOk());
  EXPECT_EQ(steps.Update(At(88)), MemoryStep::kRefuseLow);
  EXPECT_THAT(steps.Admit(Priority::kNormal), IsOk());
  const absl::Status refused = steps.Admit(Priority::kLow);
  EXPECT_THAT(refused,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1380 of 1500 MiB")));
  EXPECT_EQ(ReasonOf(refused), UnservedReason::kMemory);
  EXPECT_GE(RetryAfter(refused, absl::ZeroDuration()), MemorySteps::kRetryAfter / 2);
  EXPECT_LE(RetryAfter(refused, absl::InfiniteDuration()), MemorySteps::kRetryAfter * 1.5);
  EXPECT_NE(RetryAfter(refused, absl::ZeroDuration()),
            RetryAfter(steps.Admit(Priority::kLow), absl::ZeroDuration()));
  EXPECT_TRUE(steps.may_connect());
  EXPECT_EQ(steps.Update(At(95)), MemoryStep::kRefuseAll);
  EXPECT_THAT(steps.Admit(Priority::kHigh),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("everybody")));
  EXPECT_FALSE(steps.may_connect());
}

TEST(MemoryStepsTest, AStepEndsALittleBelowWhereItBegins) {
  MemorySteps steps(kLimit, kHeld);
  EXPECT_EQ(steps.Update(At(99)), MemoryStep::kRefuseAll);
  EXPECT_EQ(steps.Update(At(90)), MemoryStep::kRefuseAll);
  EXPECT_EQ(steps.Update(At(88)), MemoryStep::kRefuseLow);
  EXPECT_EQ(steps.Update(At(90)), MemoryStep::kRefuseLow);
  EXPECT_EQ(steps.Update(At(10)), MemoryStep::kNone);
  EXPECT_TRUE(steps.may_connect());
}

TEST(MemoryStepsTest, WhatIsGivenAwayLeavesAsMuchAsPriorityLowNeeds) {
  MemorySteps steps(kLimit, kHeld);
  steps.Update(At(50));
  EXPECT_THAT(steps.AdmitBytes(At(86) - At(50)), IsOk());
  EXPECT_THAT(
      steps.AdmitBytes(At(88) - At(50)),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1000 of 1500 MiB are in use")));
  EXPECT_THAT(steps.AdmitBytes(INT64_MAX), StatusIs(absl::StatusCode::kResourceExhausted,
                                                    HasSubstr("no more than 1370 are given away")));
  steps.Update(At(88));
  steps.Update(At(83));
  EXPECT_THAT(steps.AdmitBytes(1),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("scarce")))
      << "the step goes on";
  EXPECT_THAT(MemorySteps(0, kHeld).AdmitBytes(INT64_MAX), IsOk());
}

TEST(MemoryStepsTest, WithoutALimitOrAnythingFreeThereAreNone) {
  MemorySteps none(0, kHeld);
  EXPECT_EQ(none.Update(1000 * kLimit), MemoryStep::kNone);
  MemorySteps full(kHeld, kHeld);
  EXPECT_EQ(full.Update(2 * kHeld), MemoryStep::kNone);
  EXPECT_THAT(full.Admit(Priority::kLow), IsOk());
}

}  // namespace
}  // namespace baseband::server
