// What one load of the search for the highest rate tells, and what the search makes of it.
#include "client/ctl/load/load_probe.h"

#include <string>
#include <utility>

#include "client/ctl/load/load_report.h"
#include "client/load/recorder.h"
#include "nlohmann/json.hpp"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

using load::Outcome;

constexpr int64_t kMillisecond = 1000000;

// A second in which `good` calls were answered after a millisecond, and others came to nothing.
load::LoadResult ResultOf(int good, int others, Outcome outcome = Outcome::kRefused) {
  load::Recorder recorder(load::Window{0, 1000 * kMillisecond, 1000 * kMillisecond}, 1);
  for (int i = 0; i < good + others; ++i) {
    load::Ended call;
    call.outcome = i < good ? Outcome::kGood : outcome;
    call.due_ns = i * kMillisecond;
    call.end_ns = (i + 1) * kMillisecond;
    if (call.outcome != Outcome::kSkipped) recorder.OnClosedSend(call.due_ns);
    recorder.OnEnd(call);
  }
  load::LoadResult result;
  result.totals = recorder.Take();
  result.measured = absl::Seconds(1);
  result.cores = 1;
  result.workloads = {"encode"};
  result.settings.resize(1);
  result.budgets = {load::LatencyBudget()};
  return result;
}

TEST(KneeProbeTest, ALoadIsBorneThatKeepsUpWithinTheBounds) {
  EXPECT_TRUE(ToProbe(ResultOf(20, 0), {*load::ParseThreshold("p99=2ms")}).borne());
  EXPECT_FALSE(ToProbe(ResultOf(20, 0), {*load::ParseThreshold("p99=1us")}).borne());
  EXPECT_TRUE(ToProbe(ResultOf(19, 1), {}).borne());
  EXPECT_FALSE(ToProbe(ResultOf(18, 2), {}).borne());
}

TEST(KneeProbeTest, ALoadWithoutACallOrAnAnswerIsNotBorne) {
  EXPECT_FALSE(ToProbe(ResultOf(0, 0), {}).borne());
  EXPECT_FALSE(ToProbe(ResultOf(0, 0), {*load::ParseThreshold("p99=1ns")}).borne());
  EXPECT_FALSE(ToProbe(ResultOf(0, 20), {*load::ParseThreshold("p99=1h")}).borne());
}

TEST(KneeProbeTest, AProbeLastsUntilTwentyCallsAreDueAndAMinuteAtMost) {
  EXPECT_EQ(ProbeDuration(absl::Seconds(3), 1000), absl::Seconds(3));
  EXPECT_EQ(ProbeDuration(absl::Milliseconds(50), 20), absl::Seconds(1));
  const double least = LeastProbedRate(absl::Seconds(3));
  EXPECT_DOUBLE_EQ(absl::ToDoubleSeconds(ProbeDuration(absl::Seconds(3), least)), 60);
  EXPECT_EQ(ProbeDuration(absl::Hours(1), LeastProbedRate(absl::Hours(1))), absl::Hours(1));
}

TEST(LoadReportTest, WhereNothingIsBorneTheProbesAndTheirWrongAnswersAreTold) {
  LoadReport report;
  load::LoadResult wrong = ResultOf(20, 0);
  wrong.totals.wrong_in_warm_up = 3;
  wrong.totals.wrong_example = "a bit";
  wrong.spec.pace.rate = 0.5;
  report.probes = {ToProbe(wrong, {*load::ParseThreshold("p99=1ns")})};
  report.result = wrong;
  report.knee.high = 0.5;
  report.knee.loads = 1;
  EXPECT_TRUE(report.NothingIsBorne());
  EXPECT_TRUE(report.IsNegative());
  EXPECT_EQ(report.AllWrongAnswers().count, 3) << "the last probe's are not counted twice";
  const std::string text = ToText(report);
  EXPECT_THAT(text, HasSubstr("no rate is borne, not even 0.5 calls/s, by 1 load"));
  EXPECT_THAT(text, HasSubstr("too much: p99=1ns: 1 ms"));
  EXPECT_TRUE(ToJson(report)["probes"].is_array());
  EXPECT_EQ(ToJson(report).dump().find("\"knee_per_s\":0"), std::string::npos);
}

TEST(LoadReportTest, ALoadOfWhichMostCallsAreNotAnsweredIsNegative) {
  LoadReport report;
  report.result = ResultOf(10, 10);
  EXPECT_FALSE(report.IsNegative());
  for (const Outcome outcome : {Outcome::kRefused, Outcome::kExpired, Outcome::kSkipped}) {
    report.result = ResultOf(10, 11, outcome);
    EXPECT_TRUE(report.IsNegative());
    EXPECT_THAT(ToText(report), HasSubstr("of 21 calls that were due only 10 were answered"));
  }
  report.result = ResultOf(1, 20, Outcome::kLate);
  EXPECT_FALSE(report.IsNegative()) << "late answers are for --fail-above to limit";
}

TEST(KneeProbeTest, TheNextRateIsBelowTheLastAndBelowWhatWasAnswered) {
  load::LoadResult result = ResultOf(20, 0);
  result.spec.pace.rate = 20;
  EXPECT_DOUBLE_EQ(RateBelow(result), 18);
  result.spec.pace.rate = 100;
  EXPECT_DOUBLE_EQ(RateBelow(result), 19);
  result = ResultOf(0, 20);
  result.spec.pace.rate = 20;
  EXPECT_DOUBLE_EQ(RateBelow(result), 18);
}

// A rate was "the highest borne" whose own measurement, below, broke the bound.
TEST(LoadReportTest, ARateThatTheWholeMeasurementDoesNotHoldIsNotTheHighestBorne) {
  LoadReport report;
  const std::vector<load::Threshold> bounds = {*load::ParseThreshold("p99=10ms")};
  load::LoadResult behind = ResultOf(10, 20);
  behind.spec.pace.rate = 30;
  load::LoadResult held = ResultOf(20, 0);
  held.spec.pace.rate = 20;
  report.probes = {ToProbe(held, bounds)};
  report.knee.low = 20;
  report.knee.high = 30;
  report.knee.loads = 7;
  report.knee.is_sure = true;
  report.not_held = {ToProbe(behind, bounds)};
  report.result = held;
  EXPECT_FALSE(report.IsNegative());
  EXPECT_THAT(
      ToText(report),
      AllOf(
          HasSubstr("highest rate borne: 20 calls/s (30 are too much), by 7 loads,"
                    " and 1 whole measurement"),
          HasSubstr("! 30 calls/s were too much for a measurement of 1s, though short loads bore"),
          HasSubstr("as many: behind; 10 of\n  30 calls/s answered")));
  EXPECT_EQ(ToJson(report)["knee"]["not_held_per_s"].dump(), "[30.0]");

  report.result = behind;
  report.knee.low = 0;
  EXPECT_TRUE(report.IsNegative());
  EXPECT_THAT(ToText(report), HasSubstr("no rate is borne, not even 30 calls/s"));
}

TEST(LoadReportTest, WhereNoCallIsAnsweredInTimeTheResultIsNegative) {
  for (const Outcome outcome : {Outcome::kExpired, Outcome::kLate, Outcome::kRefused}) {
    LoadReport report;
    report.result = ResultOf(0, 20, outcome);
    report.limits = {*load::ParseThreshold("p99=1h")};
    EXPECT_TRUE(report.IsNegative());
    EXPECT_EQ(report.BrokenLimits().empty(), outcome == Outcome::kLate);
    EXPECT_THAT(ToText(report), HasSubstr("! no call was answered rightly and in time"));
    report.result = ResultOf(20, 20, outcome);
    EXPECT_FALSE(report.IsNegative());
  }
}

TEST(LoadReportTest, TimesOfNothingAreNotZero) {
  LoadReport report;
  report.result = ResultOf(0, 0);
  report.limits = {*load::ParseThreshold("p99=10ms")};
  EXPECT_TRUE(report.IsNegative());
  const std::string text = ToText(report);
  EXPECT_THAT(text, Not(HasSubstr("0 us")));
  EXPECT_THAT(text, HasSubstr("over the limit p99=10ms: nothing to take it from"));
  EXPECT_NE(ToJson(report).dump().find("\"p99_s\":null"), std::string::npos);
  EXPECT_THAT(ToCsv(report), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace baseband::ctl
