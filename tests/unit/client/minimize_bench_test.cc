// The paper's grids, and the table of minimize-bench as a file.
#include "client/ctl/studies/minimize_bench.h"

#include <cmath>
#include <string>

#include "client/ctl/studies/minimize_paper.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::IsInvalid;
using ::testing::HasSubstr;

TEST(PaperTest, TheFrequencyLiesThreeTenthsOfAStepAboveAPoint) {
  for (const PaperRow& size : kPaperTable) {
    const v1::GridAxis axis = PaperAxis(size.points);
    const double steps = (kPaperFrequencyHz - axis.begin()) / axis.step();
    EXPECT_NEAR(steps - std::floor(steps), 0.3, 1e-6);
    EXPECT_LT(steps, static_cast<double>(size.points));
    EXPECT_GE(axis.begin(), 1000);
    EXPECT_LT(axis.begin() + axis.step() * static_cast<double>(size.points), 2.5e6);
  }
  EXPECT_NEAR(PaperEnergy(), 1200, 1);
}

TEST(PaperTest, ATableIsReadAsItWasWritten) {
  PaperTimings timings;
  timings.device = "1 core";
  timings.rows = {{14444445, 3, 1.25, 1, -0.0625, 2.5e-6}, {130, 0, 4, 2, 1.5, -0.5}};
  const std::string csv = ToTable(timings).ToCsv();
  const auto read = ParsePaperTimings(csv);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToTable(*read).ToCsv(), csv);
  EXPECT_EQ(read->Find(14444445, 3)->client_ms, 1.25);
  EXPECT_EQ(read->Find(130, 3), nullptr);
  EXPECT_THAT(ToText(timings, {*read}), HasSubstr("Times faster than 1 core"));
  EXPECT_THAT(ParsePaperTimings("device,points\nx,131,fast,1,1,1,1,1,1,1\n"), IsInvalid("line 2"));
  EXPECT_FALSE(ParsePaperTimings("").ok());
}

}  // namespace
}  // namespace baseband::ctl
