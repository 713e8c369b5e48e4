#include "tests/bench/report/run_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace baseband::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string& HeadText() {
  static const auto* const text =
      new std::string(R"({"run":{"begin":"2026-11-29T19:00:00+00:00","commit":"abc","mode":"full",)"
                      R"("cpu":"A \"fast\" one","cores":2,"gpu":"","driver":""}})"
                      "\n");
  return *text;
}

Row SomeRow() {
  Row row = RateRow("decode", "cpu", {{"code", "NR BG1"}, {"zc", "384"}}, 8448, "bit", 1e-4, 0.03);
  row.along = "zc";
  row.checked = false;
  row.bytes = 3.125;
  row.over = kLink;
  row.operations = 700;
  row.of = kFma;
  row.program = "x_bench";
  return row;
}

std::string MessageOf(const std::string& text) {
  const absl::StatusOr<BenchRun> run = ParseRun(text, "run.jsonl");
  EXPECT_EQ(run.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(run.status().message());
}

TEST(RunFileTest, ReadsWhatBenchesAndReportWrite) {
  const Row sent = SomeRow();

  const absl::StatusOr<BenchRun> run = ParseRun(
      HeadText() + ToJson(sent) + "\n" + FailedLine("x_bench ended with exit code 1") + "\n",
      "run.jsonl");

  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->head.cpu, "A \"fast\" one");
  EXPECT_EQ(run->head.cores, 2);
  EXPECT_EQ(HeadLine(run->head) + "\n", HeadText());
  EXPECT_THAT(run->failed, ElementsAre("x_bench ended with exit code 1"));
  ASSERT_EQ(run->rows.size(), 1);
  EXPECT_EQ(ToJson(run->rows[0]), ToJson(sent));
  EXPECT_EQ(KeyOf(run->rows[0]), "decode cpu code=NR BG1 zc=384 [bit/s]");
}

TEST(RunFileTest, OfSeveralTurnsTheBestCounts) {
  Row rate = SomeRow();  // 84.48e6 bit/s
  Row time = TimeRow(rate, 8448, "blocks");
  std::string text = HeadText() + ToJson(rate) + "\n" + ToJson(time) + "\n";
  rate.value *= 1.25;
  rate.spread = 0.01;
  time.value *= 1.5;
  time.checked = true;
  text += TurnLine(2) + "\n" + ToJson(rate) + "\n" + ToJson(time) + "\n";
  const absl::StatusOr<BenchRun> run = ParseRun(text, "run.jsonl");

  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->rows.size(), 2);
  EXPECT_DOUBLE_EQ(run->rows[0].value, 1.25 * 84.48e6);
  EXPECT_DOUBLE_EQ(run->rows[0].spread, 0.01);
  EXPECT_DOUBLE_EQ(run->rows[1].value, 1e-4);
  EXPECT_DOUBLE_EQ(run->rows[1].spread, 0.03);
  EXPECT_FALSE(run->rows[1].checked);  // in every turn
  EXPECT_THAT(MessageOf(text + ToJson(rate) + "\n"),
              HasSubstr("run.jsonl:7: measures what line 5 does"));
}

TEST(RunFileTest, WhatEveryTurnMeasuresOnceHasTheirDifferenceForASpread) {
  Row row = SomeRow();
  row.spread = kNoSpread;
  std::string text = HeadText() + ToJson(row) + "\n";
  EXPECT_EQ(ParseRun(text, "run.jsonl")->rows[0].spread, kNoSpread);
  row.value *= 0.8;
  text += TurnLine(2) + "\n" + ToJson(row) + "\n";

  const absl::StatusOr<BenchRun> run = ParseRun(text, "run.jsonl");

  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_DOUBLE_EQ(run->rows[0].spread, 0.25);
}

TEST(RunFileTest, ARunHasEndedIfItSaysSo) {
  const std::string text = HeadText() + ToJson(SomeRow()) + "\n";

  EXPECT_FALSE(ParseRun(text, "run.jsonl")->ended);
  EXPECT_TRUE(ParseRun(text + EndLine() + "\n", "run.jsonl")->ended);
}

TEST(RunFileTest, ATimeHasWhatAllOfItTakes) {
  const Row row = TimeRow(SomeRow(), 2 * 8448, "blocks");

  EXPECT_EQ(row.unit, "s");
  EXPECT_DOUBLE_EQ(row.value, 2e-4);
  EXPECT_DOUBLE_EQ(row.bytes, 2 * 8448 * 3.125);
  EXPECT_EQ(row.along, "blocks");
}

TEST(RunFileTest, TheSpreadIsThatOfTheMiddleHalf) {
  const Times times = Times::Of({5, 1, 2, 3, 100, 4, 6, 7});

  EXPECT_EQ(times.best, 1);
  EXPECT_EQ(times.median, 5);
  EXPECT_DOUBLE_EQ(times.spread, (6.0 - 3.0) / 5.0);
  EXPECT_EQ(Times::Of({3}).spread, kNoSpread);
}

TEST(RunFileTest, RefusesWithTheNameOfTheFileAndTheLine) {
  const std::string row = ToJson(SomeRow()) + "\n";
  EXPECT_EQ(MessageOf(""), "run.jsonl is empty");
  EXPECT_THAT(MessageOf("\n"), HasSubstr("run.jsonl:1: is empty"));
  EXPECT_THAT(MessageOf(HeadText() + EndLine() + "\n" + row),
              HasSubstr("run.jsonl:3: is behind the run's end"));
  EXPECT_THAT(MessageOf(row), HasSubstr("run.jsonl:1: is no run's head"));
  EXPECT_THAT(MessageOf(HeadText() + row + HeadText()),
              HasSubstr("run.jsonl:3: another run's head"));
  EXPECT_THAT(MessageOf(HeadText() + "\n{\"what\": \n"), HasSubstr("run.jsonl:3: is not JSON"));
  EXPECT_THAT(MessageOf(HeadText() + "7\n"), HasSubstr("run.jsonl:2: is not an object"));
  EXPECT_THAT(MessageOf(HeadText() + row + row),
              HasSubstr("run.jsonl:3: measures what line 2 does: decode cpu code=NR BG1 zc=384"));
  EXPECT_THAT(MessageOf("{\"run\":{\"cores\":\"two\"}}"), HasSubstr("run.jsonl:1.run.cores: "));
}

TEST(RunFileTest, RefusesARowThatIsNone) {
  const std::string start = HeadText() + R"({"what":"decode","device":"cpu","unit":"s",)";
  EXPECT_THAT(MessageOf(start + R"("value":0})"),
              HasSubstr("run.jsonl:2.value: 0 is not more than 0"));
  EXPECT_THAT(MessageOf(start + R"("spread":1})"), HasSubstr("run.jsonl:2: 'value' is missing"));
  EXPECT_THAT(MessageOf(start + R"("value":1e999})"),
              HasSubstr("run.jsonl:2: is not JSON: number overflow"));
  EXPECT_THAT(MessageOf(start + R"("value":1,"spread":-1})"),
              HasSubstr("run.jsonl:2.spread: -1 is less than 0"));
  EXPECT_THAT(MessageOf(start + R"("value":true})"), HasSubstr("run.jsonl:2.value: true is not"));
  EXPECT_THAT(MessageOf(start + R"("value":1,"colour":"red"})"),
              HasSubstr("run.jsonl:2: 'colour' is not one of what, device, parameters"));
  EXPECT_THAT(MessageOf(start + R"("value":1,"parameters":{"zc":384}})"),
              HasSubstr("run.jsonl:2.parameters: 384 is not a text"));
  EXPECT_THAT(MessageOf(HeadText() + R"({"what":"decode","device":"cpu","value":1})"),
              HasSubstr("run.jsonl:2: 'unit' is missing"));
  EXPECT_THAT(MessageOf(HeadText() + R"({"device":"cpu","value":1,"unit":"s"})"),
              HasSubstr("run.jsonl:2: 'what' is missing"));
}

}  // namespace
}  // namespace baseband::bench
