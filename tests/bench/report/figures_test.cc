#include "tests/bench/report/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace baseband::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Row LimitOf(const std::string& device, const std::string& of, double value) {
  return RateRow("limit", device, {{"of", of}}, value, "x", 1.0, 0.0);
}

// A machine that moves 100 bytes and does 1000 operations a second.
BenchRun Machine() {
  BenchRun run;
  run.rows = {LimitOf("cpu", kMemory, 100), LimitOf("cpu", kInteger, 1000)};
  return run;
}

Row RowOf(double bytes, double operations) {
  Row row = RateRow("encode", "cpu", {{"code", "a"}}, 8, "bit", 1.0, 0.0);
  row.bytes = bytes;
  row.operations = operations;
  return row;
}

TEST(LimitsTest, TheLeastOfWhatMemoryAndOperationsAllowBounds) {
  const Limits limits(Machine());

  EXPECT_EQ(limits.Of(RowOf(10, 10))->value, 10);
  EXPECT_EQ(limits.Of(RowOf(10, 10))->by, "memory");
  EXPECT_EQ(limits.Of(RowOf(10, 500))->value, 2);
  EXPECT_EQ(limits.Of(RowOf(10, 500))->by, "integer");
  EXPECT_EQ(limits.Of(RowOf(0, 500))->value, 2);
}

TEST(LimitsTest, ATimeIsBoundByTheLongest) {
  const Limits limits(Machine());
  const Row row = TimeRow(RowOf(10, 10), 16, "blocks");

  EXPECT_DOUBLE_EQ(limits.Of(row)->value, 1.6);
  EXPECT_DOUBLE_EQ(ShareOf(*limits.Of(row), row), 0.8);
  EXPECT_DOUBLE_EQ(ShareOf(*limits.Of(RowOf(10, 10)), RowOf(10, 10)), 0.8);
}

TEST(LimitsTest, NothingBoundsWhatIsNotCountedOrNotMeasured) {
  const Limits limits(Machine());
  Row elsewhere = RowOf(10, 10);
  elsewhere.device = "gpu";

  EXPECT_FALSE(limits.Of(RowOf(0, 0)).has_value());
  EXPECT_FALSE(limits.Of(elsewhere).has_value());
}

TEST(FiguresTest, RowsThatDifferInOneParameterAreACurve) {
  BenchRun run;
  for (const char* zc : {"30", "4", "384"}) {
    for (const char* device : {"cpu", "gpu"}) {
      run.rows.push_back(
          RateRow("encode", device, {{"code", "NR BG1"}, {"zc", zc}}, 8, "bit", 1.0, 0.0));
      run.rows.back().along = "zc";
    }
  }

  const std::vector<Figure> figures = FiguresOf(run);

  ASSERT_EQ(figures.size(), 1);
  EXPECT_EQ(figures[0].name, "sizes");
  ASSERT_EQ(figures[0].panels.size(), 1);
  EXPECT_EQ(figures[0].panels[0].title, "encode");
  ASSERT_EQ(figures[0].panels[0].series.size(), 2);
  const Series& curve = figures[0].panels[0].series[1];
  EXPECT_EQ(curve.label, "gpu BG1");
  ASSERT_EQ(curve.points.size(), 3);
  EXPECT_EQ(curve.points[0].first, 4);
  EXPECT_EQ(curve.points[2].first, 384);
  EXPECT_THAT(DrawFigure(figures[0], "a machine"), HasSubstr("gpu BG1"));
  EXPECT_THAT(DrawFigure(figures[0], "a machine"), HasSubstr("rate [bit/s]"));
}

TEST(FiguresTest, AxesCountInUnitsOfTheShortestTimeAndTheGreatestRate) {
  BenchRun run;
  for (const auto& [blocks, seconds] :
       {std::pair<const char*, double>{"1", 60e-6}, {"900", 3e-3}}) {
    Row& row = run.rows.emplace_back();
    row.what = "decode";
    row.device = "gpu";
    row.parameters = {{"blocks", blocks}};
    row.along = "blocks";
    row.unit = "s";
    row.value = seconds;
  }
  EXPECT_THAT(DrawFigure(FiguresOf(run)[0], "a machine"), HasSubstr("time [us]"));

  for (Row& row : run.rows) {
    row.unit = "bit/s";
    row.value = 1e5 / row.value;
  }
  EXPECT_THAT(DrawFigure(FiguresOf(run)[0], "a machine"), HasSubstr("rate [Gbit/s]"));
}

TEST(FiguresTest, WhatHasBytesAndOperationsIsBelowARoof) {
  BenchRun run = Machine();
  EXPECT_THAT(DrawRoofline(run, "a machine"), IsEmpty());
  run.rows.push_back(RowOf(10, 10));

  EXPECT_THAT(DrawRoofline(run, "a machine"), HasSubstr("cpu, integer"));
}

}  // namespace
}  // namespace baseband::bench
