// The watch where not everybody may call: of strangers gRPC reads little.
#include <sys/uio.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server/service/stranger_watch_fixture.h"

namespace baseband::server {
namespace {

class LimitedWatchTest : public StrangerWatchTest {
 protected:
  // As gRPC does: how much there is.
  static int64_t ReadAll(int fd) {
    std::string bytes(1 << 20, '\0');
    iovec place = {bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    int64_t read = 0;
    for (;;) {
      const ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT);
      if (n <= 0) return read;
      read += n;
    }
  }

  // So many calls that let nobody in.
  void Call(const Connection& connection, int calls, absl::Time now) {
    for (int i = 0; i < calls; ++i) limited_.CountCall(KeyOfSocket(connection.fd()), now);
  }

  // A connection from there says more than gRPC gets of it, for too long: until `now`.
  void Offend(const std::string& from, absl::Time now) {
    const absl::Time begin = now - StrangerWatch::kGrace - 5 * kLook;
    const auto one = Connect(from.c_str());
    ASSERT_TRUE(limited_watch_.Admit(one->fd(), begin).has_value());
    EXPECT_TRUE(limited_watch_.Pass(one->fd(), begin));
    one->Send(1 << 20);
    int64_t reset = 0;
    for (absl::Time t = begin; reset == 0 && t <= now; t += kLook) {
      ReadAll(one->fd());
      reset = limited_watch_.Look(t, {});
    }
    EXPECT_EQ(reset, 1);
  }
  // What gRPC gets of a new connection from there.
  int64_t FirstBytes(const std::string& from, absl::Time now) {
    const auto one = Connect(from.c_str());
    EXPECT_EQ(limited_watch_.Admit(one->fd(), now), absl::ZeroDuration());
    one->Send(3 * StrangerWatch::kFirstBytes);
    return ReadAll(one->fd());
  }

  Strangers limited_{/*is_limited=*/true};
  StrangerWatch limited_watch_{&limited_};
};

TEST_F(LimitedWatchTest, OfAStrangerLittleIsReadUntilHeIsLetIn) {
  const auto one = Connect();
  EXPECT_EQ(limited_watch_.Admit(one->fd(), kStart), absl::ZeroDuration());
  one->Send(3 * StrangerWatch::kFirstBytes);
  EXPECT_EQ(ReadAll(one->fd()), StrangerWatch::kFirstBytes);
  EXPECT_EQ(limited_watch_.Look(kStart, {}), 0);
  absl::Time now = kStart + kLook;
  EXPECT_EQ(limited_watch_.Look(now, {}), 0);
  EXPECT_EQ(ReadAll(one->fd()),
            absl::ToInt64Milliseconds(kLook) * StrangerWatch::kBrakedBytesPerSecond / 1000);
  limited_.LetIn("127.0.0.1:" + std::to_string(one->port()));
  EXPECT_EQ(limited_watch_.Look(now, {}), 0);
  EXPECT_GT(ReadAll(one->fd()), StrangerWatch::kFirstBytes);
  EXPECT_FALSE(one->IsReset());
}

TEST_F(LimitedWatchTest, WhoseBytesWaitForLongIsReset) {
  const auto one = Connect();
  const auto patient = Connect("127.0.0.2");
  for (const auto* const each : {&one, &patient}) limited_watch_.Admit((*each)->fd(), kStart);
  one->Send(1 << 20);
  int64_t reset = 0;
  absl::Time now = kStart;
  for (; reset == 0 && now < kStart + absl::Minutes(1); now += kLook) {
    patient->Send(100);
    ReadAll(one->fd());
    ReadAll(patient->fd());
    reset = limited_watch_.Look(now, {});
  }
  EXPECT_EQ(reset, 1);
  EXPECT_GE(now - kStart, StrangerWatch::kGrace);
  EXPECT_LE(now - kStart, StrangerWatch::kGrace + 5 * kLook);
  EXPECT_TRUE(one->IsReset());
  EXPECT_FALSE(patient->IsReset());
}

TEST_F(LimitedWatchTest, WhoGoesAfterManyCallsIsAnOffenderAndWhoMadeAFewIsNot) {
  for (const auto& [from, calls] : {std::pair("127.0.0.1", 200), std::pair("127.0.0.2", 100)}) {
    auto one = Connect(from);
    limited_watch_.Admit(one->fd(), kStart);
    Call(*one, calls, kStart);
    one.reset();
    limited_watch_.Look(kStart + StrangerWatch::kInterval, {});
    limited_watch_.Look(kStart + 2 * StrangerWatch::kInterval, {});
    const auto next = Connect(from);
    EXPECT_EQ(limited_watch_.Admit(next->fd(), kStart + absl::Seconds(1)),
              calls > StrangerWatch::kCallsInPassing ? StrangerWatch::kWait : absl::ZeroDuration());
  }
}

TEST_F(LimitedWatchTest, OfASuspectLessIsReadAtATimeAndFewCallsAreForgiven) {
  const auto offender = Connect();
  limited_watch_.Admit(offender->fd(), kStart);
  Call(*offender, 2 * Strangers::kCalls, kStart);
  EXPECT_EQ(limited_watch_.Look(kStart, {}), 1);

  const auto next = Connect();
  EXPECT_EQ(limited_watch_.Admit(next->fd(), kStart), StrangerWatch::kWait);
  absl::Time now = kStart + StrangerWatch::kWait;
  EXPECT_TRUE(limited_watch_.Pass(next->fd(), now));
  next->Send(10 * StrangerWatch::kSuspectsBytesALook);
  EXPECT_EQ(ReadAll(next->fd()), StrangerWatch::kSuspectsFirstBytes);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(limited_watch_.Look(now, {}), 0);
    now += kLook;
    EXPECT_EQ(limited_watch_.Look(now, {}), 0);
    EXPECT_EQ(ReadAll(next->fd()), StrangerWatch::kSuspectsBytesALook);
  }
  Call(*next, StrangerWatch::kSuspectsCalls, now);
  EXPECT_EQ(limited_watch_.Look(now, {}), 0);
  now += kLook;
  EXPECT_EQ(limited_watch_.Look(now, {}), 0);
  EXPECT_EQ(ReadAll(next->fd()), StrangerWatch::kSuspectsBytesAfterCalls);
  Call(*next, StrangerWatch::kSuspectsCalls, now);
  EXPECT_EQ(limited_watch_.Look(now + kLook, {}), 1);
}

TEST_F(LimitedWatchTest, OfWhoWasThereBeforeHisAddressOffendedLessIsReadToo) {
  const auto patient = Connect();
  limited_watch_.Admit(patient->fd(), kStart);
  ReadAll(patient->fd());
  absl::Time now = kStart + 3 * StrangerWatch::kGrace;
  Offend("127.0.0.1", now);
  patient->Send(StrangerWatch::kFirstBytes / 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(limited_watch_.Look(now, {}), 0);
    now += kLook;
    EXPECT_EQ(limited_watch_.Look(now, {}), 0);
    EXPECT_EQ(ReadAll(patient->fd()), StrangerWatch::kSuspectsBytesALook);
  }
}

TEST_F(LimitedWatchTest, WhileManyAddressesBecomeOffendersEverybodyIsSuspectAndNobodyWaitsForIt) {
  for (int i = 0; i < 2 * StrangerWatch::kNewOffendersPerSecond; ++i) {
    if (i < StrangerWatch::kNewOffendersPerSecond) {
      EXPECT_EQ(FirstBytes("127.0.1.1", kStart), StrangerWatch::kFirstBytes) << i;
    }
    Offend("127.0.0." + std::to_string(10 + i), kStart);
  }
  EXPECT_EQ(FirstBytes("127.0.1.1", kStart), StrangerWatch::kSuspectsFirstBytes);
  EXPECT_EQ(FirstBytes("127.0.1.1", kStart + absl::Seconds(2)), StrangerWatch::kFirstBytes);
}

TEST_F(LimitedWatchTest, HoweverManyTheyWereItIsForgottenWithinSeconds) {
  for (int i = 0; i < 10 * StrangerWatch::kNewOffendersPerSecond; ++i) {
    Offend("127.0.0." + std::to_string(10 + i), kStart);
  }
  EXPECT_EQ(FirstBytes("127.0.1.1", kStart + absl::Milliseconds(500)),
            StrangerWatch::kSuspectsFirstBytes);
  EXPECT_EQ(FirstBytes("127.0.1.1", kStart + absl::Seconds(3)), StrangerWatch::kFirstBytes);
}

TEST_F(LimitedWatchTest, OneAddressMakesNobodyElseSuspectNorDoGuessers) {
  absl::Time now = kStart;
  for (int i = 0; i < 5 * StrangerWatch::kNewOffendersPerSecond; ++i, now += kLook) {
    Offend("127.0.0.1", now);
    const auto guesser = Connect(("127.0.2." + std::to_string(1 + i)).c_str());
    limited_watch_.Admit(guesser->fd(), now);
    for (int guess = 0; guess < 2 * Strangers::kGuesses; ++guess) {
      limited_.CountGuess(KeyOfSocket(guesser->fd()), now);
    }
    limited_watch_.Look(now, {});
  }
  EXPECT_EQ(FirstBytes("127.0.1.1", now), StrangerWatch::kFirstBytes);
}

TEST_F(LimitedWatchTest, OfWhoGuessesOrComesFromThereAsMuchIsReadAsOfAnybody) {
  const auto guesser = Connect();
  limited_watch_.Admit(guesser->fd(), kStart);
  ReadAll(guesser->fd());
  for (int guess = 0; guess < 2 * Strangers::kGuesses; ++guess) {
    limited_.CountGuess(KeyOfSocket(guesser->fd()), kStart);
  }
  guesser->Send(StrangerWatch::kFirstBytes / 2);
  EXPECT_EQ(limited_watch_.Look(kStart, {}), 0);
  EXPECT_EQ(limited_watch_.Look(kStart + kLook, {}), 0);
  EXPECT_EQ(ReadAll(guesser->fd()), StrangerWatch::kFirstBytes / 2);
  const auto next = Connect();
  EXPECT_EQ(limited_watch_.Admit(next->fd(), kStart + kLook), StrangerWatch::kWait);
  EXPECT_TRUE(limited_watch_.Pass(next->fd(), kStart + kLook));
  next->Send(StrangerWatch::kFirstBytes / 2);
  EXPECT_GT(ReadAll(next->fd()), StrangerWatch::kFirstBytes / 2);
}

TEST_F(LimitedWatchTest, WhileStrangersMakeVeryManyCallsNewOnesAreSuspect) {
  std::vector<std::unique_ptr<Connection>> callers;
  for (int i = 0; i < 11; ++i) {
    callers.push_back(Connect(("127.0.0." + std::to_string(10 + i)).c_str()));
    limited_watch_.Admit(callers.back()->fd(), kStart);
    EXPECT_EQ(FirstBytes("127.0.1.1", kStart), StrangerWatch::kFirstBytes) << i;
    Call(*callers.back(), 100, kStart);  // too few for an offence
  }
  EXPECT_EQ(FirstBytes("127.0.1.1", kStart), StrangerWatch::kSuspectsFirstBytes);
  EXPECT_EQ(FirstBytes("127.0.1.1", kStart + absl::Seconds(1)), StrangerWatch::kFirstBytes);
}

TEST_F(LimitedWatchTest, WhoGoesIsCountedAlsoWhereTheNextOneHasHisDescriptor) {
  auto one = Connect();
  const int fd = one->fd();
  limited_watch_.Admit(fd, kStart);
  Call(*one, 200, kStart);
  one.reset();
  const auto next = Connect();
  ASSERT_EQ(next->fd(), fd);
  EXPECT_EQ(limited_watch_.Admit(fd, kStart), StrangerWatch::kWait);
}

TEST_F(LimitedWatchTest, NobodyAtAUnixSocketIsSuspect) {
  for (int i = 0; i < 2; ++i) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const auto wait = limited_watch_.Admit(ends[0], kStart);
    ASSERT_TRUE(wait.has_value());
    EXPECT_EQ(*wait > absl::ZeroDuration(), i > 0);
    EXPECT_TRUE(limited_watch_.Pass(ends[0], kStart));
    const std::string bytes(30 << 10, 'x');
    EXPECT_GT(send(ends[1], bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    EXPECT_EQ(ReadAll(ends[0]), StrangerWatch::kFirstBytes);
    for (int call = 0; call < 2 * Strangers::kCalls; ++call) {
      limited_.CountCall(KeyOfSocket(ends[0]), kStart);
    }
    EXPECT_EQ(limited_watch_.Look(kStart, {}), 1);
    for (const int fd : ends) close(fd);
  }
}

TEST_F(LimitedWatchTest, AUnixSocketsBytesAreCountedToo) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  limited_watch_.Admit(ends[0], kStart);
  absl::Time now = kStart;
  const std::string bytes(4 << 10, 'x');
  int64_t reset = 0;
  // Less than gRPC may get, but for long.
  for (; reset == 0 && now < kStart + absl::Minutes(1); now += kLook) {
    EXPECT_GT(send(ends[1], bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    ReadAll(ends[0]);
    reset = limited_watch_.Look(now, {});
  }
  EXPECT_EQ(reset, 1);
  EXPECT_LT(now - kStart, absl::Seconds(5));
  for (const int fd : ends) close(fd);
}

TEST_F(LimitedWatchTest, WhoIsKnownByHisSocketIsNoStranger) {
  Strangers strangers(/*is_limited=*/true, [](int) { return true; });
  StrangerWatch watch(&strangers);
  const auto one = Connect();
  EXPECT_EQ(watch.Admit(one->fd(), kStart), absl::ZeroDuration());
  EXPECT_TRUE(strangers.empty());
  one->Send(3 * StrangerWatch::kFirstBytes);
  EXPECT_GT(ReadAll(one->fd()), 2 * StrangerWatch::kFirstBytes);
}

TEST_F(LimitedWatchTest, WhoMakesManyCallsIsResetAtOnceAndWhatIsUnreadIsGone) {
  const auto one = Connect();
  limited_watch_.Admit(one->fd(), kStart);
  one->Send(60 << 10);
  Call(*one, 2 * Strangers::kCalls, kStart);
  EXPECT_EQ(limited_watch_.Look(kStart, {}), 1);
  EXPECT_EQ(ReadAll(one->fd()), 0);
  const auto next = Connect();
  EXPECT_EQ(limited_watch_.Admit(next->fd(), kStart), StrangerWatch::kWait);
}

}  // namespace
}  // namespace baseband::server
