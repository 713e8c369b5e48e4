// Minimize through the real server: answers, progress, cancellation, deadlines, refusals,
// contention.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/minimize_matched.h"
#include "tests/support/server_test.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kInFlight[] = "baseband_requests_in_flight";
constexpr char kSearches[] = "rpc=\"Minimize\"";
constexpr double kSchwefelArgmin = 420.9687463599820;

class MinimizeTest : public ServerTest {
 protected:
  static void SetUpTestSuite() {
    StartServer({"--max-search-s=3600", "--max-searches=8", "--search-memory-mib=32"});
  }

  struct Outcome {
    grpc::Status status;
    v1::MinimizeAnswer answer;
    int answers = 0;
    std::vector<v1::MinimizeProgress> progress;
  };
  static Outcome Run(const v1::MinimizeRequest& request, grpc::ClientContext* context) {
    Outcome outcome;
    const auto reader = stub_->Minimize(context, request);
    for (v1::MinimizeResponse response; reader->Read(&response);) {
      if (response.has_answer()) {
        ++outcome.answers;
        outcome.answer = response.answer();
      } else {
        outcome.progress.push_back(response.progress());
      }
    }
    outcome.status = reader->Finish();
    return outcome;
  }
  static Outcome Run(const v1::MinimizeRequest& request) {
    grpc::ClientContext context;
    return Run(request, &context);
  }
  // What was cancelled has ended in the server, too.
  static bool AwaitNoSearch() { return server_->WaitForMetric(kInFlight, {kSearches}, 0); }
  static std::string Refusal(const v1::MinimizeRequest& request) {
    const Outcome outcome = Run(request);
    EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(outcome.answers, 0);
    return outcome.status.error_message();
  }
};

void AddAxis(double begin, double step, uint64_t count, v1::MinimizeRequest* request) {
  v1::GridAxis& axis = *request->add_axes();
  axis.set_begin(begin);
  axis.set_step(step);
  axis.set_count(count);
}

v1::MinimizeRequest Formula(const std::string& text, double begin, double step, uint64_t count) {
  v1::MinimizeRequest request;
  request.mutable_expression()->set_text(text);
  AddAxis(begin, step, count, &request);
  return request;
}

// Minutes of one core.
v1::MinimizeRequest LongSearch() {
  return Formula("sum(j, 1, 1000, sin(j * x))", 0, 1e-9, 100'000'000);
}

void Append(const std::vector<double>& numbers, std::string* payload) {
  payload->append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
}

// Two sinusoids whose tables take some 10^9 operations, and the search itself next to nothing: the
// slow_path has it for a second or so.
v1::MinimizeRequest SlowToPrepare() {
  constexpr int kSamples = 200'000;
  v1::MinimizeRequest request;
  request.mutable_sinusoids()->set_num_samples(kSamples);
  request.mutable_sinusoids()->set_sampling_interval_s(1.0);
  AddAxis(0.01, 1e-4, 1000, &request);
  AddAxis(0.2, 1e-4, 1000, &request);
  std::vector<double> signal;
  for (int n = 0; n < kSamples; ++n) signal.push_back(std::sin(0.3 * n) + std::sin(1.4 * n));
  Append(signal, request.mutable_payload());
  return request;
}

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

TEST_F(MinimizeTest, ProgressGoesUpAndTheAnswerIsLast) {
  v1::MinimizeRequest request = Formula("sum(j, 1, 200, sin(j * x))", 0, 1e-6, 1'000'000);
  request.set_progress_interval_ms(10);
  const Outcome outcome = Run(request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  ASSERT_FALSE(outcome.progress.empty());
  uint64_t points = 0;
  for (const v1::MinimizeProgress& progress : outcome.progress) {
    EXPECT_GE(progress.points(), points);
    EXPECT_EQ(progress.total_points(), 1'000'000U);
    EXPECT_TRUE(progress.has_best());
    points = progress.points();
  }
}

TEST_F(MinimizeTest, ACancelledSearchLeavesItsPlaceToOthers) {
  // Each would take one of eight places for minutes.
  for (int k = 0; k < 16; ++k) {
    grpc::ClientContext context;
    v1::MinimizeRequest request = LongSearch();
    request.set_progress_interval_ms(10);
    const auto reader = stub_->Minimize(&context, request);
    v1::MinimizeResponse response;
    ASSERT_TRUE(reader->Read(&response));
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
    ASSERT_TRUE(AwaitNoSearch());
  }
  EXPECT_TRUE(Run(Formula("x", 0, 1, 10)).status.ok());
}

TEST_F(MinimizeTest, TheDeadlineIsHonouredAndWhatCannotMakeItIsRefusedAtOnce) {
  grpc::ClientContext context;
  // At the deadline itself the client would say so, in other words.
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::MinimizeRequest request = LongSearch();
  const Outcome outcome = Run(request, &context);
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(outcome.status.error_message(), HasSubstr("takes about"));
}

TEST_F(MinimizeTest, CancellationAndDeadlineReachASearchThatIsBeingPrepared) {
  const v1::MinimizeRequest request = SlowToPrepare();
  for (const bool cancels : {false, true}) {
    grpc::ClientContext context;
    const auto patience = std::chrono::milliseconds(200);
    if (!cancels) context.set_deadline(std::chrono::system_clock::now() + patience);
    const auto reader = stub_->Minimize(&context, request);
    if (cancels) {
      ASSERT_TRUE(server_->WaitForMetric(kInFlight, {kSearches}, 1));
      // Meanwhile others are served: were it prepared on a thread of gRPC's, half of them would
      // wait, and it be over after them.
      for (int i = 0; i < 5; ++i) ASSERT_TRUE(Run(Formula("x", 0, 1, 10)).status.ok());
      ASSERT_TRUE(server_->WaitForMetric(kInFlight, {kSearches}, 1));
      context.TryCancel();
    }
    EXPECT_EQ(reader->Finish().error_code(),
              cancels ? grpc::StatusCode::CANCELLED : grpc::StatusCode::DEADLINE_EXCEEDED);
    ASSERT_TRUE(AwaitNoSearch());
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

TEST_F(MinimizeTest, MemoryOfSearchesIsBoundedInBytes) {
  constexpr uint64_t kNumbers = 5'000'000;  // 40 MB
  v1::MinimizeRequest request = Formula("x + a[0]", 0, 1, 10);
  v1::NamedArray& array = *request.mutable_expression()->add_arrays();
  array.set_name("a");
  array.set_size(kNumbers);
  request.mutable_payload()->resize(kNumbers * sizeof(double));
  const Outcome outcome = Run(request);
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(outcome.status.error_message(), HasSubstr("bytes of memory"));
  EXPECT_THAT(outcome.status.error_message(), HasSubstr("have 33554432"));
  // What was refused holds nothing: this one needs more than half of it.
  array.set_size(2'000'000);
  request.mutable_payload()->resize(2'000'000 * sizeof(double));
  for (int k = 0; k < 3; ++k) {
    const Outcome taken = Run(request);
    EXPECT_TRUE(taken.status.ok()) << taken.status.error_message();
  }
}

// Searches of all kinds, cancelled at any time: on the slow path, in the queue, on a lane, at the
// end.
TEST_F(MinimizeTest, CancelledAtRandomTheyGiveEverythingBack) {
  const v1::MinimizeRequest slow = SlowToPrepare();
  v1::MinimizeRequest refined = Formula("(x - 7.3)^2", 0, 0.001, 100'000);
  refined.set_refinement(v1::REFINEMENT_BRENT);
  v1::MinimizeRequest tops = LongSearch();
  tops.set_top(8);
  tops.set_progress_interval_ms(10);
  const v1::MinimizeRequest* const requests[] = {&slow, &refined, &tops};
  std::vector<std::thread> clients;
  for (unsigned c = 0; c < 6; ++c) {
    clients.emplace_back([&, c] {
      std::mt19937 random(c);
      for (int k = 0; k < 25; ++k) {
        grpc::ClientContext context;
        const auto reader = stub_->Minimize(&context, *requests[random() % 3]);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
        context.TryCancel();
        const grpc::StatusCode code = reader->Finish().error_code();
        EXPECT_TRUE(code == grpc::StatusCode::OK || code == grpc::StatusCode::CANCELLED ||
                    code == grpc::StatusCode::RESOURCE_EXHAUSTED)
            << code;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  // All places and all memory are there again, once the last pieces and preparations have ended.
  v1::MinimizeRequest large = Formula("x + a[0]", 0, 1, 10);
  v1::NamedArray& array = *large.mutable_expression()->add_arrays();
  array.set_name("a");
  array.set_size(2'500'000);
  large.mutable_payload()->resize(2'500'000 * sizeof(double));
  Outcome outcome = Run(large);
  for (int k = 0; k < 500 && !outcome.status.ok(); ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    outcome = Run(large);
  }
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.error_message();
}

TEST_F(MinimizeTest, ASearchOfHoursIsRefusedWithItsEstimate) {
  v1::MinimizeRequest request = LongSearch();
  request.mutable_axes(0)->set_count(uint64_t{1} << 40);
  const Outcome outcome = Run(request);
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(outcome.status.error_message(), HasSubstr("takes no search of more than 1h"));
}

TEST_F(MinimizeTest, ShortSearchesPassALongOne) {
  grpc::ClientContext context;
  const auto reader = stub_->Minimize(&context, LongSearch());
  for (int k = 0; k < 50; ++k) {
    EXPECT_TRUE(Run(Formula("(x - 7)^2", 0, 1, 1000)).status.ok());
  }
  EXPECT_TRUE(server_->WaitForMetric(kInFlight, {kSearches}, 1))
      << "they would else have come after it";
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(MinimizeTest, ASearchTooManyIsToldSo) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::MinimizeResponse>>> readers;
  v1::MinimizeRequest request = LongSearch();
  request.set_progress_interval_ms(10);
  for (int k = 0; k < 8; ++k) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(stub_->Minimize(contexts.back().get(), request));
    v1::MinimizeResponse response;
    ASSERT_TRUE(readers.back()->Read(&response));
  }
  const Outcome outcome = Run(Formula("x", 0, 1, 10));
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(outcome.status.error_message(), HasSubstr("8 searches are open already"));
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& reader : readers) (void)reader->Finish();
  ASSERT_TRUE(AwaitNoSearch());
  // Their last pieces may be on their way, but hold no places.
  const Outcome next = Run(Formula("x", 0, 1, 10));
  EXPECT_TRUE(next.status.ok()) << next.status.error_message();
}

TEST_F(MinimizeTest, FormulasAreRefusedWithColumnAndWhatWasExpected) {
  EXPECT_THAT(Refusal(Formula("sin(x", 0, 1, 10)), HasSubstr("column 6"));
  EXPECT_THAT(Refusal(Formula("x + q", 0, 1, 10)), HasSubstr("q"));
  EXPECT_THAT(Refusal(Formula("sum(j, 0, 3, y[j])", 0, 1, 10)), HasSubstr("y"));
  EXPECT_THAT(Refusal(Formula(std::string(70000, '('), 0, 1, 10)), HasSubstr("expression"));
}

TEST_F(MinimizeTest, NumbersOutOfRangeAreRefusedByName) {
  v1::MinimizeRequest request = Formula("x", 0, 1, 10);
  request.clear_axes();
  EXPECT_THAT(Refusal(request), HasSubstr("axes has 0 entries, not 1 to 4"));
  EXPECT_THAT(Refusal(Formula("x", 0, 1, 0)), HasSubstr("axes[0].count"));
  EXPECT_THAT(Refusal(Formula("x", 0, 0, 2)), HasSubstr("axes[0].step"));
  EXPECT_THAT(Refusal(Formula("x", std::numeric_limits<double>::quiet_NaN(), 1, 2)),
              HasSubstr("axes[0].begin"));
  EXPECT_THAT(Refusal(Formula("x", 0, 1, ~uint64_t{0})), HasSubstr("axes[0].count"));
  request = Formula("x", 0, 1, uint64_t{1} << 30);
  AddAxis(0, 1, uint64_t{1} << 30, &request);
  EXPECT_THAT(Refusal(request), HasSubstr("more than 2^40 points"));
  request = Formula("x", 0, 1, 10);
  request.set_payload("12345678");
  EXPECT_THAT(Refusal(request), HasSubstr("payload has 8 bytes"));
  request = Formula("x", 0, 1, 10);
  request.set_top(65);
  EXPECT_THAT(Refusal(request), HasSubstr("top 65 is not in"));
  request = Formula("x", 0, 1, 10);
  request.add_separation(1);
  request.add_separation(1);
  EXPECT_THAT(Refusal(request), HasSubstr("separation has 2 numbers for 1 axes"));
  request = Formula("x", 0, 1, 10);
  request.set_progress_interval_ms(5);
  EXPECT_THAT(Refusal(request), HasSubstr("progress_interval_ms 5"));
  request = Formula("x", 0, 1, 10);
  request.set_first_point(10);
  EXPECT_THAT(Refusal(request), HasSubstr("first"));
  request = Formula("x", 0, 1, 10);
  request.set_goal(static_cast<v1::SearchGoal>(7));
  EXPECT_THAT(Refusal(request), HasSubstr("goal 7 is not in [0, 2]"));
  request.clear_expression();
  EXPECT_THAT(Refusal(request), HasSubstr("functional is not set"));
  request.mutable_sinusoids()->set_num_samples(3);
  EXPECT_THAT(Refusal(request), HasSubstr("sinusoids.num_samples 3"));
  request.mutable_chirp()->set_num_samples(3);
  EXPECT_THAT(Refusal(request), HasSubstr("chirp.num_samples 3"));
  request.mutable_chirp()->set_num_samples(4);
  EXPECT_THAT(Refusal(request), HasSubstr("the functional takes 8 float64 numbers"));
  request.mutable_payload()->assign(64, '\0');
  request.mutable_chirp()->set_sampling_interval_s(-1);
  EXPECT_THAT(Refusal(request), HasSubstr("sampling_interval_s -1"));
  request.mutable_chirp()->set_sampling_interval_s(1);
  EXPECT_THAT(Refusal(request), HasSubstr("number of axes 1 is not 2"));
  request.mutable_delay_doppler()->set_num_samples((1 << 18) + 1);
  EXPECT_THAT(Refusal(request), HasSubstr("delay_doppler.num_samples 262145"));
  request.mutable_delay_doppler()->set_num_samples(4);
  EXPECT_THAT(Refusal(request), HasSubstr("the functional takes 16 float64 numbers"));
  request.mutable_payload()->assign(128, '\0');
  request.mutable_delay_doppler()->set_sampling_interval_s(1);
  EXPECT_THAT(Refusal(request), HasSubstr("replica's energy 0"));
}

}  // namespace
}  // namespace baseband::testing
