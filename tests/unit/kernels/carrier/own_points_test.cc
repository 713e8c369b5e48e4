// Constellations of a client's own points: order, scale, symmetry, and what is refused.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/carrier/constellation.h"
#include "tests/support/named_constellation.h"
#include "tests/support/status_matchers.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::IsInvalid;
using ::baseband::testing::IsOk;
using ::baseband::testing::Named;

absl::StatusOr<ConstellationPtr> OfPoints(const std::vector<Iq>& points) {
  return Constellation::FromPoints(points);
}

TEST(ConstellationTest, SquareGridsAreFoundInAnyOrderAndScale) {
  EXPECT_EQ(Named("QPSK")->qam_side(), 2);
  EXPECT_EQ(Named("16QAM")->qam_side(), 4);
  EXPECT_EQ(Named("1024QAM")->qam_side(), 32);
  EXPECT_EQ(Named("32QAM")->qam_side(), 0);
  EXPECT_EQ(Named("16APSK 3/4")->qam_side(), 0);
  EXPECT_EQ(Named("64APSK 4/5")->qam_side(), 0);
  std::vector<Iq> grid;
  for (int q = 7; q >= -7; q -= 2) {
    for (int i = -7; i <= 7; i += 2) {
      grid.push_back({100.0F * static_cast<float>(i), 100.0F * static_cast<float>(q)});
    }
  }
  EXPECT_EQ((*OfPoints(grid))->qam_side(), 8);
  grid[5].i += 30.0F;
  EXPECT_EQ((*OfPoints(grid))->qam_side(), 0);
}

TEST(ConstellationTest, OwnPointsGetAnOperatingPointLikeThatOfTheSameNamedOnes) {
  for (const std::string name : {"16QAM", "32QAM", "64QAM", "256QAM"}) {
    const ConstellationPtr named = Named(name);
    const ConstellationPtr own = *Constellation::FromPoints(named->points());
    EXPECT_EQ(own->name(), "custom");
    EXPECT_NEAR(own->operating_snr_db(), named->operating_snr_db(), 1.5) << name;
  }
}

TEST(ConstellationTest, OwnPointsKeepTheirOrderAndAreScaledToUnitEnergy) {
  const ConstellationPtr constellation = *OfPoints({{0, 0}, {0, 2e-20F}, {-2e-20F, 0}});
  const float radius = std::sqrt(1.5F);
  EXPECT_FLOAT_EQ(constellation->points()[1].q, radius);
  EXPECT_FLOAT_EQ(constellation->points()[2].i, -radius);
  EXPECT_EQ(constellation->points()[0].i, 0.0F);
  EXPECT_EQ(constellation->symmetry(), 1);
  EXPECT_FALSE(constellation->mirror_symmetric());
}

TEST(ConstellationTest, AlmostMirroredPointsAreMadeExactAndOthersAreLeftAlone) {
  const ConstellationPtr almost =
      *OfPoints({{1, 1}, {1.0000002F, -1}, {-1, 0.9999998F}, {-1, -1}, {3e-7F, 2}, {0, -2}});
  ASSERT_TRUE(almost->mirror_symmetric());
  EXPECT_EQ(almost->points()[1].i, almost->points()[0].i);
  EXPECT_EQ(almost->points()[2].q, almost->points()[0].q);
  EXPECT_EQ(almost->points()[4].i, 0.0F);
  EXPECT_FALSE((*OfPoints({{1, 1}, {1.0001F, -1}, {-1, 1}, {-1, -1}}))->mirror_symmetric());
}

TEST(ConstellationTest, SymmetryOfOwnPointsCountsTheCentreOut) {
  std::vector<Iq> ring_and_centre = {{0, 0}};
  for (int k = 0; k < 1000; ++k) {
    const double angle = 0.1 + 2.0 * M_PI * k / 1000.0;
    ring_and_centre.push_back(
        {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  }
  EXPECT_EQ((*OfPoints(ring_and_centre))->symmetry(), 1000);
  EXPECT_EQ((*OfPoints({{1, 0}, {-1, 0}, {0, 0.5F}, {0, -0.5F}}))->symmetry(), 2);
  EXPECT_EQ((*OfPoints({{1, 0}, {0, 0}}))->symmetry(), 1);
}

TEST(ConstellationTest, OwnPointsOutOfRangeAreRefusedByName) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(OfPoints({}), IsInvalid("points has 0 points"));
  EXPECT_THAT(OfPoints({{1, 0}}), IsInvalid("points has 1 points, not 2 .. 1024"));
  std::vector<Iq> many;
  for (int k = 0; k <= kMaxPoints; ++k) {
    many.push_back({static_cast<float>(k), 1.0F});
  }
  EXPECT_THAT(OfPoints(many), IsInvalid("points has 1025 points"));
  many.pop_back();
  EXPECT_THAT(OfPoints(many), IsOk());
  EXPECT_THAT(OfPoints({{1, 0}, {0, kNan}}), IsInvalid("points: point 1, (0, nan), is not finite"));
  EXPECT_THAT(OfPoints({{kInfinity, 0}, {0, 1}}),
              IsInvalid("points: point 0, (inf, 0), is not finite"));
  EXPECT_THAT(OfPoints({{0, 0}, {0, 0}}), IsInvalid("points are all zero"));
  EXPECT_THAT(OfPoints({{1, 0}, {0, 1}, {1, 0}}),
              IsInvalid("points: point 2 is the same as point 0, (1, 0) at unit"));
  EXPECT_THAT(OfPoints({{0, 0}, {-0.0F, 0}, {1, 0}}),
              IsInvalid("points: point 1 is the same as point 0, (-0, 0)"));
  // Different as given, but not beside a point so much larger.
  EXPECT_THAT(OfPoints({{1e38F, 0}, {1e-30F, 0}, {2e-30F, 0}}), IsInvalid("is the same as"));
  EXPECT_THAT(OfPoints({{3e38F, 0}, {-3e38F, 0}}), IsOk());
}

}  // namespace
}  // namespace baseband::carrier
