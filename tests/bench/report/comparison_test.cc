#include "tests/bench/report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace baseband::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Row RateOf(const std::string& code, double value, double spread = 0.0) {
  return RateRow("decode", "cpu", {{"code", code}}, value, "bit", 1.0, spread);
}
Row TimeOf(const std::string& code, double value) {
  return TimeRow(RateOf(code, 1.0 / value), 1.0, "");
}
BenchRun RunOf(std::vector<Row> rows) {
  BenchRun run;
  run.rows = std::move(rows);
  return run;
}
std::vector<std::string> CodesOf(const std::vector<Change>& changes) {
  std::vector<std::string> codes;
  codes.reserve(changes.size());
  for (const Change& change : changes) codes.push_back(change.now.parameters[0].second);
  return codes;
}

TEST(ComparisonTest, ARateThatFallsIsWorseAndOneThatRisesIsBetter) {
  const Comparison comparison =
      Compare(RunOf({RateOf("a", 100), RateOf("b", 100), RateOf("c", 100)}),
              RunOf({RateOf("a", 80), RateOf("b", 125), RateOf("c", 95)}));

  EXPECT_THAT(CodesOf(comparison.worse), ElementsAre("a"));
  EXPECT_DOUBLE_EQ(comparison.worse[0].slower, 0.25);
  EXPECT_THAT(CodesOf(comparison.better), ElementsAre("b"));
  EXPECT_EQ(comparison.alike, 1);
}

TEST(ComparisonTest, ATimeThatRisesIsWorse) {
  const Comparison comparison = Compare(RunOf({TimeOf("a", 1e-3), TimeOf("b", 1e-3)}),
                                        RunOf({TimeOf("a", 1.2e-3), TimeOf("b", 0.5e-3)}));

  EXPECT_THAT(CodesOf(comparison.worse), ElementsAre("a"));
  EXPECT_NEAR(comparison.worse[0].slower, 0.2, 1e-12);
  EXPECT_THAT(CodesOf(comparison.better), ElementsAre("b"));
}

TEST(ComparisonTest, TenPercentAreNothing) {
  const Comparison comparison = Compare(RunOf({TimeOf("a", 1.0), RateOf("b", 100)}),
                                        RunOf({TimeOf("a", 1.099), RateOf("b", 109.9)}));

  EXPECT_THAT(comparison.worse, IsEmpty());
  EXPECT_THAT(comparison.better, IsEmpty());
  EXPECT_EQ(comparison.alike, 2);
}

TEST(ComparisonTest, WhatRepetitionsOfEitherRunDifferByIsNothing) {
  EXPECT_THAT(Compare(RunOf({RateOf("a", 100, 0.6)}), RunOf({RateOf("a", 70)})).worse, IsEmpty());
  EXPECT_THAT(Compare(RunOf({RateOf("a", 100)}), RunOf({RateOf("a", 70, 0.6)})).worse, IsEmpty());
  EXPECT_THAT(CodesOf(Compare(RunOf({RateOf("a", 100, 0.2)}), RunOf({RateOf("a", 70, 0.2)})).worse),
              ElementsAre("a"));
}

TEST(ComparisonTest, WhatWasMeasuredOnceMayDifferByHalf) {
  const BenchRun before = RunOf({RateOf("a", 100, kNoSpread), RateOf("b", 100, kNoSpread)});

  EXPECT_THAT(CodesOf(Compare(before, RunOf({RateOf("a", 70), RateOf("b", 60)})).worse),
              ElementsAre("b"));
}

TEST(ComparisonTest, WhatIsMeasuredAgainStaysWorseOrIsAlike) {
  const BenchRun before = RunOf({RateOf("a", 100), RateOf("b", 100), RateOf("c", 100)});
  const Comparison first =
      Compare(before, RunOf({RateOf("a", 50), RateOf("b", 60), RateOf("c", 100)}));

  const Comparison confirmed = Confirmed(
      first, Compare(before, RunOf({RateOf("a", 70), RateOf("b", 125), RateOf("c", 140)})));

  EXPECT_THAT(CodesOf(confirmed.worse), ElementsAre("a"));
  EXPECT_EQ(confirmed.worse[0].now.value, 70);
  EXPECT_THAT(confirmed.better, IsEmpty());
  EXPECT_EQ(confirmed.alike, 2);
}

TEST(ComparisonTest, TheWorstComesFirst) {
  const Comparison comparison = Compare(RunOf({RateOf("a", 100), RateOf("b", 100), TimeOf("c", 1)}),
                                        RunOf({RateOf("a", 80), RateOf("b", 20), TimeOf("c", 2)}));

  EXPECT_THAT(CodesOf(comparison.worse), ElementsAre("b", "c", "a"));
}

TEST(ComparisonTest, RowsOfOneRunOnlyAreCounted) {
  const Comparison comparison =
      Compare(RunOf({RateOf("a", 1), RateOf("gone", 1)}),
              RunOf({RateOf("a", 1), RateOf("new", 1), TimeOf("gone", 1)}));

  EXPECT_THAT(comparison.gone, ElementsAre("decode cpu code=gone [bit/s]"));
  EXPECT_EQ(comparison.added, 2);
}

TEST(ComparisonTest, AnotherMachineIsNamed) {
  BenchRun before;
  before.head.cpu = "A";
  before.head.cores = 2;
  BenchRun now = before;
  EXPECT_THAT(Compare(before, now).machine, IsEmpty());
  now.head.cpu = "B";
  EXPECT_THAT(Compare(before, now).machine, ElementsAre("cpu 'A' is 'B' now"));
}

}  // namespace
}  // namespace baseband::bench
