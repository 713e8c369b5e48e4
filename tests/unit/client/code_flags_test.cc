#include "client/ctl/ldpc/code_flags.h"

#include <string>

#include "client/cpp/code_shape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::IsInvalid;
using ::baseband::testing::IsOk;
using ::testing::ElementsAre;

CodeFlags Nr(int base_graph, int zc) {
  CodeFlags flags;
  flags.nr_bg = base_graph;
  flags.zc = zc;
  return flags;
}

TEST(CodeFlagsTest, ExactlyOneFamilyMustBeGiven) {
  EXPECT_THAT(ToLdpcCode(CodeFlags()), IsInvalid("no code"));
  CodeFlags flags = Nr(1, 384);
  flags.wifi_rate = "1/2";
  EXPECT_THAT(ToLdpcCode(flags), IsInvalid("several codes"));
}

TEST(CodeFlagsTest, NrTakesZcAndRows) {
  CodeFlags flags = Nr(1, 384);
  flags.rows = 24;
  const auto code = ToLdpcCode(flags);
  ASSERT_THAT(code, IsOk());
  const client::CodeShape shape = *client::ShapeOf(*code);
  EXPECT_EQ(shape.k(), 8448);
  EXPECT_EQ(shape.sent(), 16896);
  EXPECT_EQ(shape.full(), 17664);
  EXPECT_EQ(Describe(*code), "5G NR BG1 Zc=384, 24 rows: (16896,8448)");
}

TEST(CodeFlagsTest, RowsAndZcHaveTheirRanges) {
  CodeFlags flags = Nr(2, 384);
  flags.rows = 43;
  EXPECT_THAT(ToLdpcCode(flags), IsInvalid("43 is not in [4, 42]"));
  EXPECT_THAT(ToLdpcCode(Nr(1, 17)), IsInvalid("zc 17 is not a lifting"));
}

TEST(CodeFlagsTest, FlagsOfAnotherFamilyAreRefused) {
  CodeFlags flags;
  flags.wimax_rate = "2/3A";
  flags.zc = 96;
  EXPECT_THAT(ToLdpcCode(flags), IsInvalid("--zc does not go with"));
}

TEST(CodeFlagsTest, UnknownRatesAreRefusedWithTheKnownOnes) {
  CodeFlags flags;
  flags.wifi_rate = "7/8";
  EXPECT_THAT(ToLdpcCode(flags), IsInvalid("1/2, 2/3, 3/4, 5/6"));
}

TEST(CodeFlagsTest, FillerMustLeaveABit) {
  CodeFlags flags = Nr(2, 2);
  flags.filler = 20;
  EXPECT_THAT(ToLdpcCode(flags), IsInvalid("--filler 20 is not in [0, 19]"));
}

TEST(BaseMatrixTest, RowsCommentsAndDotsAreRead) {
  const auto code = ParseBaseMatrix("# a code\n0 1 0 .\n\n2, 0, -1, 0  # second row\n", 3, 1);
  ASSERT_THAT(code, IsOk());
  EXPECT_EQ(code->rows(), 2);
  EXPECT_EQ(code->columns(), 4);
  EXPECT_EQ(code->punctured_columns(), 1);
  EXPECT_THAT(code->shifts(), ElementsAre(0, 1, 0, -1, 2, 0, -1, 0));
}

TEST(BaseMatrixTest, ErrorsNameTheLine) {
  EXPECT_THAT(ParseBaseMatrix("0 1 0\n0 3 0\n", 3, 0), IsInvalid("line 2: shift '3'"));
  EXPECT_THAT(ParseBaseMatrix("0 1 0\n0 1\n", 3, 0), IsInvalid("line 2 has 2 shifts"));
  EXPECT_THAT(ParseBaseMatrix("0 1\n", 0, 0), IsInvalid("--zc"));
}

TEST(DecodeFlagsTest, NamesBecomeEnums) {
  DecodeFlags flags;
  flags.algorithm = "spa";
  flags.schedule = "flooding";
  flags.iterations = 7;
  flags.llr_count = 33;
  const auto group = ToDecodeGroup(flags);
  ASSERT_THAT(group, IsOk());
  EXPECT_EQ(group->algorithm(), v1::DECODE_ALGORITHM_SUM_PRODUCT);
  EXPECT_EQ(group->schedule(), v1::DECODE_SCHEDULE_FLOODING);
  EXPECT_EQ(group->max_iterations(), 7);
  EXPECT_EQ(group->llr_count(), 33);
}

TEST(DecodeFlagsTest, UnknownNamesAreRefused) {
  DecodeFlags flags;
  flags.algorithm = "turbo";
  EXPECT_THAT(ToDecodeGroup(flags), IsInvalid("'turbo' is not one of"));
}

}  // namespace
}  // namespace baseband::ctl
