// Minimize through the real server: its answers.
#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/searching_server.h"
#include "tests/support/minimize_matched.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kSchwefelArgmin = 420.9687463599820;

TEST_F(MinimizeTest, SchwefelAsFormulaAndBuiltInAreTheSame) {
  v1::MinimizeRequest request =
      Formula("418.9828872724339 - x * sin(sqrt(abs(x)))", -500, 0.001, 1'000'001);
  const Outcome formula = Run(request);
  ASSERT_TRUE(formula.status.ok()) << formula.status.error_message();
  request.mutable_schwefel();
  const Outcome built_in = Run(request);
  ASSERT_TRUE(built_in.status.ok()) << built_in.status.error_message();

  EXPECT_EQ(formula.answers, 1);
  EXPECT_NEAR(formula.answer.point(0), kSchwefelArgmin, 0.0005);
  EXPECT_EQ(formula.answer.top(0).index(), built_in.answer.top(0).index());
  EXPECT_EQ(formula.answer.evaluations(), 1'000'001U);
  EXPECT_FALSE(formula.answer.at_edge());
}

TEST_F(MinimizeTest, RefinementTopAndProfileOfTwoAxes) {
  v1::MinimizeRequest request;
  request.mutable_schwefel();
  AddAxis(-500, 1.0, 1001, &request);
  AddAxis(-500, 1.0, 1001, &request);
  request.set_refinement(v1::REFINEMENT_BRENT);
  request.set_top(3);
  request.add_separation(30);
  request.add_separation(30);
  request.set_profile_axis(1);
  request.set_profile_bins(11);
  const Outcome outcome = Run(request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  const v1::MinimizeAnswer& answer = outcome.answer;
  EXPECT_NEAR(answer.point(0), kSchwefelArgmin, 1e-5);
  EXPECT_NEAR(answer.point(1), kSchwefelArgmin, 1e-5);
  EXPECT_NEAR(answer.value(), 0.0, 1e-9);
  EXPECT_GT(answer.curvature(0), 0.0);
  // The best, then its two mirror-like neighbours, which are equal: the lower index first.
  ASSERT_EQ(answer.top_size(), 3);
  EXPECT_THAT(answer.top(0).coordinates(), ElementsAre(421, 421));
  EXPECT_EQ(answer.top(1).value(), answer.top(2).value());
  EXPECT_LT(answer.top(1).index(), answer.top(2).index());
  ASSERT_EQ(answer.profile_size(), 11);
  EXPECT_EQ(answer.profile(10), answer.top(0).value());
}

TEST_F(MinimizeTest, AnAnswerSaysWhatHasComeOfItsRefinement) {
  v1::MinimizeRequest request = Formula("x^4-3*x^3+2", -1, 0.07, 72);
  Outcome outcome = Run(request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  EXPECT_EQ(outcome.answer.refinement_outcome(), v1::REFINEMENT_OUTCOME_UNSPECIFIED);
  EXPECT_EQ(outcome.answer.point_error_size(), 0);
  for (const v1::Refinement refinement : {v1::REFINEMENT_BRENT, v1::REFINEMENT_NEWTON}) {
    request.set_refinement(refinement);
    outcome = Run(request);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
    EXPECT_EQ(outcome.answer.refinement_outcome(), v1::REFINEMENT_OUTCOME_CONVERGED);
    EXPECT_NEAR(outcome.answer.point(0), 2.25, 1e-6);
    ASSERT_EQ(outcome.answer.point_error_size(), 1);
    EXPECT_LT(outcome.answer.point_error(0), 1e-6);
    EXPECT_EQ(outcome.answer.coarse_axes_size(), 0);
  }
  request.set_refinement(v1::REFINEMENT_PARABOLA);
  outcome = Run(request);
  EXPECT_EQ(outcome.answer.refinement_outcome(), v1::REFINEMENT_OUTCOME_OUT_OF_ROUNDS);
  EXPECT_GT(outcome.answer.point_error(0), 1e-6);

  request.set_refinement(v1::REFINEMENT_NEWTON);
  request.set_num_points(10);
  outcome = Run(request);
  EXPECT_EQ(outcome.answer.refinement_outcome(), v1::REFINEMENT_OUTCOME_AT_BOX);

  request = Formula("cos(x)+0.001*x", 0, 10, 100);
  request.set_refinement(v1::REFINEMENT_NEWTON);
  outcome = Run(request);
  EXPECT_THAT(outcome.answer.coarse_axes(), ElementsAre(0));
}

TEST_F(MinimizeTest, ArraysAndScalarsComeWithTheRequest) {
  std::vector<double> decay;
  for (int j = 0; j < 50; ++j) decay.push_back(2.5 * std::exp(-0.125 * j));
  v1::MinimizeRequest request =
      Formula("sum(j, 0, size(y) - 1, (y[j] - a * exp(-t * j))^2)", 0, 0.001, 1000);
  request.mutable_axes(0)->set_name("t");
  v1::NamedScalar& scalar = *request.mutable_expression()->add_scalars();
  scalar.set_name("a");
  scalar.set_value(2.5);
  v1::NamedArray& array = *request.mutable_expression()->add_arrays();
  array.set_name("y");
  array.set_size(decay.size());
  Append(decay, request.mutable_payload());
  const Outcome outcome = Run(request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  EXPECT_EQ(outcome.answer.top(0).index(), 125U);
  EXPECT_LT(outcome.answer.value(), 1e-20);
}

TEST_F(MinimizeTest, TheFrequencyOfASinusoidWithItsBound) {
  std::vector<double> signal;
  for (int n = 0; n < 1000; ++n) signal.push_back(std::sin(0.7 * n) + (n % 2 == 0 ? 0.01 : -0.01));
  v1::MinimizeRequest request;
  request.mutable_sinusoids()->set_num_samples(signal.size());
  request.mutable_sinusoids()->set_sampling_interval_s(1e-3);
  AddAxis(100, 0.01, 2000, &request);
  request.set_refinement(v1::REFINEMENT_NEWTON);
  Append(signal, request.mutable_payload());
  const Outcome outcome = Run(request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  EXPECT_NEAR(outcome.answer.point(0), 700 / (2 * M_PI), 1e-3);
  ASSERT_EQ(outcome.answer.deviation_size(), 1);
  EXPECT_GT(outcome.answer.deviation(0), 0.0);
  EXPECT_LT(outcome.answer.deviation(0), 1e-3);
}

void AppendComplex(const std::vector<std::complex<double>>& samples, std::string* payload) {
  payload->append(reinterpret_cast<const char*>(samples.data()),
                  samples.size() * sizeof(samples.front()));
}

TEST_F(MinimizeTest, ARateAndAFrequencyWithTheirBounds) {
  std::vector<std::complex<double>> signal;
  for (int n = 0; n < 999; ++n) {
    const double t = 1e-3 * (n - 499);
    signal.push_back(std::polar(1.0, 2 * M_PI * (70.4 * t + 0.5 * 33.3 * t * t)) +
                     (n % 2 == 0 ? 0.01 : -0.01));
  }
  v1::MinimizeRequest request;
  request.mutable_chirp()->set_num_samples(signal.size());
  request.mutable_chirp()->set_sampling_interval_s(1e-3);
  AddAxis(-50, 1, 101, &request);
  AddAxis(-100, 0.25, 801, &request);
  request.set_refinement(v1::REFINEMENT_NEWTON);
  AppendComplex(signal, request.mutable_payload());
  const Outcome outcome = Run(request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  EXPECT_NEAR(outcome.answer.point(0), 33.3, 0.01);
  EXPECT_NEAR(outcome.answer.point(1), 70.4, 0.001);
  ASSERT_EQ(outcome.answer.deviation_size(), 2);
  EXPECT_GT(outcome.answer.deviation(0), 0.0);
  EXPECT_LT(outcome.answer.deviation(0), 0.01);
  EXPECT_LT(outcome.answer.deviation(1), 0.001);
}

TEST_F(MinimizeTest, ADelayAndADopplerShiftWithTheirBounds) {
  const Acquisition acquisition = MakeAcquisition(2.0);
  v1::MinimizeRequest request;
  request.mutable_delay_doppler()->set_num_samples(Acquisition::kSamples);
  request.mutable_delay_doppler()->set_sampling_interval_s(Acquisition::kInterval);
  for (const minimize::Axis& axis : acquisition.Axes()) {
    AddAxis(axis.begin, axis.step, static_cast<uint64_t>(axis.count), &request);
  }
  request.set_refinement(v1::REFINEMENT_NEWTON);
  AppendComplex(acquisition.signal, request.mutable_payload());
  AppendComplex(acquisition.replica, request.mutable_payload());
  const Outcome outcome = Run(request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  ASSERT_EQ(outcome.answer.deviation_size(), 2);
  EXPECT_NEAR(outcome.answer.point(0), Acquisition::kDelay * Acquisition::kInterval,
              5 * outcome.answer.deviation(0));
  EXPECT_NEAR(outcome.answer.point(1), Acquisition::kDoppler, 5 * outcome.answer.deviation(1));
  EXPECT_LT(outcome.answer.deviation(0), 0.1 * Acquisition::kInterval);
  EXPECT_LT(outcome.answer.deviation(1), 20.0);
}

TEST_F(MinimizeTest, PointsWithoutAValueAreCountedOrEndTheSearch) {
  v1::MinimizeRequest request = Formula("sqrt(x) + 3", -2, 1, 10);
  Outcome outcome = Run(request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  EXPECT_EQ(outcome.answer.nan_points(), 2U);
  EXPECT_EQ(outcome.answer.top(0).index(), 2U);
  request.set_nan_policy(v1::NAN_POLICY_FAIL);
  outcome = Run(request);
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_THAT(outcome.status.error_message(), HasSubstr("-2"));
}

TEST_F(MinimizeTest, TheLeastOfANumberAndNoneIsNone) {
  for (const char* const text : {"min(sqrt(x), 3)", "max(2, sqrt(x), 3)"}) {
    const Outcome outcome = Run(Formula(text, -2, 1, 10));
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
    EXPECT_EQ(outcome.answer.nan_points(), 2U) << text;
    EXPECT_EQ(outcome.answer.first_nan(), 0U);
    EXPECT_EQ(outcome.answer.top(0).index(), 2U);
  }
}

TEST_F(MinimizeTest, SeveralSinusoidsComeThroughTheWorkshop) {
  std::vector<double> signal;
  for (int n = 0; n < 500; ++n) {
    signal.push_back(std::sin(2 * M_PI * 0.05 * n) + std::sin(2 * M_PI * 0.12 * n + 1));
  }
  v1::MinimizeRequest request;
  request.mutable_sinusoids()->set_num_samples(signal.size());
  request.mutable_sinusoids()->set_sampling_interval_s(1.0);
  AddAxis(0.04, 0.001, 20, &request);
  AddAxis(0.11, 0.001, 20, &request);
  Append(signal, request.mutable_payload());
  const Outcome outcome = Run(request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  EXPECT_EQ(outcome.answer.top(0).index(), 10U * 20 + 10);
}

}  // namespace
}  // namespace baseband::testing
