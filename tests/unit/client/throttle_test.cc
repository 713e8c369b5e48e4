#include "client/cpp/throttle.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/time/time.h"
#include "client/cpp/submit_stream.h"
#include "client/cpp/submit_wire.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::client {
namespace {

using ::baseband::testing::StatusIs;

const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1);
constexpr double kMostUnlikely = 0.999999;  // a draw with which a call goes only if it always does

absl::Status Refusal(absl::Duration retry_after = absl::Milliseconds(7)) {
  absl::Status status = absl::ResourceExhaustedError("the queue is full");
  SetRetryAfter(retry_after, &status);
  return status;
}

// Calls at an even rate to a server that has room for kQueue and takes so many a second; it refuses
// the others. Each ends at once.
class ThrottledLoad {
 public:
  // Of `calls` calls, those sent.
  int Send(int calls, double rate, double accepted_rate) {
    int sent = 0;
    for (int i = 0; i < calls; ++i) {
      now_ += absl::Seconds(1 / rate);
      room_ = std::min(room_ + accepted_rate / rate, kQueue);
      if (!throttle_.Admit(draw_(random_), now_).ok()) continue;
      ++sent;
      const bool accepted = room_ >= 1;
      if (accepted) room_ -= 1;
      throttle_.OnEnd(accepted ? absl::OkStatus() : Refusal(), now_);
    }
    return sent;
  }

 private:
  static constexpr double kQueue = 20;

  Throttle throttle_;
  absl::Time now_ = kStart;
  double room_ = kQueue;
  std::mt19937 random_{20161};
  std::uniform_real_distribution<double> draw_;
};

TEST(ThrottleTest, AnOverloadedServerGetsTwiceWhatItAccepts) {
  ThrottledLoad load;
  load.Send(50'000, 10'000, 1'000);
  EXPECT_NEAR(load.Send(100'000, 10'000, 1'000), 20'000, 2'000);
}

TEST(ThrottleTest, NothingIsWithheldFromAServerThatAcceptsAll) {
  ThrottledLoad load;
  EXPECT_EQ(load.Send(100'000, 10'000, 10'000), 100'000);
}

TEST(ThrottleTest, AllIsSentAgainTwoSecondsAfterAnOverload) {
  ThrottledLoad load;
  load.Send(50'000, 10'000, 1'000);
  load.Send(20'000, 10'000, 10'000);
  EXPECT_EQ(load.Send(10'000, 10'000, 10'000), 10'000);
}

TEST(ThrottleTest, AServerThatRefusesAllIsAskedWhetherItStillDoes) {
  ThrottledLoad load;
  load.Send(50'000, 10'000, 0);
  const double expected = 10 * Throttle::kAlwaysSent;
  EXPECT_NEAR(load.Send(100'000, 10'000, 0), expected, 4 * std::sqrt(expected));
}

TEST(ThrottleTest, AFewRefusalsWithholdNothing) {
  Throttle throttle;
  for (int i = 0; i <= Throttle::kAlwaysSent; ++i) {
    ASSERT_TRUE(throttle.Admit(kMostUnlikely, kStart).ok());
    throttle.OnEnd(Refusal(), kStart);
  }
  EXPECT_FALSE(throttle.Admit(kMostUnlikely, kStart).ok());
}

TEST(ThrottleTest, CallsThatHaveNotEndedWithholdNothing) {
  Throttle throttle;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(throttle.Admit(kMostUnlikely, kStart).ok());
}

TEST(ThrottleTest, NoOtherErrorsCount) {
  Throttle throttle;
  for (const absl::Status& other :
       {absl::ResourceExhaustedError("larger than the server reads"),
        absl::InvalidArgumentError(""), absl::UnavailableError(""), absl::CancelledError("")}) {
    for (int i = 0; i < 1000; ++i) throttle.OnEnd(other, kStart);
    EXPECT_TRUE(throttle.Admit(kMostUnlikely, kStart).ok()) << other;
  }
}

TEST(ThrottleTest, WhereAQuarterIsInTimeNothingIsWithheld) {
  Throttle throttle;
  for (int i = 0; i < 1000; ++i) {
    throttle.OnEnd(i % 4 == 0 ? absl::OkStatus() : absl::DeadlineExceededError(""), kStart);
    EXPECT_TRUE(throttle.Admit(kMostUnlikely, kStart).ok());
  }
}

TEST(ThrottleTest, WhatWouldMostLikelyBeLateIsLateAtOnce) {
  Throttle throttle;
  for (int i = 0; i < 10; ++i) throttle.OnEnd(absl::OkStatus(), kStart);
  for (int i = 0; i < 40; ++i) throttle.OnEnd(Refusal(), kStart);
  for (int i = 0; i < 50; ++i) throttle.OnEnd(absl::DeadlineExceededError(""), kStart);
  EXPECT_THAT(throttle.Admit(kMostUnlikely, kStart),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "not sent: 50 of the last 100 such calls were late"));
}

TEST(ThrottleTest, WhatIsWithheldSaysWhyAndWhenToComeBack) {
  Throttle throttle;
  for (int i = 0; i < 10; ++i) throttle.OnEnd(absl::OkStatus(), kStart);
  for (int i = 0; i < 90; ++i) throttle.OnEnd(Refusal(), kStart);
  throttle.OnEnd(Refusal(absl::Milliseconds(25)), kStart);
  const absl::Status status = throttle.Admit(kMostUnlikely, kStart);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               "not sent: the server refused 91 of the last 101 such calls"));
  EXPECT_EQ(RetryAfter(status), absl::Milliseconds(25));
}

TEST(ClientThrottleTest, CallsThatHaveMoreTimeAreSent) {
  ClientThrottle throttle(/*on=*/true);
  const auto kind = [](absl::Duration timeout) {
    return ClientThrottle::KindOf("Decode", Priority::kNormal, timeout);
  };
  for (int i = 0; i < 10'000; ++i) {
    throttle.OnEnd(kind(absl::Milliseconds(1)), absl::DeadlineExceededError(""));
  }
  int sent = 0;
  for (int i = 0; i < 100; ++i) sent += throttle.Admit(kind(absl::Milliseconds(1))).ok() ? 1 : 0;
  EXPECT_LT(sent, 20);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(throttle.Admit(kind(absl::Seconds(1))).ok());
    EXPECT_TRUE(throttle.Admit(kind(absl::InfiniteDuration())).ok());
  }
}

TEST(ThrottleTest, RefusalsAreForgotten) {
  Throttle throttle;
  for (int i = 0; i < 10'000; ++i) throttle.OnEnd(Refusal(), kStart);
  EXPECT_FALSE(throttle.Admit(kMostUnlikely, kStart + absl::Seconds(1)).ok());
  EXPECT_TRUE(throttle.Admit(kMostUnlikely, kStart + 10 * Throttle::kMemory).ok());
}

}  // namespace
}  // namespace baseband::client
