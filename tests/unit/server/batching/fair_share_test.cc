#include "server/batching/fair_share.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/constants.h"

namespace baseband::server {
namespace {

// A job starts and ends, charged as BatchQueue does.
void Serve(FairShare& share, FairAccount* account, double cost_s, double actual_s) {
  account->Charge(cost_s);
  share.Start(account, cost_s, /*launched=*/true, kStart);
  share.Ended(account, cost_s, actual_s, kStart);
}

TEST(FairShareTest, TimeIsThatOfWhoeverHasHadLeastAndWaits) {
  FairShare share;
  FairAccount* const a = share.Add("a", 1, kStart);
  share.Add("a", 1, kStart);
  FairAccount* const b = share.Add("b", 1, kStart);
  share.Add("b", 1, kStart);
  EXPECT_DOUBLE_EQ(share.Horizon(), FairShare::kLead);
  Serve(share, a, 1, 3);  // it took longer than predicted
  EXPECT_DOUBLE_EQ(a->virtual_s, 3);
  EXPECT_DOUBLE_EQ(share.Horizon(), FairShare::kLead);
  Serve(share, b, 1, 1);
  EXPECT_DOUBLE_EQ(share.Horizon(), 1 + FairShare::kLead);
  EXPECT_DOUBLE_EQ(share.backlog_s(), 2);
}

TEST(FairShareTest, NobodySavesUpForLater) {
  FairShare share;
  FairAccount* const a = share.Add("a", 1, kStart);
  for (int i = 0; i < 9; ++i) {
    share.Add("a", 1, kStart);
    Serve(share, a, 1, 1);
  }
  share.Horizon();
  EXPECT_DOUBLE_EQ(share.Add("late", 1, kStart)->virtual_s, 9);
}

TEST(FairShareTest, WhoComesWhileAnAbsurdPredictionStandsIsLevelOnceItIsCorrected) {
  FairShare share;
  FairAccount* const a = share.Add("a", 1000, kStart);
  share.Add("a", 1, kStart);
  a->Charge(1000);
  share.Start(a, 1000, /*launched=*/true, kStart);
  share.Horizon();
  FairAccount* const late = share.Add("late", 1, kStart);
  share.Ended(a, 1000, 1, kStart);
  EXPECT_DOUBLE_EQ(a->virtual_s, 1);
  EXPECT_DOUBLE_EQ(late->virtual_s, 0);
  EXPECT_DOUBLE_EQ(share.Horizon(), FairShare::kLead);
}

TEST(FairShareTest, LeadsAreVoidOnceNobodyWaitsOrRunsWhoeverWasTheLast) {
  FairShare share;
  FairAccount* const slow = share.Add("slow", 1, kStart);
  FairAccount* const last = share.Add("last", 1, kStart);
  for (FairAccount* const account : {slow, last}) {
    account->Charge(1);
    share.Start(account, 1, /*launched=*/true, kStart);
  }
  share.Ended(slow, 1, 1000, kStart);
  share.Ended(last, 1, 0, kStart);
  EXPECT_DOUBLE_EQ(share.Add("slow", 1, kStart)->virtual_s, 0);
}

TEST(FairShareTest, ALeadIsRememberedWhileOthersWait) {
  FairShare share;
  share.Add("b", 1, kStart);
  Serve(share, share.Add("a", 5, kStart), 5, 5);
  EXPECT_DOUBLE_EQ(share.Add("a", 1, kStart)->virtual_s, 5);
}

TEST(FairShareTest, ContentionIsWhoeverElseWaitsOrWasHereLately) {
  FairShare share;
  FairAccount* const a = share.Add("a", 1, kStart);
  share.Add("a", 1, kStart);
  EXPECT_FALSE(share.IsContended(kStart));
  FairAccount* const b = share.Add("b", 1, kStart);
  EXPECT_TRUE(share.IsContended(kStart));
  Serve(share, b, 1, 1);
  Serve(share, a, 1, 1);
  EXPECT_TRUE(share.IsContended(kStart + FairShare::kMemory - absl::Nanoseconds(1)));
  EXPECT_FALSE(share.IsContended(kStart + FairShare::kMemory));
}

TEST(FairShareTest, OfAnothersBacklogNoMoreGoesBeforeThanItMayHaveMeanwhile) {
  FairShare share;
  for (int i = 0; i < 100; ++i) share.Add("greedy", 1, kStart);
  EXPECT_DOUBLE_EQ(share.Before("light"), FairShare::kLead);
  EXPECT_DOUBLE_EQ(share.Before("greedy"), 100);
  share.Add("light", 0.5, kStart);
  EXPECT_DOUBLE_EQ(share.Before("light"), 2 * (0.5 + FairShare::kLead));
}

TEST(FairShareTest, AClientIsChargedByItsWeight) {
  FairShare share({{"double", 2.0}});
  share.Add("single", 1, kStart);
  share.Add("double", 4, kStart);
  // While "double" waits for its 4 at two thirds of the device, "single" may have 2, were it more.
  EXPECT_DOUBLE_EQ(share.Before("double"), 5);
  for (int i = 0; i < 9; ++i) share.Add("single", 1, kStart);
  EXPECT_DOUBLE_EQ(share.Before("double"), 3 * (4 / 2.0 + FairShare::kLead));
  FairAccount* const account = share.Add("double", 1, kStart);
  Serve(share, account, 4, 6);
  EXPECT_DOUBLE_EQ(account->virtual_s, 3);
}

TEST(FairShareTest, ClientsBeyondTheMostShareOneAccountUntilOthersAreForgotten) {
  FairShare share;
  std::vector<FairAccount*> accounts;
  for (int64_t i = 0; i < FairShare::kMaxClients; ++i) {
    accounts.push_back(share.Add(absl::StrCat("client ", i), 1, kStart));
  }
  FairAccount* const rest = share.Add("one more", 1, kStart);
  EXPECT_EQ(share.Add("and another", 1, kStart), rest);
  for (FairAccount* account : accounts) share.Start(account, 1, /*launched=*/false, kStart);
  FairAccount* const known = share.Add("and a third", 1, kStart);
  EXPECT_NE(known, rest);
  EXPECT_EQ(known->client, "and a third");
}

}  // namespace
}  // namespace baseband::server
