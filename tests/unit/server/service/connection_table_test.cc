#include "server/service/connection_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include "tests/support/constants.h"

namespace baseband::server {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(21);
constexpr absl::Duration kBetween = absl::Seconds(3);

// A connection, its server's end with as much in it as goes.
class Pair {
 public:
  Pair() {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_.data()) != 0) {
      ADD_FAILURE();
    }
  }
  ~Pair() {
    for (const int end : ends_) close(end);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  int server() const { return ends_[0]; }
  bool Write() const { return send(ends_[0], kText.data(), kText.size(), MSG_NOSIGNAL) > 0; }
  void Fill() const {
    while (Write()) {
    }
  }
  bool Read() const {
    std::string text(kText.size(), '\0');
    return recv(ends_[1], text.data(), text.size(), 0) > 0;
  }
  // Everything that the server wrote, to the end.
  std::string ReadAll() const {
    std::string text;
    for (char byte; recv(ends_[1], &byte, 1, 0) == 1;) text += byte;
    return text;
  }
  bool HasEnded() const {
    char byte;
    return recv(ends_[1], &byte, 1, 0) == 0;
  }
  bool Answer() const { return send(ends_[1], "x", 1, MSG_NOSIGNAL) == 1; }
  bool IsReset() const { return !Write() && errno == EPIPE; }

 private:
  inline static const std::string kText = std::string(1000, 'x');
  std::array<int, 2> ends_ = {-1, -1};
};

TEST(ConnectionTableTest, ThereIsRoomForSoManyAndForWhoComesAfterOneThatLeft) {
  ConnectionTable table(2, kPatience);
  Pair first;
  auto second = std::make_unique<Pair>();
  Pair third;
  EXPECT_TRUE(table.Admit(first.server(), kStart));
  EXPECT_TRUE(table.Admit(second->server(), kStart));
  EXPECT_FALSE(table.Admit(third.server(), kStart));
  second.reset();
  EXPECT_TRUE(table.Admit(third.server(), kStart + absl::Seconds(1)));
  EXPECT_EQ(table.Count(), 2);
}

TEST(ConnectionTableTest, AtTheEndWhoHasTakenEverythingHearsItAndOthersWhenTheyHave) {
  constexpr absl::Duration kEnough = absl::Seconds(2);
  ConnectionTable table(3, kPatience);
  const Pair idle;
  const Pair slow;
  const Pair dead;
  for (const Pair* pair : {&idle, &slow, &dead}) ASSERT_TRUE(table.Admit(pair->server(), kStart));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(slow.Write());
  EXPECT_TRUE(dead.Write());
  absl::Time now = kStart;
  EXPECT_EQ(table.EndTaken(now, kEnough), 2);
  EXPECT_TRUE(idle.HasEnded());
  EXPECT_TRUE(idle.Answer());
  for (int i = 0; i < 3; ++i) {
    now += absl::Seconds(1);
    EXPECT_TRUE(slow.Read());
    EXPECT_EQ(table.EndTaken(now, kEnough), i == 0 ? 2 : 1);
  }
  EXPECT_TRUE(dead.IsReset());  // it may not be written to, and what was is still there
  EXPECT_EQ(dead.ReadAll(), std::string(1000, 'x'));
  EXPECT_TRUE(slow.Read());
  EXPECT_EQ(table.EndTaken(now, kEnough), 0);
  EXPECT_TRUE(slow.HasEnded());
}

TEST(ConnectionTableTest, WhoReadsNothingIsResetOnceWhoReadsALittleOrHasNothingToReadIsNot) {
  ConnectionTable table(3, kPatience);
  const Pair dead;
  const Pair slow;
  const Pair silent;
  for (const Pair* pair : {&dead, &slow, &silent}) ASSERT_TRUE(table.Admit(pair->server(), kStart));
  dead.Fill();
  slow.Fill();
  absl::Time now = kStart;
  for (; now < kStart + kPatience; now += kBetween) {
    EXPECT_EQ(table.ResetDead(now), 0) << now - kStart;
    EXPECT_TRUE(slow.Read());
  }
  EXPECT_EQ(table.ResetDead(now), 1);
  EXPECT_TRUE(dead.IsReset());
  EXPECT_TRUE(silent.Write());
  EXPECT_TRUE(silent.Read());
  while (slow.Read()) {
  }
  EXPECT_TRUE(slow.Write());
  EXPECT_EQ(table.ResetDead(now + 2 * kPatience), 0);
}

// A server that writes without end to a client that reads steadily, but slowly: whenever a few
// buffers are taken there are as many new ones, and what is left is mostly the same.
TEST(ConnectionTableTest, WhoReadsSteadilyIsNotDeadThoughWhatIsLeftIsMostlyTheSame) {
  ConnectionTable table(1, kPatience);
  const Pair pair;
  ASSERT_TRUE(table.Admit(pair.server(), kStart));
  const absl::Duration kPeriod = kPatience / 32;  // of its reads
  const absl::Duration kFillTime = kPeriod / 4;   // until there is something new
  absl::Time fill = kStart;
  absl::Time read = kStart + kPeriod - kFillTime;
  for (absl::Time now = kStart; now < kStart + 10 * kPatience;) {
    if (now >= fill) {
      pair.Fill();
      fill += kPeriod;
    }
    if (now >= read) {
      EXPECT_TRUE(pair.Read());
      read += kPeriod;
    }
    if (now >= table.NextLook()) {
      ASSERT_EQ(table.ResetDead(now), 0) << now - kStart;
    }
    now = std::min({table.NextLook(), fill, read});
  }
}

TEST(ConnectionTableTest, WhereNothingWaitsToBeReadItLooksRarely) {
  ConnectionTable table(1, kPatience);
  const Pair pair;
  ASSERT_TRUE(table.Admit(pair.server(), kStart));
  EXPECT_EQ(table.ResetDead(kStart), 0);
  EXPECT_EQ(table.NextLook(), kStart + kPatience / ConnectionTable::kRareLooks);
  pair.Fill();
  const absl::Time next = table.NextLook();
  EXPECT_EQ(table.ResetDead(next), 0);
  EXPECT_EQ(table.NextLook(), next + kPatience / ConnectionTable::kLooks);
}

// What stood there goes on after a pause: its time begins anew.
TEST(ConnectionTableTest, TheTimeCountsFromTheLastThatWasRead) {
  ConnectionTable table(1, kPatience);
  const Pair pair;
  ASSERT_TRUE(table.Admit(pair.server(), kStart));
  pair.Fill();
  EXPECT_EQ(table.ResetDead(kStart), 0);
  EXPECT_EQ(table.ResetDead(kStart + kPatience - kBetween), 0);
  EXPECT_TRUE(pair.Read());
  EXPECT_EQ(table.ResetDead(kStart + kPatience), 0);
  EXPECT_EQ(table.ResetDead(kStart + 2 * kPatience - kBetween), 0);
  EXPECT_EQ(table.ResetDead(kStart + 2 * kPatience), 1);
}

}  // namespace
}  // namespace baseband::server
