#include "client/cpp/throttle.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cpp/submit_stream.h"
#include "client/cpp/submit_wire.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"
#include "tests/support/constants.h"
#include "tests/support/status_matchers.h"

namespace baseband::client {
namespace {

using ::baseband::testing::StatusIs;

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

ClientThrottle::Kind KindWithin(absl::Duration timeout) {
  return ClientThrottle::KindOf("Decode", Priority::kNormal, timeout);
}

// So many calls of `kind` at a time, all of which end as late; how many were sent.
int SendInVain(int calls, const ClientThrottle::Kind& kind, ClientThrottle* throttle) {
  int sent = 0;
  for (int i = 0; i < calls; ++i) sent += throttle->Admit(kind).status.ok() ? 1 : 0;
  for (int i = 0; i < sent; ++i)
    throttle->OnEnd(kind, absl::DeadlineExceededError(""), /*was_late=*/true, 1.0);
  return sent;
}

TEST(ClientThrottleTest, WhereCallsAreLateFewerAreInFlight) {
  ClientThrottle throttle(/*on=*/true);
  const auto kind = KindWithin(absl::Milliseconds(2));
  EXPECT_FALSE(throttle.is_limiting());
  EXPECT_EQ(SendInVain(100, kind, &throttle), 100);
  EXPECT_TRUE(throttle.is_limiting());
  int sent = 0;
  absl::Status status;
  while ((status = throttle.Admit(kind).status).ok()) ++sent;
  EXPECT_LT(sent, 100);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               absl::StrCat("not sent: ", sent,
                                            " such calls are in flight, and with more of them too "
                                            "many are late")));
}

// It had waited for most of its time before it was sent, and is late soon after.
TEST(ClientThrottleTest, WhatWasSentLateIsLateToo) {
  ClientThrottle throttle(/*on=*/true);
  const auto kind = KindWithin(absl::Milliseconds(2));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(throttle.Admit(kind).status.ok());
  for (int i = 0; i < 100; ++i) throttle.OnEnd(kind, absl::OkStatus(), /*was_late=*/true, 0.4);
  EXPECT_TRUE(throttle.is_limiting());
}

// It has time left: the server refused it.
TEST(ClientThrottleTest, WhatTheServerRefusesAsTooLateIsNotLate) {
  ClientThrottle throttle(/*on=*/true);
  const auto kind = KindWithin(absl::Milliseconds(2));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(throttle.Admit(kind).status.ok());
    throttle.OnEnd(kind, absl::DeadlineExceededError("an idle server would be late"),
                   /*was_late=*/false, 0.1);
  }
  EXPECT_FALSE(throttle.is_limiting());
}

TEST(ClientThrottleTest, CallsThatHaveMoreTimeAreSent) {
  ClientThrottle throttle(/*on=*/true);
  SendInVain(100, KindWithin(absl::Milliseconds(1)), &throttle);
  EXPECT_LT(SendInVain(100, KindWithin(absl::Milliseconds(1)), &throttle), 100);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(throttle.Admit(KindWithin(absl::Seconds(1))).status.ok());
    EXPECT_TRUE(throttle.Admit(KindWithin(absl::InfiniteDuration())).status.ok());
  }
}

class NotedWaiter final : public ClientThrottle::Waiter {
 public:
  bool OnRoom() override {
    ++told;
    return waits;
  }
  int told = 0;
  bool waits = true;
};

// As many of this kind are in flight as may be.
class WaitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SendInVain(100, kind_, &throttle_);
    while (throttle_.Admit(kind_).status.ok()) {
    }
  }
  absl::Time Wait(const std::shared_ptr<NotedWaiter>& waiter, absl::Duration left) {
    return throttle_.Admit(kind_, SteadyNow() + left, kTimeout, waiter).wait_until;
  }
  void EndOne() {
    throttle_.OnEnd(kind_, absl::OkStatus(), /*was_late=*/false, 0.1);
    throttle_.TellWaiting(kind_);
  }

  static constexpr absl::Duration kTimeout = absl::Hours(1);
  const ClientThrottle::Kind kind_ = KindWithin(kTimeout);
  ClientThrottle throttle_{/*on=*/true};
};

TEST_F(WaitTest, OneWaitsUntilThereIsRoomWhoHasMostTimeFirst) {
  const auto less = std::make_shared<NotedWaiter>();
  const auto more = std::make_shared<NotedWaiter>();
  EXPECT_GT(Wait(less, kTimeout - absl::Minutes(1)), SteadyNow());
  EXPECT_GT(Wait(more, kTimeout), SteadyNow());
  throttle_.TellWaiting(kind_);
  EXPECT_EQ(less->told + more->told, 0);
  EndOne();
  EXPECT_EQ(more->told, 1);
  EXPECT_EQ(less->told, 0);
  ASSERT_TRUE(throttle_.Admit(kind_).status.ok());
  EndOne();
  EXPECT_EQ(more->told, 1);
  EXPECT_EQ(less->told, 1);
}

TEST_F(WaitTest, AsManyAreToldAsThereIsRoomFor) {
  std::vector<std::shared_ptr<NotedWaiter>> waiters(5);
  for (auto& waiter : waiters) {
    waiter = std::make_shared<NotedWaiter>();
    Wait(waiter, kTimeout);
  }
  for (int i = 0; i < 3; ++i) throttle_.OnEnd(kind_, absl::OkStatus(), /*was_late=*/false, 0.1);
  throttle_.TellWaiting(kind_);
  int told = 0;
  for (const auto& waiter : waiters) told += waiter->told;
  EXPECT_EQ(told, 3);
}

TEST_F(WaitTest, WhoIsGoneOrWaitsNoMoreIsPassedOver) {
  const auto waits = std::make_shared<NotedWaiter>();
  const auto has_ended = std::make_shared<NotedWaiter>();
  has_ended->waits = false;
  Wait(waits, kTimeout - absl::Minutes(1));
  Wait(has_ended, kTimeout);
  Wait(std::make_shared<NotedWaiter>(), kTimeout);
  EndOne();
  EXPECT_EQ(waits->told, 1);
}

// Lately calls took all of it.
TEST_F(WaitTest, WhoHasLessTimeThanCallsTakeIsNotTold) {
  const auto waiter = std::make_shared<NotedWaiter>();
  EXPECT_GT(Wait(waiter, 0.8 * kTimeout), SteadyNow());
  EndOne();
  EXPECT_EQ(waiter->told, 0);
}

TEST_F(WaitTest, NobodyWaitsForMoreThanHalfOfHisTimeInVain) {
  EXPECT_EQ(Wait(std::make_shared<NotedWaiter>(), kTimeout / 2), absl::InfinitePast());
}

TEST_F(WaitTest, WhereThereIsRoomNobodyWaits) {
  EndOne();
  EXPECT_EQ(Wait(std::make_shared<NotedWaiter>(), kTimeout), absl::InfinitePast());
}

TEST(ClientThrottleTest, SwitchedOffItSendsAll) {
  ClientThrottle throttle(/*on=*/false);
  const auto kind = KindWithin(absl::Milliseconds(1));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(SendInVain(100, kind, &throttle), 100);
}

}  // namespace
}  // namespace baseband::client
