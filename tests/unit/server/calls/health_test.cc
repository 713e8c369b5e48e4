#include "server/calls/health.h"

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::_;

// What a call is told.
class Call final : public HealthListener {
 public:
  void OnChange() override { ++changes; }
  void EndWith(const absl::Status& status, Manner how) override {
    end = status;
    manner = how;
  }

  int changes = 0;
  absl::optional<absl::Status> end;
  Manner manner = Manner::kInOrder;
};

class HealthTest : public ::testing::Test {
 protected:
  std::set<std::string> strangers_;
  Health health_{"a.Service",
                 [this](const std::string& peer) { return strangers_.count(peer) > 0; }};
};

TEST_F(HealthTest, TheServerAndItsServiceAreKnownAndNoOther) {
  EXPECT_EQ(health_.IsServing(""), false);
  health_.SetServing(true);
  EXPECT_EQ(health_.IsServing(""), true);
  EXPECT_EQ(health_.IsServing("a.Service"), true);
  EXPECT_EQ(health_.IsServing("another.Service"), absl::nullopt);
}

TEST_F(HealthTest, CallsAreToldOfChangesUntilTheyLeave) {
  Call stays;
  Call leaves;
  ASSERT_THAT(health_.Enter(&stays, "a"), IsOk());
  const auto number = health_.Enter(&leaves, "b");
  ASSERT_THAT(number, IsOk());
  health_.SetServing(true);
  health_.SetServing(true);  // no change
  health_.Leave(*number);
  health_.SetServing(false);
  EXPECT_EQ(stays.changes, 2);
  EXPECT_EQ(leaves.changes, 1);
}

TEST_F(HealthTest, WhoDrainsServesNoMoreAndInTheEndEverybodyIsTurnedAway) {
  Call call;
  health_.SetServing(true);
  ASSERT_THAT(health_.Enter(&call, "a"), IsOk());
  health_.Drain();
  health_.SetServing(true);
  EXPECT_EQ(health_.IsServing(""), false);
  EXPECT_EQ(call.changes, 1);
  EXPECT_EQ(call.end, absl::nullopt);
  health_.EndAll(absl::InfinitePast());
  EXPECT_THAT(*call.end, StatusIs(absl::StatusCode::kUnavailable, _));
  Call late;
  EXPECT_THAT(health_.Enter(&late, "a").status(), StatusIs(absl::StatusCode::kUnavailable, _));
}

TEST_F(HealthTest, TheEndWaitsForThoseWhoAreThere) {
  Call call;
  const absl::StatusOr<uint64_t> number = health_.Enter(&call, "a");
  ASSERT_THAT(number, IsOk());
  health_.Drain();
  std::atomic<bool> has_left{false};
  std::thread leaves([&] {
    absl::SleepFor(absl::Milliseconds(20));
    has_left = true;
    health_.Leave(*number);
  });
  health_.EndAll(absl::InfiniteFuture());
  EXPECT_TRUE(has_left);
  leaves.join();
}

TEST_F(HealthTest, WhereStrangersHaveTooManyTheFirstOfTheGreediestGoes) {
  strangers_ = {"greedy", "modest", "let in later"};
  std::vector<std::unique_ptr<Call>> calls;
  const auto enter = [&](const std::string& peer) {
    calls.push_back(std::make_unique<Call>());
    EXPECT_THAT(health_.Enter(calls.back().get(), peer), IsOk());
    return calls.back().get();
  };
  const Call* const known = enter("known");
  const Call* const modest = enter("modest");
  const Call* const let_in = enter("let in later");
  for (int i = 0; i < 600; ++i) enter("let in later");
  const Call* const first = enter("greedy");
  const Call* const second = enter("greedy");
  strangers_.erase("let in later");
  const size_t others = 1 + 601;
  while (first->end == absl::nullopt && calls.size() < 3 * Health::kMaxStrangers) enter("greedy");
  EXPECT_EQ(calls.size(), others + Health::kMaxStrangers + 1);
  EXPECT_THAT(*first->end, StatusIs(absl::StatusCode::kResourceExhausted, _));
  EXPECT_EQ(first->manner, HealthListener::Manner::kAtOnce);
  EXPECT_EQ(second->end, absl::nullopt);
  for (size_t i = 0; i < 3 * Health::kMaxStrangers; ++i) enter("known");
  EXPECT_EQ(second->end, absl::nullopt);
  for (size_t i = 0; i < Health::kMaxStrangers; ++i) enter("greedy");
  EXPECT_THAT(*second->end, StatusIs(absl::StatusCode::kResourceExhausted, _));
  for (const Call* const call : {known, modest, let_in}) EXPECT_EQ(call->end, absl::nullopt);
}

}  // namespace
}  // namespace baseband::server
