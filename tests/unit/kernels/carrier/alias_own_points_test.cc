// Aliases of a client's own points, of whatever order: of every alias and branch the one that is
// there is found, and what the phase is sure of is told.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/unit/kernels/carrier/one_frame.h"

namespace baseband::carrier {
namespace {

std::vector<Iq> Ring(int count, float radius, double turn) {
  std::vector<Iq> points;
  for (int k = 0; k < count; ++k) {
    const double angle = 2.0 * M_PI * (k + turn) / count;
    points.push_back({radius * static_cast<float>(std::cos(angle)),
                      radius * static_cast<float>(std::sin(angle))});
  }
  return points;
}
std::vector<Iq> Rings(const std::vector<std::pair<int, float>>& rings) {
  std::vector<Iq> points;
  for (const auto& [count, radius] : rings) {
    const std::vector<Iq> ring = Ring(count, radius, 0.0);
    points.insert(points.end(), ring.begin(), ring.end());
  }
  return points;
}

// Own points of any order, their power a multiple of it: of every alias and branch the one that is
// there is found, and the phase lies where it is sure.
TEST(CarrierAliasTest, OwnPointsOfAnyOrder) {
  struct Case {
    std::vector<Iq> points;
    int symmetry;
    int power;
  };
  const std::vector<Case> cases = {{Rings({{1, 0.4F}, {7, 1.0F}}), 1, 7},
                                   {Rings({{1, 0.3F}, {2, 0.6F}, {8, 1.0F}}), 1, 8},
                                   {Rings({{3, 0.5F}, {15, 1.0F}}), 3, 15},
                                   {Rings({{5, 0.5F}, {20, 1.0F}}), 5, 20},
                                   {Rings({{10, 0.5F}, {20, 1.0F}}), 10, 20},
                                   {Rings({{20, 1.0F}}), 20, 20},
                                   {Rings({{1, 0.5F}, {60, 1.0F}}), 1, 60},
                                   {Rings({{2, 0.5F}, {48, 1.0F}}), 2, 48},
                                   {Rings({{64, 1.0F}}), 64, 64}};
  for (const Case& test : cases) {
    const ConstellationPtr constellation = *Constellation::FromPoints(test.points);
    ASSERT_EQ(constellation->symmetry(), test.symmetry);
    const ModelPtr model = ModelOf(constellation, test.power);
    const double period = 1.0 / test.symmetry;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(std::to_string(test.symmetry) + " of " + std::to_string(test.power) +
                   ", frame " + std::to_string(seed));
      FrameSpec spec = SpecOf(constellation, constellation->operating_snr_db() + 10.0, seed, 2500);
      spec = WithRandomOffset(spec, 0.5 * period);
      const Result result = Recover(*model, {}, MakeFrame(spec));
      EXPECT_EQ(result.lock, Lock::kLocked);
      EXPECT_LE(std::fabs(testing::WrappedDifference(result.frequency, spec.frequency, period)),
                5.0 * result.frequency_stddev);
      EXPECT_EQ(result.ambiguity, test.symmetry);
      EXPECT_LE(
          std::fabs(testing::WrappedDifference(result.phase, spec.phase, 2.0 * M_PI * period)),
          5.0 * result.phase_stddev);
      EXPECT_GE(result.phase, -M_PI / result.ambiguity);
      EXPECT_LT(result.phase, M_PI / result.ambiguity);
    }
  }
}

// Where noise hides the inner ring the phase is sure of less than the constellation's symmetry; it
// lies within that.
TEST(CarrierAliasTest, AnUnsurePhaseLiesWithinItsAmbiguity) {
  const ConstellationPtr constellation =
      *Constellation::FromPoints(Rings({{1, 0.05F}, {20, 1.0F}}));
  ASSERT_EQ(constellation->symmetry(), 1);
  const ModelPtr model = ModelOf(constellation, 20);
  Parameters parameters;
  parameters.max_frequency = 0.5 / 20;
  parameters.want_corrected = true;
  int unsure = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    FrameSpec spec = SpecOf(constellation, 24.0, seed, 300);
    spec = WithRandomOffset(spec, 0.02);
    const CarrierFrame frame = MakeFrame(spec);
    for (const Reference reference : {Reference::kFirst, Reference::kCentre, Reference::kLast}) {
      parameters.reference = reference;
      const Result result = Recover(*model, parameters, frame);
      EXPECT_GE(result.phase, -M_PI / result.ambiguity);
      EXPECT_LT(result.phase, M_PI / result.ambiguity);
      unsure += result.ambiguity == 20 ? 1 : 0;
    }
  }
  EXPECT_GE(unsure, 15);
}

// An order above 255 is told as it is.
TEST(CarrierAliasTest, AmbiguitiesAreNotCutOff) {
  const ConstellationPtr constellation = *Constellation::FromPoints(Ring(512, 1.0F, 0.0));
  const ModelPtr model = ModelOf(constellation);
  Parameters parameters;
  parameters.coarse = Coarse::kNone;
  FrameSpec spec = SpecOf(constellation, 60.0, 1, 100);
  EXPECT_EQ(Recover(*model, parameters, MakeFrame(spec)).ambiguity, 512);
}

}  // namespace
}  // namespace baseband::carrier
