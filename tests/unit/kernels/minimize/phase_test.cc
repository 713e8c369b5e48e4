// Sines and cosines of steps of a turn against long double, whose mantissa has 11 bits more at
// least.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "gtest/gtest.h"
#include "kernels/minimize/functionals/phase_math.h"

namespace baseband::minimize {
namespace {

constexpr long double kStep = 6.28318530717958647692528676655900577L / kPhaseSteps;
// The contract's, in units of 2^-53: half of one for the rounding of the table and of each of the
// two last additions, whose results are at most 1; 0.03 for the polynomials, and less for what is
// added, which is at most 0.0062.
constexpr double kUnits = 1.6;

class PhaseTest : public ::testing::Test {
 protected:
  PhaseTest() { WritePhaseTable(table_); }

  // What is left of the products once whole steps are off it has 53 bits, and those of the
  // products' own rounding errors, which are exact.
  void Expect(double steps, const double (&n)[2]) {
    double sine[2];
    double cosine[2];
    SinesAndCosines<2>(PhaseCoefficients(), table_, steps, n, sine, cosine);
    for (int i = 0; i < 2; ++i) {
      const double high = steps * n[i];
      const double low = std::fma(steps, n[i], -high);
      const double turns = std::nearbyint(high / kPhaseSteps);
      const auto angle = kStep * (static_cast<long double>(high - kPhaseSteps * turns) +
                                  static_cast<long double>(low));
      const auto off = std::max(std::abs(static_cast<long double>(sine[i]) - std::sin(angle)),
                                std::abs(static_cast<long double>(cosine[i]) - std::cos(angle)));
      if (!(std::ldexp(off, 53) <= kUnits)) {
        ADD_FAILURE() << steps << " times " << n[i] << " is off by " << std::ldexp(off, 53);
      }
    }
  }

  SineCosine table_[kPhaseSteps];
};

TEST_F(PhaseTest, BothAreWithinTheContractAtAnyPhase) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> steps(-0.5 * kPhaseSteps, 0.5 * kPhaseSteps);
  for (int i = 0; i < 1000000; ++i) {  // the small ones have digits below those of what is left
    const auto number = [&] { return static_cast<double>(random() % (1u << (1 + i % 20))); };
    Expect(std::ldexp(steps(random), -(i % 23)), {number(), number()});
  }
}

TEST_F(PhaseTest, BothAreWithinTheContractNearWholeAndHalfSteps) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200000; ++i) {
    const auto n = static_cast<double>(1 + random() % (1u << 20));
    const auto halves = static_cast<double>(random() % static_cast<uint64_t>(kPhaseSteps * n));
    double steps = 0.5 * halves / n;
    for (int step = 0; step < 2; ++step) steps = std::nextafter(steps, 0.0);
    for (int step = 0; step < 4; ++step) {
      Expect(steps, {n, n - 1.0});
      Expect(-steps, {n, n - 1.0});
      steps = std::nextafter(steps, 2.0 * kPhaseSteps);
    }
  }
}

TEST_F(PhaseTest, WholeQuartersAreExact) {
  const double sines[] = {0.0, 1.0, 0.0, -1.0};
  for (int k = 0; k < 4000; ++k) {
    for (const double quarters : {1.0, -1.0, 2.0, 0.0}) {
      const double n[] = {static_cast<double>(k)};
      double sine = 2.0;
      double cosine = 2.0;
      SinesAndCosines<1>(PhaseCoefficients(), table_, PhaseSteps(0.25 * quarters), n, &sine,
                         &cosine);
      const auto turned = static_cast<int64_t>(quarters * k) & 3;
      EXPECT_EQ(sine, sines[turned]) << k << " times " << quarters;
      EXPECT_EQ(cosine, sines[(turned + 1) & 3]) << k << " times " << quarters;
    }
  }
}

TEST_F(PhaseTest, WholeTurnsASampleDoNotMatter) {
  EXPECT_EQ(PhaseSteps(0.375), 0.375 * kPhaseSteps);
  EXPECT_EQ(PhaseSteps(12345.375), 0.375 * kPhaseSteps);
  EXPECT_EQ(PhaseSteps(-3.25), -0.25 * kPhaseSteps);
  EXPECT_EQ(PhaseSteps(1e300), 0.0);
  EXPECT_TRUE(std::isnan(PhaseSteps(INFINITY)));
  EXPECT_TRUE(std::isnan(PhaseSteps(NAN)));
}

}  // namespace
}  // namespace baseband::minimize
