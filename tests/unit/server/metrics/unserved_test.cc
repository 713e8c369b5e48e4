// Each status that ends a request otherwise than with OK has one reason, wherever it has been.
#include "server/metrics/unserved.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::StatusIs;
using ::testing::MatchesRegex;

TEST(UnservedTest, AReasonTravelsWithItsStatusAndChangesNothingElseOfIt) {
  for (size_t i = 0; i < kUnservedReasonNames.size(); ++i) {
    const auto reason = static_cast<UnservedReason>(i);
    absl::Status status = absl::ResourceExhaustedError("a text");
    status.SetPayload("somebody's", absl::Cord("own"));

    const absl::StatusOr<int> result = Because(reason, std::move(status));
    const absl::Status arrived = result.status();

    EXPECT_EQ(ReasonOf(arrived), reason) << kUnservedReasonNames[i];
    EXPECT_THAT(arrived, StatusIs(absl::StatusCode::kResourceExhausted, "a text"));
    EXPECT_EQ(arrived.GetPayload("somebody's"), absl::Cord("own"));
  }
}

TEST(UnservedTest, WhatIsThereNeedsNoReason) {
  const absl::StatusOr<int> there = Because(UnservedReason::kReplyPool, absl::StatusOr<int>(7));
  ASSERT_TRUE(there.ok());
  EXPECT_EQ(*there, 7);
  const absl::StatusOr<int> missing =
      Because(UnservedReason::kReplyPool, absl::StatusOr<int>(absl::ResourceExhaustedError("")));
  EXPECT_EQ(ReasonOf(missing.status()), UnservedReason::kReplyPool);
  EXPECT_TRUE(Because(UnservedReason::kReplyPool, absl::OkStatus()).ok());
}

TEST(UnservedTest, TheLastReasonGivenCounts) {
  const absl::Status status = Because(
      UnservedReason::kBadToken, Because(UnservedReason::kBacklog, absl::UnauthenticatedError("")));
  EXPECT_EQ(ReasonOf(status), UnservedReason::kBadToken);
}

TEST(UnservedTest, WithoutAReasonTheCodeSaysIt) {
  EXPECT_EQ(ReasonOf(absl::InvalidArgumentError("")), UnservedReason::kInvalidRequest);
  EXPECT_EQ(ReasonOf(absl::NotFoundError("")), UnservedReason::kInvalidRequest);
  EXPECT_EQ(ReasonOf(absl::FailedPreconditionError("")), UnservedReason::kInvalidRequest);
  EXPECT_EQ(ReasonOf(absl::UnauthenticatedError("")), UnservedReason::kNoCredentials);
  EXPECT_EQ(ReasonOf(absl::PermissionDeniedError("")), UnservedReason::kNotAllowed);
  EXPECT_EQ(ReasonOf(absl::DeadlineExceededError("")), UnservedReason::kDeadlinePassed);
  EXPECT_EQ(ReasonOf(absl::CancelledError("")), UnservedReason::kCancelled);
  EXPECT_EQ(ReasonOf(absl::UnavailableError("")), UnservedReason::kNoDevice);
  EXPECT_EQ(ReasonOf(absl::InternalError("")), UnservedReason::kFailed);
  EXPECT_EQ(ReasonOf(absl::UnknownError("")), UnservedReason::kFailed);
  EXPECT_EQ(ReasonOf(absl::ResourceExhaustedError("")), UnservedReason::kFailed)
      << "whoever refuses for want of something says of what";
}

TEST(UnservedTest, EachReasonHasANameOfItsOwn) {
  EXPECT_EQ(kUnservedReasonNames.size(), static_cast<size_t>(UnservedReason::kFailed) + 1);
  std::set<std::string> names;
  for (const char* name : kUnservedReasonNames) {
    EXPECT_THAT(name, MatchesRegex("[a-z]+(_[a-z]+)*"));
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

}  // namespace
}  // namespace baseband::server
