// The paper's experiments, and what is found when they are repeated elsewhere.
#include "kernels/downconvert/study.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace baseband::downconvert {
namespace {

constexpr NcoMethod kOthers[] = {NcoMethod::kFloat,    NcoMethod::kSegmented,
                                 NcoMethod::kFast2Sum, NcoMethod::kTwoSum,
                                 NcoMethod::kDouble,   NcoMethod::kAccumulated};

struct Experiment {
  Frequency frequency;
  double sample_rate_hz;
  int64_t count;
  int segment;
  PhaseErrors Run(NcoMethod method) const {
    return ErrorsOf(StudyPhases(method, frequency, count, segment), frequency);
  }
  double DriftOf(NcoMethod method) const { return Run(method).drift * sample_rate_hz; }
};

Frequency Fraction(int64_t num, uint64_t den) { return Frequency::FromFraction(num, den).value(); }

Experiment At64Mhz() { return {Fraction(9, 64), 64e6, 1 << 15, 1024}; }
Experiment At1024Mhz(int segment) { return {Fraction(249, 1024), 1024e6, 1 << 20, segment}; }
Experiment Awkward(int64_t count, int segment) {
  return {Fraction(9123457, 64000000), 64e6, count, segment};
}

TEST(NcoStudyTest, PapersNumbersAt9MhzOf64Mhz) {
  const Experiment experiment = At64Mhz();
  EXPECT_NEAR(experiment.Run(NcoMethod::kAccumulated).largest, 0.365, 0.001);  // "over 0.3"
  EXPECT_NEAR(experiment.DriftOf(NcoMethod::kAccumulated), -713.0, 1.0);
  EXPECT_NEAR(experiment.DriftOf(NcoMethod::kFast2Sum), 0.14158, 0.00001);  // the paper's digits
  EXPECT_NEAR(experiment.Run(NcoMethod::kFast2Sum).largest, 1.02e-4, 0.01e-4);
  EXPECT_NEAR(experiment.Run(NcoMethod::kTwoSum).largest, 3.05e-5, 0.01e-5);
  EXPECT_NEAR(experiment.DriftOf(NcoMethod::kTwoSum), 0.00007, 0.00001);  // "no drift"
  EXPECT_NEAR(experiment.Run(NcoMethod::kDouble).largest, 3.4e-10, 0.1e-10);
}

TEST(NcoStudyTest, PapersNumbersAt249MhzOf1024Mhz) {
  EXPECT_NEAR(At1024Mhz(1 << 16).Run(NcoMethod::kFloat).largest, 0.1055, 0.0001);
  EXPECT_NEAR(At1024Mhz(1 << 16).Run(NcoMethod::kSegmented).largest, 7.6e-3, 0.1e-3);
  EXPECT_NEAR(At1024Mhz(1 << 10).Run(NcoMethod::kSegmented).largest, 1.16e-4, 0.01e-4);
}

// float32(2 pi 9 / 64) is 2.236e-9 too large: whoever adds it up exactly drifts by that a sample.
TEST(NcoStudyTest, DriftOfFast2SumIsTheRoundingOfTheStep) {
  const double step = 2.0 * M_PI * 9.0 / 64.0;
  const double rounding = static_cast<double>(static_cast<float>(step)) - step;
  EXPECT_NEAR(rounding, 2.236e-9, 1e-12);
  EXPECT_NEAR(At64Mhz().DriftOf(NcoMethod::kFast2Sum) / (rounding * 64e6), 1.0, 0.02);
  const double awkward = 2.0 * M_PI * 9123457.0 / 64e6;
  const double its_rounding = static_cast<double>(static_cast<float>(awkward)) - awkward;
  EXPECT_NEAR(Awkward(1 << 15, 1024).DriftOf(NcoMethod::kFast2Sum) / (its_rounding * 64e6), 1.0,
              0.05);
}

// 1024 * 9 / 64 are 144 whole turns; elsewhere 2Sum drifts as the others do.
TEST(NcoStudyTest, TwoSumDriftsWhereASegmentIsNotWholeTurns) {
  const Experiment experiment = Awkward(1 << 15, 1024);
  EXPECT_GE(std::abs(experiment.DriftOf(NcoMethod::kTwoSum)), 1.0);
  EXPECT_GE(experiment.Run(NcoMethod::kTwoSum).largest,
            experiment.Run(NcoMethod::kFast2Sum).largest);
}

TEST(NcoStudyTest, ExactBeatsEveryOtherMethodInEveryExperiment) {
  const Experiment experiments[] = {At64Mhz(),
                                    At1024Mhz(1 << 16),
                                    At1024Mhz(1 << 10),
                                    Awkward(1 << 15, 1024),
                                    Awkward(1 << 20, 1 << 16),
                                    Awkward(1 << 20, 1 << 10)};
  for (const Experiment& experiment : experiments) {
    const double exact = experiment.Run(NcoMethod::kExact).largest;
    EXPECT_LE(exact, 1.2e-14);
    for (const NcoMethod method : kOthers) {
      EXPECT_LT(exact * 1e3, experiment.Run(method).largest) << static_cast<int>(method);
    }
  }
}

TEST(NcoStudyTest, ErrorsAreTakenModuloATurnAndDriftIsTheirSlope) {
  const Frequency frequency = Fraction(1, 8);
  std::vector<double> phases = StudyPhases(NcoMethod::kExact, frequency, 1000, 1);
  for (size_t n = 0; n < phases.size(); ++n) {
    phases[n] += 0.25 + 1e-4 * static_cast<double>(n) + 2.0 * M_PI * static_cast<double>(n % 5);
  }
  const PhaseErrors errors = ErrorsOf(phases, frequency);
  EXPECT_NEAR(errors.errors[0], 0.25, 1e-12);
  EXPECT_NEAR(errors.largest, 0.25 + 1e-4 * 999, 1e-12);
  EXPECT_NEAR(errors.drift, 1e-4, 1e-12);
}

}  // namespace
}  // namespace baseband::downconvert
