// From the flags of `minimize` to its request, and from the answer to what people read.
#include <cmath>
#include <cstring>
#include <string>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/common/command.h"
#include "client/ctl/minimize/minimize_flags.h"
#include "client/ctl/minimize/minimize_map.h"
#include "client/ctl/minimize/minimize_report.h"
#include "kernels/minimize/expression.h"
#include "nlohmann/json.hpp"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::FileOfTest;

std::string AxisText(const std::string& text) {
  const auto axis = ParseAxis(text);
  if (!axis.ok()) return std::string(axis.status().message());
  return absl::StrCat(axis->name(), " ", axis->begin(), " ", axis->step(), " ", axis->count());
}

TEST(ParseAxisTest, BothEndsBelongToIt) {
  EXPECT_EQ(AxisText("x=0:0.1:1"), "x 0 0.1 11");
  EXPECT_EQ(AxisText("x=0:0.3:1"), "x 0 0.3 4");
  EXPECT_EQ(AxisText("f=465k:-0.5:464.9k"), "f 465000 -0.5 201");
  EXPECT_EQ(AxisText("x=5:1:5"), "x 5 1 1");
}

TEST(ParseAxisTest, AnEndThatIsNoPointIsTold) {
  std::vector<std::string> notes;
  for (const char* text : {"x=0:0.1:1", "x=5:1:5", "x=-500:1e-7:500", "x=0:3*2"}) {
    EXPECT_TRUE(ParseAxis(text, &notes).ok());
    EXPECT_THAT(notes, IsEmpty()) << text;
  }
  EXPECT_EQ(AxisText("x=-500:1e-7:500"), "x -500 1e-07 10000000001");
  EXPECT_TRUE(ParseAxis("x=0:0.3:1", &notes).ok());
  EXPECT_THAT(notes, ElementsAre("--axis x ends at 0.9: END 1 is no whole number of steps of 0.3"
                                 " away from BEGIN 0"));
}

// x=BEGIN:END:STEP had two points, or one, and no word about it.
TEST(ParseAxisTest, EndAndStepInTheOtherOrderAreRefused) {
  for (const char* text : {"x=-5:5:0.1", "x=0:3:0.5", "x=-10:10:1", "x=10:20:1"}) {
    EXPECT_THAT(AxisText(text), HasSubstr("the order is BEGIN:STEP:END")) << text;
  }
}

TEST(ParseAxisTest, OrItsPointsAreCounted) {
  EXPECT_EQ(AxisText("t=-1:0.5*1M"), "t -1 0.5 1000000");
  EXPECT_EQ(AxisText("t=7:0*1"), "t 7 0 1");
}

TEST(ParseAxisTest, WhatIsWrongIsQuoted) {
  EXPECT_THAT(AxisText("0:1:2"), HasSubstr("'0:1:2' is not NAME=.."));
  EXPECT_THAT(AxisText("x=0:1"), HasSubstr("not BEGIN:STEP:END"));
  EXPECT_THAT(AxisText("x=0:one:2"), HasSubstr("'one'"));
  EXPECT_THAT(AxisText("x=0:1:-2"), HasSubstr("no step of STEP 1 leads from BEGIN 0 to END -2"));
  EXPECT_THAT(AxisText("x=0:0:2"), HasSubstr("no step of STEP"));
  EXPECT_THAT(AxisText("x=0:1e-9:1e4"), HasSubstr("more than 2^40 points"));
  EXPECT_THAT(AxisText("x=0:1*0"), HasSubstr("COUNT is not in"));
}

TEST(ToMinimizeRequestTest, AFormulaWithItsNumbers) {
  MinimizeFlags flags;
  flags.expression = "sum(j, 0, 1, y[j]) * k + x";
  flags.axes = {"x=0:1:9"};
  flags.scalars = {"k=2k"};
  flags.arrays = {"y=" + FileOfTest("y.txt", "3 4")};
  flags.profile = "x";
  flags.refinement = "brent";
  flags.separation = {5};
  const auto request = ToMinimizeRequest(flags);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->expression().scalars(0).value(), 2000);
  EXPECT_EQ(request->expression().arrays(0).size(), 2U);
  double payload[2];
  ASSERT_EQ(request->payload().size(), sizeof(payload));
  std::memcpy(payload, request->payload().data(), sizeof(payload));
  EXPECT_THAT(payload, ElementsAre(3, 4));
  EXPECT_EQ(request->profile_bins(), 10U);
  EXPECT_EQ(request->refinement(), v1::REFINEMENT_BRENT);
  EXPECT_THAT(request->separation(), ElementsAre(5));
}

TEST(MinimizeHelpTest, SaysHowLargeAFormulaMayBe) {
  CLI::App app;
  const std::unique_ptr<Command> command = MakeMinimizeCommand();
  const std::string help = command->AddTo(&app)->help();
  EXPECT_THAT(help, AllOf(HasSubstr(absl::StrCat(minimize::kMaxTextBytes >> 10, " KiB")),
                          HasSubstr(absl::StrCat(minimize::kMaxNodes, " operators")),
                          HasSubstr(absl::StrCat("nested ", minimize::kMaxTextDepth, " deep")),
                          HasSubstr(absl::StrCat("sums ", minimize::kMaxSumDepth, " deep"))));
}

TEST(ToMinimizeRequestTest, ASignalThatEndsBetweenIAndQIsRefusedByItsNumbers) {
  MinimizeFlags flags;
  flags.signal = FileOfTest("odd.txt", "1 2 3");
  flags.replica = flags.signal;
  flags.axes = {"c=0:1:9", "f=0:1:9"};
  for (const char* builtin : {"chirp", "delay-doppler", "sinusoids"}) {
    flags.builtin = builtin;
    flags.is_complex = true;
    EXPECT_THAT(ToMinimizeRequest(flags).status().message(),
                HasSubstr("odd.txt has 3 numbers, not a multiple of the 2 of a sample (I, then Q)"))
        << builtin;
  }
  flags.is_complex = false;
  EXPECT_TRUE(ToMinimizeRequest(flags).ok());  // real sinusoids
}

TEST(ToMinimizeRequestTest, SignalsAreIThenQ) {
  MinimizeFlags flags;
  flags.builtin = "chirp";
  flags.axes = {"c=0:1:9", "f=0:1:9"};
  flags.signal = FileOfTest("y.txt", "1 2 3 4");
  flags.interval_s = 0.5;
  const auto chirp = ToMinimizeRequest(flags);
  ASSERT_TRUE(chirp.ok()) << chirp.status();
  EXPECT_EQ(chirp->chirp().num_samples(), 2U);
  EXPECT_EQ(chirp->chirp().sampling_interval_s(), 0.5);
  EXPECT_EQ(chirp->payload().size(), 4 * sizeof(double));

  flags.builtin = "delay-doppler";
  flags.replica = FileOfTest("s.txt", "5 6 7 8");
  const auto delay = ToMinimizeRequest(flags);
  ASSERT_TRUE(delay.ok()) << delay.status();
  EXPECT_EQ(delay->delay_doppler().num_samples(), 2U);
  EXPECT_EQ(delay->delay_doppler().sampling_interval_s(), 0.5);
  double payload[8];
  ASSERT_EQ(delay->payload().size(), sizeof(payload));
  std::memcpy(payload, delay->payload().data(), sizeof(payload));
  EXPECT_THAT(payload, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(ToMinimizeRequestTest, WhatCannotBeMeantIsRefused) {
  const auto refusal = [](const MinimizeFlags& flags) {
    const auto request = ToMinimizeRequest(flags);
    EXPECT_FALSE(request.ok());
    return std::string(request.status().message());
  };
  MinimizeFlags flags;
  flags.axes = {"x=0:1:9"};
  EXPECT_THAT(refusal(flags), HasSubstr("either an EXPRESSION or --builtin"));
  flags.builtin = "sinusoids";
  EXPECT_THAT(refusal(flags), HasSubstr("--signal"));
  flags.signal = FileOfTest("s.txt", "1 2 3 4");
  flags.columns = {FileOfTest("c.txt", "1 2 3")};
  EXPECT_THAT(refusal(flags), HasSubstr("has 3 numbers"));
  flags.columns.clear();
  flags.builtin = "delay-doppler";
  EXPECT_THAT(refusal(flags), HasSubstr("delay-doppler needs --replica FILE"));
  flags.replica = FileOfTest("r.txt", "1 2");
  EXPECT_THAT(refusal(flags), HasSubstr("has 2 numbers"));
  flags.signal.clear();
  EXPECT_THAT(refusal(flags), HasSubstr("delay-doppler needs --signal FILE"));
  flags.builtin = "schwefel";
  flags.profile = "y";
  EXPECT_THAT(refusal(flags), HasSubstr("no --axis is called y"));
  flags.expression = "x";
  EXPECT_THAT(refusal(flags), HasSubstr("either"));
}

v1::MinimizeRequest Request() {
  MinimizeFlags flags;
  flags.expression = "x^2";
  flags.axes = {"x=-4:1:4"};
  flags.profile = "x:3";
  return *ToMinimizeRequest(flags);
}

v1::MinimizeAnswer Answer() {
  v1::MinimizeAnswer answer;
  for (const int index : {4, 3}) {
    v1::GridPoint& point = *answer.add_top();
    point.set_index(static_cast<uint64_t>(index));
    point.add_coordinates(index - 4);
    point.set_value((index - 4) * (index - 4));
  }
  answer.add_point(0.25);
  answer.set_value(0.0625);
  answer.set_at_edge(true);
  answer.set_evaluations(9);
  answer.set_nan_points(2);
  answer.set_first_nan(7);
  answer.set_elapsed_s(0.001);
  for (const double value : {4.0, 0.0, std::nan("")}) answer.add_profile(value);
  return answer;
}

TEST(MinimizeReportTest, TextSaysWhereHowSureAndWhatElse) {
  EXPECT_THAT(
      ToText(Request(), Answer()),
      AllOf(StartsWith("Minimum 0.0625 at x = 0.25\n"), HasSubstr("end of an axis"),
            HasSubstr(" 2. 1 at x = -1"), HasSubstr("2 without a value"), HasSubstr("point 7")));
  EXPECT_THAT(ToText(Request(), v1::MinimizeAnswer()), HasSubstr("No point of the grid"));
}

v1::MinimizeAnswer Refined(v1::RefinementOutcome outcome, double error) {
  v1::MinimizeAnswer answer = Answer();
  answer.set_at_edge(false);
  answer.set_refinement_outcome(outcome);
  answer.add_point_error(error);
  return answer;
}

TEST(MinimizeReportTest, RefinedIsSaidOfAMinimumAlone) {
  v1::MinimizeRequest request = Request();
  request.set_refinement(v1::REFINEMENT_NEWTON);
  const auto text = [&](v1::RefinementOutcome outcome, double error = 0.02) {
    return ToText(request, Refined(outcome, error));
  };
  EXPECT_THAT(text(v1::REFINEMENT_OUTCOME_CONVERGED),
              StartsWith("Minimum 0.0625 at x = 0.25, refined\nOn the grid: 0 at x = 0\n 2. 1"));
  EXPECT_THAT(text(v1::REFINEMENT_OUTCOME_AT_EDGE),
              AllOf(StartsWith("Minimum 0.0625 at x = 0.25, refined to an end of an axis\n"),
                    HasSubstr("\nIt lies at an end of an axis: there may be better beyond.\n")));
  EXPECT_THAT(text(v1::REFINEMENT_OUTCOME_AT_BOX),
              AllOf(StartsWith("Minimum 0.0625 at x = 0.25, not refined\n"),
                    HasSubstr("\nThe minimum is more than a step from the grid's best point")));
  EXPECT_THAT(text(v1::REFINEMENT_OUTCOME_OUT_OF_ROUNDS),
              AllOf(StartsWith("Minimum 0.0625 at x = 0.25, not refined\n"),
                    HasSubstr("stopped before the minimum, which may be off by 0.02 in x.\n")));
  EXPECT_THAT(text(v1::REFINEMENT_OUTCOME_OUT_OF_ROUNDS, std::nan("")),
              HasSubstr("\nThe refinement stopped before the minimum.\n"));
  EXPECT_THAT(text(v1::REFINEMENT_OUTCOME_UNRESOLVED),
              AllOf(StartsWith("Minimum 0.0625 at x = 0.25, not refined\n"),
                    HasSubstr("\nWhether it is a minimum between the grid's points cannot be")));
}

TEST(MinimizeReportTest, AStepLongerThanTheWellIsToldByTheAxisName) {
  v1::MinimizeAnswer answer = Answer();
  EXPECT_TRUE(ToJson(Request(), answer)["coarse_axes"].empty());
  answer.add_coarse_axes(0);
  answer.add_coarse_axes(7);  // of no axis here: a newer server's, perhaps
  EXPECT_THAT(ToText(Request(), answer),
              HasSubstr("\nThe step of x, 1, is longer than the minimum is wide: the grid may have"
                        " missed a better one.\n"));
  EXPECT_EQ(ToJson(Request(), answer)["coarse_axes"].dump(), R"(["x"])");
}

TEST(MinimizeReportTest, JsonSaysWhatHasComeOfTheRefinement) {
  const auto json = [](v1::RefinementOutcome outcome) {
    return ToJson(Request(), Refined(outcome, 0.5));
  };
  EXPECT_EQ(json(v1::REFINEMENT_OUTCOME_CONVERGED)["refinement_outcome"], "converged");
  EXPECT_EQ(json(v1::REFINEMENT_OUTCOME_CONVERGED)["point_error"].dump(), "[0.5]");
  EXPECT_EQ(json(v1::REFINEMENT_OUTCOME_AT_EDGE)["refinement_outcome"], "at_edge");
  EXPECT_EQ(json(v1::REFINEMENT_OUTCOME_AT_BOX)["refinement_outcome"], "at_box");
  EXPECT_EQ(json(v1::REFINEMENT_OUTCOME_OUT_OF_ROUNDS)["refinement_outcome"], "out_of_rounds");
  EXPECT_EQ(json(v1::REFINEMENT_OUTCOME_UNRESOLVED)["refinement_outcome"], "unresolved");
  EXPECT_FALSE(ToJson(Request(), Answer()).contains("refinement_outcome"));
}

TEST(MinimizeReportTest, JsonCsvAndPicture) {
  EXPECT_EQ(ToJson(Request(), Answer())["top"][1]["index"], 3);
  EXPECT_EQ(ProfileCsv(Request(), Answer()), "x,value\n-3,4\n0,0\n3,\n");
  EXPECT_THAT(ProfileSvg(Request(), Answer()), StartsWith("<svg"));
}

TEST(MinimizeReportTest, ACaretStandsUnderTheColumn) {
  EXPECT_EQ(WithCaret("x + q", "expression, column 5: unknown name 'q'"),
            "unknown name 'q'\n  x + q\n      ^ column 5");
  // One past the end is where something is missing; two is no column of the formula.
  EXPECT_THAT(WithCaret("sin(x", "expression, column 6: expected ')'"),
              EndsWith("\n  sin(x\n       ^ column 6"));
  EXPECT_EQ(WithCaret("sin(x", "expression, column 7: no"), "expression, column 7: no");
  EXPECT_EQ(WithCaret("x", "queue is full"), "queue is full");
  // Lines and characters of more than one byte do not shift it.
  EXPECT_THAT(WithCaret("x +\n\xC3\xA9", "expression, column 7: y"),
              EndsWith("\n  x + \xC3\xA9\n       ^ column 7"));
  const std::string text(300, 'x');
  EXPECT_EQ(
      WithCaret(text, "expression, column 200: y"),
      absl::StrCat("y\n  ..", std::string(75, 'x'), "..\n", std::string(54, ' '), "^ column 200"));
}

TEST(SearchMapTest, OnlyAWholeGridOfTwoAxesHasOne) {
  v1::MinimizeRequest request = Request();
  EXPECT_THAT(CheckMap(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not of 1")));
  *request.add_axes() = *ParseAxis("y=0:1:9");
  EXPECT_TRUE(CheckMap(request).ok());
  request.set_first_point(3);
  EXPECT_THAT(CheckMap(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--first-point")));
}

TEST(SearchMapTest, CsvHasTheMiddleOfEachCell) {
  v1::MinimizeRequest request;
  *request.add_axes() = *ParseAxis("x=0:1*1");
  *request.add_axes() = *ParseAxis("y=0:0.5*513");
  SearchMap map;
  map.columns = 1;
  map.rows = 256;
  map.values.assign(256, 1.5);
  map.values[1] = std::nan("");
  // 513 points in 256 cells: the first has three, 0, 0.5 and 1.
  EXPECT_THAT(MapCsv(request, map), StartsWith("x,y,value\n0,0.5,1.5\n0,1.75,\n"));
}

TEST(SearchMapTest, AFallingAxisIsDrawnRising) {
  v1::MinimizeRequest request;
  *request.add_axes() = *ParseAxis("x=0:1*2");
  *request.add_axes() = *ParseAxis("y=0:1*1");
  MappedAnswer mapped;
  mapped.map.columns = 2;
  mapped.map.rows = 1;
  mapped.map.values = {1, 2};
  const std::string rising = MapSvg(request, mapped);
  EXPECT_THAT(rising, HasSubstr("data:image/png;base64,"));
  request.mutable_axes(0)->set_begin(1);
  request.mutable_axes(0)->set_step(-1);
  EXPECT_NE(MapSvg(request, mapped), rising);
  mapped.map.values = {2, 1};
  EXPECT_EQ(MapSvg(request, mapped), rising);
}

}  // namespace
}  // namespace baseband::ctl
