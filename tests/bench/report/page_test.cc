#include "tests/bench/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/bench/report/si.h"

namespace baseband::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// `noisy` of a hundred rows.
BenchRun RunOf(int noisy) {
  BenchRun run;
  run.ended = true;
  for (int i = 0; i < 100; ++i) {
    run.rows.push_back(RateRow("encode", "cpu", {{"code", std::to_string(i)}}, 8, "bit", 1.0,
                               i < noisy ? 0.3 : 0.02));
  }
  return run;
}

TEST(PageTest, NumbersHaveThreeDigitsAndAPrefix) {
  EXPECT_EQ(Si(57.63e6, "bit/s"), "57.6 Mbit/s");
  EXPECT_EQ(Si(999.6e6, "bit/s"), "1.00 Gbit/s");
  EXPECT_EQ(Si(107.5e-6, "s"), "108 us");
  EXPECT_EQ(Si(1.0, "s"), "1.00 s");
  EXPECT_EQ(Si(2.214e12, "bit/s"), "2.21 Tbit/s");
}

TEST(PageTest, SaysWhatFailedAndWhatWasNotCheckedAndHowMuchIsReached) {
  BenchRun run = RunOf(0);
  run.rows.push_back(RateRow("limit", "cpu", {{"of", kMemory}}, 100, "byte", 1.0, 0.0));
  run.failed = {"x_bench ended with exit code 1"};
  run.rows[0].checked = false;
  run.rows[0].bytes = 10;

  const std::string page = PageOf(run, absl::nullopt);

  EXPECT_THAT(page, HasSubstr("**FAILED**: x_bench ended with exit code 1"));
  EXPECT_THAT(page, HasSubstr("| 0 | 8.00 bit/s, unchecked | 2 % | 80 % of 10.0 bit/s (memory) |"));
  EXPECT_THAT(page, Not(HasSubstr("Compared")));
}

TEST(PageTest, NamesWhatIsWorse) {
  const BenchRun run = RunOf(0);
  BenchRun before = run;
  before.rows[7].value = 12;

  EXPECT_THAT(
      PageOf(run, Compare(before, run)),
      HasSubstr("| encode cpu code=7 [bit/s] | 12.0 bit/s | 8.00 bit/s | +50 % | 2 %, 2 % |"));
}

TEST(PageTest, ABusyMachineIsSaidToBe) {
  EXPECT_EQ(BusyText(RunOf(5)), "");
  EXPECT_THAT(PageOf(RunOf(5), {}), Not(HasSubstr("other work")));
  EXPECT_THAT(PageOf(RunOf(6), {}), HasSubstr("6 of 100 measurements have a spread of more than"));
  BenchRun server = RunOf(40);
  for (Row& row : server.rows) row.device = "cpu server";
  EXPECT_EQ(BusyText(server), "");
}

TEST(PageTest, SaysWhatIsKnownOfSpreadsAndOfTheEnd) {
  BenchRun run = RunOf(0);
  run.rows[0].spread = kNoSpread;
  EXPECT_THAT(PageOf(run, {}), HasSubstr("| 0 | 8.00 bit/s | once |"));
  EXPECT_THAT(PageOf(run, {}), HasSubstr("| 1 | 8.00 bit/s | 2 % |"));
  EXPECT_THAT(PageOf(run, {}), Not(HasSubstr("Broken off")));
  run.ended = false;
  EXPECT_THAT(PageOf(run, {}), HasSubstr("Broken off"));
}

TEST(PageTest, PeersStandBesideWhatWasMeasuredOnly) {
  BenchRun run = RunOf(0);
  EXPECT_THAT(PageOf(run, {}), Not(HasSubstr("FlexRAN")));
  run.rows[0].parameters = {{"code", "NR BG1 Zc=384 rows=46"}};
  run.rows[0].spread = 0.4;
  EXPECT_THAT(PageOf(run, {}), HasSubstr("| 8.00 bit/s, spread 40 % | FlexRAN 14.8 Gb/s |"));
  EXPECT_THAT(PageOf(run, {}), Not(HasSubstr("cuPHY")));
}

}  // namespace
}  // namespace baseband::bench
