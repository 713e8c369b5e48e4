#include "kernels/minimize/grid.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/minimize_search.h"
#include "tests/support/status_matchers.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::kNan;
using ::baseband::testing::MakeGrid;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

TEST(MinimizeGridTest, IndicesAreRowMajorAndCoordinatesRoundedOnce) {
  const Grid grid = MakeGrid({{1.0, 0.1, 3}, {-5.0, 2.0, 4}, {0.0, -0.3, 5}});
  ASSERT_EQ(grid.num_points(), 60);
  for (int64_t index = 0; index < 60; ++index) {
    const Indices i = grid.IndicesOf(index);
    EXPECT_EQ(i, (Indices{{index / 20, index / 5 % 4, index % 5, 0}}));
    EXPECT_EQ(grid.IndexOf(i), index);
    const Coordinates x = grid.CoordinatesOf(index);
    EXPECT_EQ(x[0], std::fma(static_cast<double>(i[0]), 0.1, 1.0));
    EXPECT_EQ(x[2], std::fma(static_cast<double>(i[2]), -0.3, 0.0));
  }
}

TEST(MinimizeGridTest, TwoToTheFortiethPointIsReached) {
  const Grid grid = MakeGrid({{0.0, 1e-6, int64_t{1} << 20}, {7.0, 0.17, int64_t{1} << 20}});
  const int64_t last = kMaxPoints - 1;
  EXPECT_EQ(grid.num_points(), kMaxPoints);
  EXPECT_EQ(grid.IndicesOf(last), (Indices{{(1 << 20) - 1, (1 << 20) - 1, 0, 0}}));
  EXPECT_EQ(grid.IndexOf(grid.IndicesOf(last)), last);
  EXPECT_EQ(grid.CoordinatesOf(last)[1], std::fma(1048575.0, 0.17, 7.0));
  EXPECT_THAT(Grid::Create(std::vector<Axis>{{0, 1, int64_t{1} << 20}, {0, 1, (1 << 20) + 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^40")));
}

TEST(MinimizeGridTest, BrokenAxesAreRefused) {
  const auto refused = [](std::vector<Axis> axes) { return !Grid::Create(axes).ok(); };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused(std::vector<Axis>(5)));
  EXPECT_TRUE(refused({{0.0, 1.0, 0}}));
  EXPECT_TRUE(refused({{0.0, 0.0, 2}}));
  EXPECT_FALSE(refused({{0.0, 0.0, 1}}));
}

TEST(MinimizeGridTest, WhatIsWrongWithAnAxisIsNamedWithItsValue) {
  const auto refusal = [](std::vector<Axis> axes) {
    return std::string(Grid::Create(axes).status().message());
  };
  const Axis good = {0.0, 1.0, 2};
  EXPECT_EQ(refusal({good, {kNan, 1.0, 2}}), "axes[1].begin nan is not finite");
  EXPECT_EQ(refusal({{0.0, -INFINITY, 2}}), "axes[0].step -inf is not finite");
  EXPECT_EQ(refusal({{1e308, 1e308, 2}}),
            "axes[0].step 1e+308 leads from begin 1e+308 in 1 steps to inf, which is not finite");
  EXPECT_EQ(refusal({{0.0, 1.0, int64_t{1} << 39}, {0.0, 1.0, 3}}),
            "axes[1].count 3 is not in [1, 2]: the grid has at most 2^40 points, and 549755813888 "
            "of the axes before");
}

}  // namespace
}  // namespace baseband::minimize
