// Which requests count as having met or missed their deadline, and which do not count.
#include "server/calls/deadline_outcome.h"

#include <gtest/gtest.h>

namespace baseband::server {
namespace {

constexpr absl::StatusCode kOk = absl::StatusCode::kOk;
const absl::Time kArrived = absl::UnixEpoch() + absl::Hours(1);
const absl::Time kNever = absl::InfiniteFuture();

// Of a request with a deadline of 100 ms that was answered so long after its arrival.
absl::optional<DeadlineOutcome> After(absl::Duration answered, absl::StatusCode code = kOk,
                                      absl::Time given_up = kNever) {
  return DeadlineOutcomeOf(
      {Rpc(), code, kArrived, kArrived + absl::Milliseconds(100), kArrived + answered}, given_up);
}

TEST(DeadlineOutcomeTest, WithoutADeadlineThereIsNone) {
  const FlightEnd end = {Rpc(), kOk, kArrived, kNever, kArrived + absl::Hours(1)};
  EXPECT_EQ(DeadlineOutcomeOf(end, kNever), absl::nullopt);
}

TEST(DeadlineOutcomeTest, AResultIsInTimeUpToTheDeadline) {
  EXPECT_EQ(After(absl::Milliseconds(1)), DeadlineOutcome::kMet);
  EXPECT_EQ(After(absl::Milliseconds(100)), DeadlineOutcome::kMet);
  EXPECT_EQ(After(absl::Milliseconds(101)), DeadlineOutcome::kMissed);
}

TEST(DeadlineOutcomeTest, AnErrorIsNoResultHoweverEarly) {
  EXPECT_EQ(After(absl::Milliseconds(1), absl::StatusCode::kDeadlineExceeded),
            DeadlineOutcome::kMissed);
  EXPECT_EQ(After(absl::Milliseconds(1), absl::StatusCode::kUnavailable), DeadlineOutcome::kMissed);
}

TEST(DeadlineOutcomeTest, WhoGivesUpBeforeTheDeadlineCountsAsNeither) {
  const absl::Time early = kArrived + absl::Milliseconds(50);
  EXPECT_EQ(After(absl::Milliseconds(60), absl::StatusCode::kCancelled, early), absl::nullopt);
  EXPECT_EQ(After(absl::Milliseconds(60), kOk, early), absl::nullopt);
  EXPECT_EQ(After(absl::Milliseconds(900), absl::StatusCode::kCancelled, early), absl::nullopt)
      << "the server noticed late";
}

TEST(DeadlineOutcomeTest, WhoGivesUpAtTheDeadlineHasMissedIt) {
  for (const absl::Duration at : {absl::Milliseconds(97.5), absl::Milliseconds(150)}) {
    EXPECT_EQ(After(absl::Milliseconds(200), absl::StatusCode::kCancelled, kArrived + at),
              DeadlineOutcome::kMissed)
        << at;
  }
}

TEST(DeadlineOutcomeTest, WhoGivesUpAfterTheAnswerHasHadIt) {
  EXPECT_EQ(After(absl::Milliseconds(20), kOk, kArrived + absl::Milliseconds(21)),
            DeadlineOutcome::kMet);
}

TEST(GaveUpAtDeadlineTest, WhoNeverDidDidNotAtTheDeadlineEither) {
  const absl::Time deadline = kArrived + absl::Milliseconds(20);
  EXPECT_FALSE(GaveUpAtDeadline(kArrived, deadline, kNever));
  EXPECT_FALSE(GaveUpAtDeadline(kArrived, kNever, deadline));
  EXPECT_FALSE(GaveUpAtDeadline(kArrived, deadline, kArrived + absl::Milliseconds(10)));
  EXPECT_TRUE(GaveUpAtDeadline(kArrived, deadline, deadline));
}

TEST(EndOfTest, WhoWaitsHearsWhatItWas) {
  EXPECT_EQ(EndOf(absl::OkStatus(), kArrived, kNever, kNever).code(), kOk);
  EXPECT_EQ(EndOf(absl::CancelledError(""), kArrived, kNever, kNever).code(),
            absl::StatusCode::kCancelled);
}

TEST(EndOfTest, NobodyHearsAnOkAfterGivingUp) {
  const absl::Time deadline = kArrived + absl::Milliseconds(100);
  const auto end = [&](absl::Time given_up) {
    return EndOf(absl::OkStatus(), kArrived, deadline, given_up).code();
  };
  EXPECT_EQ(end(kArrived), absl::StatusCode::kCancelled);
  EXPECT_EQ(end(kArrived + absl::Milliseconds(96)), absl::StatusCode::kCancelled);
  EXPECT_EQ(end(kArrived + absl::Milliseconds(98)), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(end(deadline + absl::Hours(1)), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(EndOf(absl::OkStatus(), kArrived, kNever, deadline).code(),
            absl::StatusCode::kCancelled);
}

TEST(EndOfTest, AnErrorStaysWhatItWas) {
  const absl::Status error = EndOf(absl::InternalError("broken"), kArrived, kNever, kArrived);
  EXPECT_EQ(error, absl::InternalError("broken"));
}

}  // namespace
}  // namespace baseband::server
