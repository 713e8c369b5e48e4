#include "server/service/stranger_watch.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace baseband::server {
namespace {

const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1);
constexpr absl::Duration kLook = StrangerWatch::kInterval;

sockaddr_in Loopback(const char* address, int port) {
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address, &loopback.sin_addr);
  return loopback;
}

class StrangerWatchTest : public ::testing::Test {
 protected:
  // A TCP connection, both ends of it; the server's is read as gRPC would.
  class Connection {
   public:
    // Comes from `from`, and port `port` of that if it is not 0.
    Connection(int listener, const char* from, int port)
        : client_(socket(AF_INET, SOCK_STREAM, 0)) {
      const int on = 1;
      setsockopt(client_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
      const sockaddr_in own = Loopback(from, port);
      EXPECT_EQ(bind(client_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)), 0);
      sockaddr_in to{};
      socklen_t size = sizeof(to);
      getsockname(listener, reinterpret_cast<sockaddr*>(&to), &size);
      EXPECT_EQ(connect(client_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
      server_ = accept(listener, nullptr, nullptr);
      Send(1);
    }
    ~Connection() {
      CloseClient();
      if (server_ >= 0) close(server_);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    int fd() const { return server_; }
    int port() const {
      sockaddr_in own{};
      socklen_t size = sizeof(own);
      getsockname(client_, reinterpret_cast<sockaddr*>(&own), &size);
      return ntohs(own.sin_port);
    }
    void Send(int64_t bytes) const {
      const std::string text(static_cast<size_t>(bytes), 'x');
      EXPECT_EQ(send(client_, text.data(), text.size(), MSG_NOSIGNAL), bytes);
    }
    // So much is sent, and taken by the server but for one byte, by which it is seen.
    void Bring(int64_t bytes) const {
      std::string text(16 << 10, '\0');
      while (bytes > 0) {
        const int64_t part = std::min<int64_t>(bytes, static_cast<int64_t>(text.size()));
        Send(part);
        EXPECT_EQ(recv(server_, text.data(), static_cast<size_t>(part), MSG_WAITALL), part);
        bytes -= part;
      }
    }
    bool IsReset() const {
      char bytes[8] = {};
      return recv(server_, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0 &&
             recv(server_, bytes, sizeof(bytes), MSG_DONTWAIT) == 0;
    }
    void ResetByClient() {
      const linger at_once = {1, 0};
      setsockopt(client_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
      CloseClient();
    }

   private:
    void CloseClient() {
      if (client_ >= 0) close(client_);
      client_ = -1;
    }

    int client_ = -1;
    int server_ = -1;
  };

  StrangerWatchTest() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in any = Loopback("127.0.0.1", 0);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&any), sizeof(any)), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
  }
  ~StrangerWatchTest() override { close(listener_); }

  std::unique_ptr<Connection> Connect(const char* from = "127.0.0.1", int port = 0) const {
    return std::make_unique<Connection>(listener_, from, port);
  }
  // From a new connection of 127.0.0.1, at `now`, until it is reset.
  void Offend(absl::Time now) {
    const auto offender = Connect();
    if (watch_.Admit(offender->fd(), now) > absl::ZeroDuration()) {
      EXPECT_TRUE(watch_.Pass(offender->fd(), now));
    }
    offender->Bring(StrangerWatch::kBytesAtMost + 1);
    EXPECT_EQ(Look(now), 1);
  }
  // Whoever has sent something is seen by the first look, and judged by the second at the latest.
  int64_t Look(absl::Time now, const std::vector<int>& kept = {}) {
    const int64_t reset = watch_.Look(now, kept);
    return reset + watch_.Look(now + kLook, kept);
  }

  const int listener_;
  Strangers strangers_;
  StrangerWatch watch_{&strangers_};
};

// Where not everybody may call.
class LimitedWatchTest : public StrangerWatchTest {
 protected:
  // As gRPC does: how much there is.
  static int64_t ReadAll(const Connection& connection) {
    std::string bytes(1 << 20, '\0');
    iovec place = {bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    int64_t read = 0;
    for (;;) {
      const ssize_t n = recvmsg(connection.fd(), &message, MSG_DONTWAIT);
      if (n <= 0) return read;
      read += n;
    }
  }

  Strangers limited_{/*is_limited=*/true};
  StrangerWatch limited_watch_{&limited_};
};

TEST_F(LimitedWatchTest, OfAStrangerLittleIsReadUntilHeIsLetIn) {
  const auto one = Connect();
  EXPECT_EQ(limited_watch_.Admit(one->fd(), kStart), absl::ZeroDuration());
  one->Send(3 * StrangerWatch::kFirstBytes);
  EXPECT_EQ(ReadAll(*one), StrangerWatch::kFirstBytes);
  EXPECT_EQ(limited_watch_.Look(kStart, {}), 0);
  absl::Time now = kStart + kLook;
  EXPECT_EQ(limited_watch_.Look(now, {}), 0);
  EXPECT_EQ(ReadAll(*one),
            absl::ToInt64Milliseconds(kLook) * StrangerWatch::kBrakedBytesPerSecond / 1000);
  limited_.LetIn("127.0.0.1:" + std::to_string(one->port()));
  EXPECT_EQ(limited_watch_.Look(now, {}), 0);
  EXPECT_GT(ReadAll(*one), StrangerWatch::kFirstBytes);
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
    ReadAll(*one);
    ReadAll(*patient);
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
    const std::string key = std::string(from) + ":" + std::to_string(one->port());
    for (int i = 0; i < calls; ++i) limited_.CountCall(key, kStart);
    one.reset();
    limited_watch_.Look(kStart + StrangerWatch::kInterval, {});
    limited_watch_.Look(kStart + 2 * StrangerWatch::kInterval, {});
    const auto next = Connect(from);
    EXPECT_EQ(limited_watch_.Admit(next->fd(), kStart + absl::Seconds(1)),
              calls > StrangerWatch::kCallsInPassing ? StrangerWatch::kWait : absl::ZeroDuration());
  }
}

TEST_F(LimitedWatchTest, AUnixSocketsBytesAreCountedToo) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  limited_watch_.Admit(ends[0], kStart);
  absl::Time now = kStart;
  std::string bytes(4 << 10, 'x');
  int64_t reset = 0;
  // Less than gRPC may get, but for long.
  for (; reset == 0 && now < kStart + absl::Minutes(1); now += kLook) {
    EXPECT_GT(send(ends[1], bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    iovec place = {bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    recvmsg(ends[0], &message, MSG_DONTWAIT);
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
  EXPECT_GT(ReadAll(*one), 2 * StrangerWatch::kFirstBytes);
}

TEST_F(LimitedWatchTest, WhoMakesManyCallsIsResetAtOnceAndWhatIsUnreadIsGone) {
  const auto one = Connect();
  limited_watch_.Admit(one->fd(), kStart);
  one->Send(60 << 10);
  for (int i = 0; i < 2 * Strangers::kCalls; ++i) {
    limited_.CountCall("127.0.0.1:" + std::to_string(one->port()), kStart);
  }
  EXPECT_EQ(limited_watch_.Look(kStart, {}), 1);
  EXPECT_EQ(ReadAll(*one), 0);
  const auto next = Connect();
  EXPECT_EQ(limited_watch_.Admit(next->fd(), kStart), StrangerWatch::kWait);
}

TEST_F(StrangerWatchTest, WhoSendsLittleStays) {
  const auto one = Connect();
  EXPECT_EQ(watch_.Admit(one->fd(), kStart), absl::ZeroDuration());
  for (int second = 0; second < 60; ++second) {
    one->Bring(StrangerWatch::kBytesPerSecond);
    EXPECT_EQ(Look(kStart + absl::Seconds(second)), 0) << second;
  }
  EXPECT_FALSE(one->IsReset());
}

TEST_F(StrangerWatchTest, WhoSendsTooMuchHasAWhileToBeLetIn) {
  const auto late = Connect();
  const auto in_time = Connect("127.0.0.2");
  for (const auto* const one : {&late, &in_time}) {
    watch_.Admit((*one)->fd(), kStart);
    (*one)->Bring(StrangerWatch::kBytes + StrangerWatch::kBytesPerSecond * 3);
  }
  EXPECT_EQ(Look(kStart), 0);
  strangers_.LetIn("127.0.0.2:" + std::to_string(in_time->port()));
  EXPECT_EQ(Look(kStart + StrangerWatch::kGrace - 2 * kLook), 0);
  EXPECT_EQ(Look(kStart + StrangerWatch::kGrace + 2 * kLook), 1);
  EXPECT_TRUE(late->IsReset());
  in_time->Bring(2 * StrangerWatch::kBytesAtMost);
  EXPECT_EQ(Look(kStart + absl::Minutes(1)), 0);
  EXPECT_FALSE(in_time->IsReset());
  EXPECT_TRUE(strangers_.empty());
}

TEST_F(StrangerWatchTest, WhoSendsFarTooMuchHasNotNorInALongTime) {
  const auto fast = Connect();
  watch_.Admit(fast->fd(), kStart);
  fast->Bring(StrangerWatch::kBytesAtMost + 1);
  EXPECT_EQ(Look(kStart), 1);
  EXPECT_TRUE(fast->IsReset());
  const auto slow = Connect("127.0.0.2");
  watch_.Admit(slow->fd(), kStart);
  slow->Bring(StrangerWatch::kBytesAtMost + 1);
  EXPECT_EQ(Look(kStart + absl::Hours(1)), 1);
}

TEST_F(StrangerWatchTest, WhoKeepsAThreadHasLessTime) {
  const auto kept = Connect();
  watch_.Admit(kept->fd(), kStart);
  kept->Bring(2 * StrangerWatch::kBytes);
  EXPECT_EQ(Look(kStart, {kept->fd()}), 0);
  EXPECT_EQ(Look(kStart + StrangerWatch::kKeepersGrace + kLook, {kept->fd()}), 1);
}

TEST_F(StrangerWatchTest, FromAnOffendersAddressOneWaitsForAMinute) {
  Offend(kStart);
  const auto next = Connect();
  const auto greedy = Connect();
  const auto other = Connect("127.0.0.2");
  EXPECT_EQ(watch_.Admit(next->fd(), kStart), StrangerWatch::kWait);
  EXPECT_EQ(watch_.Admit(greedy->fd(), kStart), StrangerWatch::kWait);
  EXPECT_EQ(watch_.Admit(other->fd(), kStart), absl::ZeroDuration());
  next->Send(1000);
  greedy->Send(StrangerWatch::kBytesWaiting + 1);
  EXPECT_TRUE(watch_.Pass(next->fd(), kStart + StrangerWatch::kWait));
  EXPECT_FALSE(watch_.Pass(greedy->fd(), kStart + StrangerWatch::kWait));
  next->Bring(2 * StrangerWatch::kBytes);
  EXPECT_EQ(Look(kStart + absl::Seconds(1)), 0);
  EXPECT_EQ(Look(kStart + absl::Seconds(1) + StrangerWatch::kOffendersGrace + kLook), 1);
  const auto later = Connect();
  EXPECT_EQ(watch_.Admit(later->fd(), kStart + absl::Seconds(2) + StrangerWatch::kGrudge),
            absl::ZeroDuration());
}

TEST_F(StrangerWatchTest, WhereThatHappensAgainAndAgainOneWaitsLonger) {
  for (int i = 0; i < 3 * StrangerWatch::kResetsPerSecond; ++i) Offend(kStart);
  const auto next = Connect();
  EXPECT_EQ(watch_.Admit(next->fd(), kStart), StrangerWatch::kMaxWait);
  const auto later = Connect();
  EXPECT_EQ(watch_.Admit(later->fd(), kStart + absl::Seconds(5)), StrangerWatch::kWait);
}

TEST_F(StrangerWatchTest, WhereTokensAreGuessedOneWaitsToo) {
  const auto guesser = Connect();
  watch_.Admit(guesser->fd(), kStart);
  for (int i = 0; i < 2 * Strangers::kGuesses; ++i) {
    strangers_.CountGuess("127.0.0.1:" + std::to_string(guesser->port()), kStart);
  }
  EXPECT_EQ(Look(kStart), 0);
  EXPECT_FALSE(guesser->IsReset()) << "who has a wrong token hears so";
  const auto next = Connect();
  EXPECT_EQ(watch_.Admit(next->fd(), kStart), StrangerWatch::kWait);
}

TEST_F(StrangerWatchTest, OfOneAddressOnlySomeWait) {
  Offend(kStart);
  std::vector<std::unique_ptr<Connection>> waiting;
  for (int i = 0; i < StrangerWatch::kMaxWaiting; ++i) {
    waiting.push_back(Connect());
    EXPECT_EQ(watch_.Admit(waiting.back()->fd(), kStart), StrangerWatch::kWait) << i;
  }
  const auto one_more = Connect();
  EXPECT_EQ(watch_.Admit(one_more->fd(), kStart), absl::nullopt);
  const auto other = Connect("127.0.0.2");
  EXPECT_EQ(watch_.Admit(other->fd(), kStart), absl::ZeroDuration());
  EXPECT_TRUE(watch_.Pass(waiting[0]->fd(), kStart + StrangerWatch::kWait));
  const auto next = Connect();
  EXPECT_EQ(watch_.Admit(next->fd(), kStart), StrangerWatch::kWait);
}

TEST_F(StrangerWatchTest, WhoLeavesWhileHeWaitsIsForgottenAndWhoIsLetInPasses) {
  Offend(kStart);
  auto gone = Connect();
  const auto let_in = Connect();
  for (const Connection* const one : {gone.get(), let_in.get()}) {
    EXPECT_EQ(watch_.Admit(one->fd(), kStart), StrangerWatch::kWait);
  }
  gone.reset();
  strangers_.LetIn("127.0.0.1:" + std::to_string(let_in->port()));
  EXPECT_EQ(Look(kStart + absl::Seconds(10)), 0);
  EXPECT_TRUE(strangers_.empty());
  EXPECT_TRUE(watch_.Pass(let_in->fd(), kStart + absl::Seconds(10)));
}

TEST_F(StrangerWatchTest, TheEndOfOneIsNotThatOfTheNextFromTheSamePort) {
  const auto before = Connect();
  const auto old = Connect();
  const int port = old->port();
  watch_.Admit(before->fd(), kStart);
  watch_.Admit(old->fd(), kStart);
  before->ResetByClient();
  old->ResetByClient();
  const auto flood = Connect("127.0.0.1", port);
  watch_.Admit(flood->fd(), kStart);
  EXPECT_EQ(Look(kStart), 0);  // sees that the old one is over
  flood->Bring(StrangerWatch::kBytesAtMost + 1);
  EXPECT_EQ(Look(kStart + absl::Seconds(1)), 1);
  EXPECT_TRUE(flood->IsReset());
}

TEST_F(StrangerWatchTest, RoomIsMadeByTheOldestStranger) {
  const auto let_in = Connect();
  const auto oldest = Connect();
  const auto youngest = Connect();
  for (const auto* const one : {&let_in, &oldest, &youngest}) {
    watch_.Admit((*one)->fd(), kStart);
  }
  strangers_.LetIn("127.0.0.1:" + std::to_string(let_in->port()));
  EXPECT_EQ(watch_.ResetOldest(), oldest->fd());
  EXPECT_TRUE(oldest->IsReset());
  EXPECT_EQ(watch_.ResetOldest(), youngest->fd());
  EXPECT_EQ(watch_.ResetOldest(), -1);
  EXPECT_FALSE(let_in->IsReset());
}

}  // namespace
}  // namespace baseband::server
