#include "client/cpp/code_shape.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::client {
namespace {

using ::baseband::testing::IsInvalid;

v1::LdpcCode Nr(uint32_t base_graph, uint32_t zc) {
  v1::LdpcCode code;
  code.mutable_nr()->set_base_graph(base_graph);
  code.mutable_nr()->set_zc(zc);
  return code;
}

TEST(CodeShapeTest, FiftyOneLiftingSizesAreKnown) {
  int known = 0;
  for (uint32_t zc = 0; zc <= 1000; ++zc) {
    known += ShapeOf(Nr(1, zc)).ok();
  }
  EXPECT_EQ(known, 51);
}

TEST(CodeShapeTest, NrSizesFollowFromTheBaseGraph) {
  const CodeShape bg1 = *ShapeOf(Nr(1, 2));
  EXPECT_EQ(bg1.k(), 44);
  EXPECT_EQ(bg1.full(), 136);
  EXPECT_EQ(bg1.sent(), 132);
  const CodeShape bg2 = *ShapeOf(Nr(2, 52));
  EXPECT_EQ(bg2.k(), 520);
  EXPECT_EQ(bg2.sent(), 2600);
  EXPECT_EQ(OutputBits(bg2, v1::ENCODE_OUTPUT_PARITY), 42 * 52);
}

TEST(CodeShapeTest, ParityRowsShortenTheCode) {
  v1::LdpcCode code = Nr(1, 384);
  code.set_parity_rows(4);
  EXPECT_EQ(ShapeOf(code)->sent(), 24 * 384);
  code.set_parity_rows(3);
  EXPECT_THAT(ShapeOf(code), IsInvalid("parity_rows 3 is not in [4, 46]"));
}

TEST(CodeShapeTest, TheIeeeCodesHaveTwentyFourColumns) {
  v1::LdpcCode code;
  code.mutable_wimax()->set_rate(v1::WimaxCode::RATE_5_6);
  code.mutable_wimax()->set_n(2304);
  EXPECT_EQ(ShapeOf(code)->k(), 1920);
  code.set_parity_rows(2);
  EXPECT_THAT(ShapeOf(code), IsInvalid("parity_rows"));
  code.Clear();
  code.mutable_wifi()->set_rate(v1::WifiCode::RATE_2_3);
  code.mutable_wifi()->set_n(1000);
  EXPECT_THAT(ShapeOf(code), IsInvalid("wifi n 1000"));
}

TEST(CodeShapeTest, ACodeMustBeNamed) {
  EXPECT_THAT(ShapeOf(v1::LdpcCode()), IsInvalid("code is not set"));
}

}  // namespace
}  // namespace baseband::client
