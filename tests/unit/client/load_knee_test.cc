// The search for the highest rate against simulated servers: exact ones, and ones that stumble.
#include <algorithm>
#include <cmath>
#include <random>

#include "client/load/knee.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::load {
namespace {

using testing::IsOk;
using testing::StatusIs;

constexpr double kPrecision = 0.05;

class ExactServerTest : public ::testing::TestWithParam<double> {};

TEST_P(ExactServerTest, TheHighestRateIsFoundToThePrecisionFromEitherSide) {
  const double knee = GetParam();
  for (const double first : {1.0, 100.0, 5000.0}) {
    int loads = 0;
    const auto found = FindKnee(first, kPrecision, [&](double rate) -> absl::StatusOr<bool> {
      ++loads;
      return rate <= knee;
    });
    if (knee < first / 1024) {
      ASSERT_THAT(found, IsOk());
      EXPECT_EQ(found->low, 0);
      EXPECT_EQ(found->high, first / 1024);
      continue;
    }
    ASSERT_THAT(found, IsOk());
    const double highest = std::min(knee, 1024 * first);
    EXPECT_LE(found->low, knee);
    EXPECT_GE(found->low * (1 + kPrecision) * 1.001, highest);
    EXPECT_TRUE(found->high == 0 ? knee >= 1024 * first : found->high > knee);
    EXPECT_TRUE(found->is_sure);
    EXPECT_EQ(found->loads, loads);
    // Ten doublings, four halvings, twice what is too much, and to be sure.
    EXPECT_LE(loads, 30);
  }
}

INSTANTIATE_TEST_SUITE_P(Rates, ExactServerTest,
                         ::testing::Values(1.5, 24.0, 183.0, 777.0, 12345.0, 2e6));

// A server that bears about `knee` calls a second.
class UnrulyServer {
 public:
  struct Manners {
    double stumbles;  // share of loads that are not borne, whatever their rate
    double unrest;    // standard deviation of the knee's logarithm from load to load
    double stalls;    // chance that a stall begins, of which three loads in a row suffer
  };

  UnrulyServer(double knee, const Manners& manners, unsigned seed)
      : knee_(knee), manners_(manners), random_(seed) {}

  bool Bears(double rate) {
    const bool stalls = stall_ > 0 || Happens(manners_.stalls);
    if (stalls) stall_ = stall_ > 0 ? stall_ - 1 : 2;
    const double now =
        knee_ * std::exp(std::normal_distribution<>(0, 1)(random_) * manners_.unrest);
    return !Happens(manners_.stumbles) && !stalls && rate <= now;
  }

 private:
  bool Happens(double chance) { return std::uniform_real_distribution<>()(random_) < chance; }

  const double knee_;
  const Manners manners_;
  std::mt19937 random_;
  int stall_ = 0;
};

struct Case {
  const char* name;
  UnrulyServer::Manners manners;
};

class UnrulyServerTest : public ::testing::TestWithParam<Case> {};

// One bad load used to be final: the same server had 1000, 183 and 24 calls a second.
TEST_P(UnrulyServerTest, TheHighestRateIsFoundWithinAQuarterWithEverySeed) {
  for (const double knee : {24.0, 183.0, 1000.0, 40000.0}) {
    for (unsigned seed = 0; seed < 250; ++seed) {
      UnrulyServer server(knee, GetParam().manners, seed);
      const auto found = FindKnee(
          100, kPrecision, [&](double rate) -> absl::StatusOr<bool> { return server.Bears(rate); });
      ASSERT_THAT(found, IsOk()) << "knee " << knee << ", seed " << seed;
      EXPECT_GT(found->low, knee / 1.25) << "knee " << knee << ", seed " << seed;
      EXPECT_LT(found->low, knee * 1.25) << "knee " << knee << ", seed " << seed;
      EXPECT_LE(found->loads, 80);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Manners, UnrulyServerTest,
                         ::testing::Values(Case{"Restless", {0, 0.05, 0}},
                                           Case{"Stumbling", {0.1, 0.05, 0}},
                                           Case{"Stalling", {0.02, 0.05, 0.01}}),
                         [](const auto& test) { return test.param.name; });

TEST(KneeTest, OneBadLoadIsNotFinal) {
  int loads = 0;
  const auto found = FindKnee(100, kPrecision, [&](double rate) -> absl::StatusOr<bool> {
    ++loads;
    return loads != 1 && loads != 5 && rate <= 1000;
  });
  ASSERT_THAT(found, IsOk());
  EXPECT_GE(found->low * 1.05 * 1.001, 1000);
  EXPECT_LE(found->low, 1000);
}

TEST(KneeTest, AServerThatIsAllChanceIsNotSure) {
  std::mt19937 random(1);
  const auto found = FindKnee(100, kPrecision, [&](double) -> absl::StatusOr<bool> {
    return std::bernoulli_distribution(0.4)(random);
  });
  if (found.ok()) {
    EXPECT_LE(found->loads, 80);
    EXPECT_EQ(found->is_sure, found->loads < 80);
  }
}

TEST(KneeTest, NoLoadIsBelowTheLeastRate) {
  double least = INFINITY;
  const auto found = FindKnee(
      100, kPrecision,
      [&](double rate) -> absl::StatusOr<bool> {
        least = std::min(least, rate);
        return false;
      },
      /*least_rate=*/7);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->low, 0);
  EXPECT_EQ(found->high, 7);
  EXPECT_EQ(least, 7);
}

TEST(KneeTest, AnErrorOfALoadEndsTheSearch) {
  EXPECT_THAT(
      FindKnee(100, kPrecision,
               [](double) -> absl::StatusOr<bool> { return absl::UnavailableError("gone"); }),
      StatusIs(absl::StatusCode::kUnavailable, "gone"));
}

}  // namespace
}  // namespace baseband::load
