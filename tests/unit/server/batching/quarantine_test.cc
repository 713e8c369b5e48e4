// Who is refused after a fault, for how long, and who is not.
#include "server/batching/quarantine.h"

#include <thread>
#include <vector>

#include "server/jobs/fingerprint.h"
#include "tests/support/constants.h"
#include "tests/support/matchers.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

struct SuspectJob final : Job {
  explicit SuspectJob(uint64_t print) : Job(TestOperation("Decode")) {
    fingerprint = print;
    caller.client = "somebody";
  }
};

class QuarantineTest : public ::testing::Test {
 protected:
  std::string Accuse(uint64_t fingerprint, absl::Time now, const std::string& device = "cuda:0") {
    return quarantine_.Accuse(SuspectJob(fingerprint), device, now);
  }
  bool Refuses(uint64_t fingerprint, absl::Time now) {
    const absl::Status status = quarantine_.Check(SuspectJob(fingerprint), now);
    EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
    return !status.ok();
  }
  void Pass(uint64_t fingerprint, uint32_t times) {
    for (uint32_t i = 0; i < times; ++i) quarantine_.Passed(SuspectJob(fingerprint));
  }

  Quarantine quarantine_;
};

TEST_F(QuarantineTest, TheLikeOfWhatWasThereAtAFaultIsRefusedForAMinute) {
  EXPECT_FALSE(Refuses(7, kStart));
  EXPECT_THAT(Accuse(7, kStart), HasSubstr("(fingerprint 0000000000000007) is refused for 60 s"));
  EXPECT_THAT(
      quarantine_.Check(SuspectJob(7), kStart + absl::Milliseconds(2500)),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("ran on cuda:0 when that faulted: its like is refused for 58 s"),
                     HasSubstr("quarantine --lift=0000000000000007"))));
  EXPECT_FALSE(Refuses(8, kStart)) << "another kind";
  EXPECT_TRUE(Refuses(7, kStart + Quarantine::kFirst - absl::Nanoseconds(1)));
  EXPECT_FALSE(Refuses(7, kStart + Quarantine::kFirst));
}

TEST_F(QuarantineTest, EachFurtherFaultDoublesTheTimeUpToAnHour) {
  absl::Time now = kStart;
  for (const int64_t minutes : {1, 2, 4, 8, 16, 32, 60, 60}) {
    Accuse(7, now);
    EXPECT_TRUE(Refuses(7, now + absl::Minutes(minutes) - absl::Nanoseconds(1))) << minutes;
    now += absl::Minutes(minutes);
    EXPECT_FALSE(Refuses(7, now)) << minutes;
    if (minutes < 60) now += absl::Seconds(1);
  }
}

TEST_F(QuarantineTest, OneFaultCountsOnceHoweverManyOfAKindRan) {
  for (int i = 0; i < 5; ++i) Accuse(7, kStart);
  ASSERT_EQ(quarantine_.List(kStart).size(), 1U);
  EXPECT_EQ(quarantine_.List(kStart)[0].faults, 1);
  EXPECT_FALSE(Refuses(7, kStart + Quarantine::kFirst));
  Accuse(7, kStart, "cuda:1");  // another one at the same time
  EXPECT_EQ(quarantine_.List(kStart)[0].faults, 2);
}

TEST_F(QuarantineTest, WhatEndedWellOftenIsRefusedOnlyIfItIsThereAgainBeforeItHasAnew) {
  Pass(7, Quarantine::kKnownGood - 1);
  Accuse(7, kStart);
  EXPECT_TRUE(Refuses(7, kStart)) << "once too few";
  ASSERT_THAT(quarantine_.Lift(7), IsOk());

  Pass(7, Quarantine::kKnownGood);
  EXPECT_THAT(Accuse(7, kStart), HasSubstr("is not refused"));
  EXPECT_FALSE(Refuses(7, kStart));
  ASSERT_EQ(quarantine_.List(kStart).size(), 1U) << "it is watched";
  Pass(7, Quarantine::kKnownGood - 1);
  Accuse(7, kStart + absl::Seconds(10));
  EXPECT_TRUE(Refuses(7, kStart + absl::Seconds(10)));
  EXPECT_FALSE(Refuses(7, kStart + absl::Seconds(10) + Quarantine::kFirst)) << "its first term";
}

TEST_F(QuarantineTest, WhoHasEndedWellOftenSinceIsForgotten) {
  Accuse(7, kStart);
  const absl::Time later = kStart + Quarantine::kFirst;
  Pass(7, Quarantine::kKnownGood);
  EXPECT_EQ(quarantine_.List(later - absl::Seconds(1)).size(), 1U);
  EXPECT_TRUE(quarantine_.List(later).empty());
  Accuse(8, kStart);
  EXPECT_EQ(quarantine_.List(later + Quarantine::kMemory - absl::Seconds(1)).size(), 1U);
  EXPECT_TRUE(quarantine_.List(later + Quarantine::kMemory).empty());
}

TEST_F(QuarantineTest, PiecesOfASearchThatEndWellSayNothingOfItsOthers) {
  Job piece(TestOperation("Minimize"));
  piece.fingerprint = 7;
  for (int i = 0; i < 100; ++i) quarantine_.Passed(piece);
  quarantine_.Accuse(piece, "cuda:0", kStart);
  EXPECT_TRUE(Refuses(7, kStart));
}

TEST_F(QuarantineTest, AnAdminSeesAllOfItAndLiftsOneOrAll) {
  Accuse(7, kStart);
  Accuse(8, kStart + absl::Seconds(1));
  Accuse(9, kStart + absl::Seconds(2));
  EXPECT_TRUE(Refuses(8, kStart + absl::Seconds(3)));
  EXPECT_EQ(quarantine_.CountRefused(kStart + absl::Seconds(3)), 3);
  const auto list = quarantine_.List(kStart + absl::Seconds(3));
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].fingerprint, 9U);
  EXPECT_EQ(list[1].fingerprint, 8U);
  EXPECT_EQ(list[1].operation, &TestOperation("Decode"));
  EXPECT_EQ(list[1].client, "somebody");
  EXPECT_EQ(list[1].device, "cuda:0");
  EXPECT_EQ(list[1].refused, 1);
  EXPECT_EQ(list[1].refused_until, kStart + absl::Seconds(61));
  EXPECT_THAT(quarantine_.Lift(8), IsOk());
  EXPECT_FALSE(Refuses(8, kStart));
  EXPECT_THAT(quarantine_.Lift(8), StatusIs(absl::StatusCode::kNotFound,
                                            HasSubstr("fingerprint 0000000000000008 is not")));
  EXPECT_EQ(quarantine_.LiftAll(), 2);
  EXPECT_FALSE(Refuses(9, kStart));
  EXPECT_EQ(quarantine_.CountRefused(kStart), 0);
}

TEST_F(QuarantineTest, ItIsBoundedAndARequestWithoutAFingerprintIsNeverIn) {
  Accuse(0, kStart);
  EXPECT_FALSE(Refuses(0, kStart));
  EXPECT_TRUE(quarantine_.List(kStart).empty());
  for (uint64_t i = 1; i <= Quarantine::kMaxSuspects + 10; ++i) {
    Accuse(i, kStart + absl::Nanoseconds(i));
  }
  EXPECT_EQ(quarantine_.List(kStart).size(), Quarantine::kMaxSuspects);
  EXPECT_FALSE(Refuses(10, kStart));
  EXPECT_TRUE(Refuses(11, kStart));
}

// For the sanitizers.
TEST_F(QuarantineTest, AllMayBeDoneAtATime) {
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 1000; ++i) {
        Pass(t, 1);
        (void)Refuses(t, kStart);
        if (i % 100 == 0) Accuse(t, kStart + absl::Seconds(i));
        if (i % 300 == 0) (void)quarantine_.LiftAll();
        if (i % 70 == 0) (void)quarantine_.List(kStart);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(FingerprintTest, TellsOperationsAndHeadersApartAndNothingElse) {
  const uint64_t decode = FingerprintOf(TestOperation("Decode"), "header");
  EXPECT_EQ(decode, FingerprintOf(TestOperation("Decode"), std::string("header")));
  EXPECT_NE(decode, FingerprintOf(TestOperation("Encode"), "header"));
  EXPECT_NE(decode, FingerprintOf(TestOperation("Decode"), "heades"));
  EXPECT_NE(FingerprintOf(TestOperation("Encode"), ""), 0U);
}

}  // namespace
}  // namespace baseband::server
