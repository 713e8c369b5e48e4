#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/server/service/stranger_watch_fixture.h"

namespace baseband::server {
namespace {

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
  EXPECT_EQ(watch_.ResetOldest(kStart), oldest->fd());
  EXPECT_TRUE(oldest->IsReset());
  EXPECT_EQ(watch_.ResetOldest(kStart), youngest->fd());
  EXPECT_EQ(watch_.ResetOldest(kStart), -1);
  EXPECT_FALSE(let_in->IsReset());
}

}  // namespace
}  // namespace baseband::server
