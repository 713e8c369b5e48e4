// basebandctl minimize with a map or an interruption, and minimize-bench, against the real server.
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/ctl_test.h"

namespace baseband::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class BasebandctlMinimizeTest : public CtlTest {
 protected:
  static std::vector<std::string> Schwefel(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"minimize", "--builtin=schwefel", "--axis=x=-500:1:500",
                                          "--axis=y=-500:1:500", "--refine=brent"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // All but the last line, which has the times.
  static std::string Found(const Outcome& outcome) {
    const size_t points = outcome.output.rfind(" M points in ");
    return outcome.output.substr(0, outcome.output.rfind('\n', points));
  }
};

TEST_F(BasebandctlMinimizeTest, AMapComesWithTheSameAnswerAndEachPointOnce) {
  const Outcome plain = Run(Schwefel({}));
  ASSERT_EQ(plain.exit_code, 0) << plain.output;
  const Outcome mapped = Run(Schwefel({"--map=" + Path("map.csv")}));
  ASSERT_EQ(mapped.exit_code, 0) << mapped.output;
  EXPECT_EQ(Found(mapped), Found(plain));
  EXPECT_THAT(mapped.output, HasSubstr("1.00 M points in"));

  // The least of the cells is the grid's, and there are 256 x 256 of them.
  double least = INFINITY;
  int cells = 0;
  for (const absl::string_view line :
       absl::StrSplit(ReadAll(Path("map.csv")), '\n', absl::SkipEmpty())) {
    if (absl::EndsWith(line, "value")) continue;
    least = std::min(least, std::stod(std::string(line.substr(line.rfind(',') + 1))));
    ++cells;
  }
  EXPECT_EQ(cells, 256 * 256);
  EXPECT_NEAR(least, 0.000246512579, 1e-9);
}

TEST_F(BasebandctlMinimizeTest, AFormulaThatBeginsWithAMinusGoesBehindTwoDashes) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"minimize", "--axis", "x=-1:0.5:2", "--", "-x^2"},
                                             {"minimize", "--axis=x=-1:0.5:2", "--", "-(x^2)"}}) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, StartsWith("Minimum -4 at x = 2\n"));
  }
}

TEST_F(BasebandctlMinimizeTest, APointWithoutAValueIsANegativeResultWhereItIsToEndTheSearch) {
  const std::vector<std::string> search = {"minimize", "sqrt(x)", "--axis=x=-1:0.5:1"};
  EXPECT_EQ(Run(search).exit_code, 0);
  std::vector<std::string> failing = search;
  failing.push_back("--fail-on-nan");
  const Outcome outcome = Run(failing);
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("a point has no value, which ends the search: "));
}

TEST_F(BasebandctlMinimizeTest, RefinedIsSaidOfAMinimumAlone) {
  const std::vector<std::string> quartic = {"minimize", "x^4-3*x^3+2", "--axis=x=-1:0.07:3.97"};
  const auto refined = [&](std::vector<std::string> more) {
    more.insert(more.begin(), quartic.begin(), quartic.end());
    return Run(more).output;
  };
  EXPECT_THAT(refined({"--refine=newton"}),
              StartsWith("Minimum -6.54296875 at x = 2.25, refined\n"));
  EXPECT_THAT(
      refined({"--refine=parabola"}),
      AllOf(HasSubstr(", not refined\n"),
            HasSubstr("\nThe refinement stopped before the minimum, which may be off by ")));
  EXPECT_THAT(refined({"--refine=newton", "--points=10"}),
              AllOf(HasSubstr(", not refined\n"), HasSubstr("\nThe minimum is more than a step")));
  EXPECT_THAT(Run({"minimize", "cos(x)+0.001*x", "--axis=x=0:10:990", "--refine=newton"}).output,
              HasSubstr("\nThe step of x, 10, is longer than the minimum is wide"));
  EXPECT_THAT(Run({"minimize", "100*(x-y)^2+(x+y-0.13)^2", "--axis=x=-1:0.1:1", "--axis=y=-1:0.1:1",
                   "--refine=brent", "--json"})
                  .output,
              AllOf(HasSubstr("\"refinement_outcome\": \"converged\""),
                    HasSubstr("\"point_error\""), HasSubstr("\"coarse_axes\": []")));
}

TEST_F(BasebandctlMinimizeTest, AMapIsDrawnAlsoBesideRunnersUp) {
  const Outcome outcome =
      Run(Schwefel({"--top=2", "--separation=20", "20", "--map=" + Path("map.svg")}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr(" 2. "), HasSubstr("\n2.0")));
  EXPECT_THAT(ReadAll(Path("map.svg")), AllOf(StartsWith("<svg"), HasSubstr("base64,")));
}

TEST_F(BasebandctlMinimizeTest, AnInterruptedSearchEndsAtOnceAndSaysWhatItFound) {
  // A minute and more; a map's columns are each over before there is any news of it.
  for (const std::vector<std::string>& search : std::vector<std::vector<std::string>>{
           {"sum(j, 1, 1000, sin(j * x))", "--axis=x=0:1e-9*50M"},
           {"sum(j, 1, 100, sin(j * x * y))", "--axis=x=0:1e-3*256", "--axis=y=0:1*160000",
            "--in-flight=1", "--map=" + Path("none.svg")}}) {
    std::vector<std::string> arguments = {"--target=" + server_->target(), "--timeout=600s",
                                          "minimize"};
    arguments.insert(arguments.end(), search.begin(), search.end());
    ChildProcess process(ProgramPath("basebandctl"), arguments);
    // What has asked for a search takes signals for itself.
    ASSERT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {"rpc=\"Minimize\""}, 1,
                                       absl::Seconds(60)))
        << process.Output();
    process.Signal(SIGINT);
    EXPECT_EQ(process.Wait(absl::Seconds(60)).value_or(-1), 130) << search[0];
    EXPECT_THAT(process.Output(), AllOf(HasSubstr("interrupted after"), HasSubstr("best so far")));
    // The next one's sign is not to be this one's.
    ASSERT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {"rpc=\"Minimize\""}, 0,
                                       absl::Seconds(60)));
  }
}

TEST_F(BasebandctlMinimizeTest, WhatIsWrongInAFormulaIsPointedAt) {
  const Outcome outcome = Run({"minimize", "x + q", "--axis=x=0:1:9"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("  x + q\n      ^ column 5\n"));
}

TEST_F(BasebandctlMinimizeTest, ThePapersTableAndFiguresAreMade) {
  const Outcome outcome = Run({"minimize-bench", "table", "--name=here", "--max-time=300ms",
                               "--csv=" + Path("table.csv"), "--out=" + Path("paper_")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(ReadAll(Path("table.csv")),
              AllOf(HasSubstr("here,130,fast,"), HasSubstr("here,130,literal-float32,")));
  for (const char* name : {"figure1", "figure3", "figure4", "float32"}) {
    EXPECT_THAT(ReadAll(Path(absl::StrCat("paper_", name, ".svg"))), StartsWith("<svg"));
    EXPECT_THAT(ReadAll(Path(absl::StrCat("paper_", name, ".csv"))), HasSubstr("\n"));
  }
  const Outcome again =
      Run({"minimize-bench", "figures", "--with=" + Path("table.csv"), "--out=" + Path("again_")});
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_EQ(ReadAll(Path("again_figure3.svg")), ReadAll(Path("paper_figure3.svg")));
  EXPECT_EQ(Run({"minimize-bench", "figures", "--with=" + Path("again_float32.csv"),
                 "--out=" + Path("no_")})
                .exit_code,
            1);
}

}  // namespace
}  // namespace baseband::testing
