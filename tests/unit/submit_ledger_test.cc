#include "server/service/submit_ledger.h"

#include <map>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

TEST(SubmitLedgerTest, AnIdInFlightIsRefusedByNameAndFreeAgainAfterItsResponse) {
  SubmitLedger ledger({4, 1000});
  EXPECT_THAT(ledger.Open(7, 10), IsOk());
  EXPECT_THAT(ledger.Open(7, 10),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("id 7 is in flight already")));
  EXPECT_EQ(ledger.Close(7), 10);
  EXPECT_TRUE(ledger.empty());
  EXPECT_THAT(ledger.Open(7, 10), IsOk());
}

TEST(SubmitLedgerTest, IdZeroIsRefusedWithItsRange) {
  SubmitLedger ledger({4, 1000});
  EXPECT_THAT(ledger.Open(0, 10), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("id 0 is not in [1, 18446744073709551615]")));
  EXPECT_TRUE(ledger.empty());
}

TEST(SubmitLedgerTest, MoreThanTheCreditsIsRefusedWithTheFigures) {
  SubmitLedger ledger({2, 1000});
  EXPECT_THAT(ledger.Open(1, 600), IsOk());
  EXPECT_THAT(ledger.Open(2, 401), StatusIs(absl::StatusCode::kResourceExhausted,
                                            HasSubstr("600 bytes are in flight on this stream, of "
                                                      "1000: no room for 401 more")));
  EXPECT_THAT(ledger.Open(2, 400), IsOk());
  EXPECT_THAT(ledger.Open(3, 0),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("2 requests are in flight on this stream, of 2")));
}

TEST(SubmitLedgerTest, WhatIsLargerThanAllBytesGoesAlone) {
  SubmitLedger ledger({8, 1000});
  EXPECT_THAT(ledger.Open(1, 5000), IsOk());
  EXPECT_THAT(ledger.Open(2, 1), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("5000")));
  EXPECT_EQ(ledger.Close(1), 5000);
  EXPECT_THAT(ledger.Open(2, 1), IsOk());
  EXPECT_THAT(ledger.Open(3, 5000),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("id 3")));
}

TEST(SubmitLedgerTest, ARefusalLeavesEverythingAsItWas) {
  constexpr int64_t kRequests = 5;
  constexpr int64_t kBytes = 100;
  SubmitLedger ledger({kRequests, kBytes});
  std::map<uint64_t, int64_t> model;
  int64_t in_flight = 0;
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t id = random() % 9;
    const auto bytes = static_cast<int64_t>(random() % 60);
    const bool fits = static_cast<int64_t>(model.size()) < kRequests &&
                      (model.empty() || in_flight + bytes <= kBytes);
    ASSERT_EQ(ledger.Open(id, bytes).ok(), id != 0 && model.count(id) == 0 && fits);
    if (id != 0 && model.count(id) == 0 && fits) {
      model[id] = bytes;
      in_flight += bytes;
    } else if (model.count(id) > 0) {
      ASSERT_EQ(ledger.Close(id), model[id]);
      in_flight -= model[id];
      model.erase(id);
    }
    ASSERT_EQ(ledger.empty(), model.empty());
  }
}

}  // namespace
}  // namespace baseband::server
