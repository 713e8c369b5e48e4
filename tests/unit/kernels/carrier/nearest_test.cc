#include "kernels/carrier/constellation/nearest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/carrier/model.h"
#include "tests/support/channel.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::Random;

// By the formula of nearest.h, all points looked at.
int NearestOfAll(const NearestView& view, float i, float q) {
  int best = 0;
  for (int k = 1; k < view.num_points; ++k) {
    if (SearchDistance(view.points[k], -2.0F * i, -2.0F * q) <
        SearchDistance(view.points[best], -2.0F * i, -2.0F * q)) {
      best = k;
    }
  }
  return best;
}

// Expects that the grid agrees with looking at all points, at (i, q) and, of a folded grid, that
// the point found is as near as any of the whole constellation.
void ExpectNearest(const Constellation& constellation, const NearestView& view, float i, float q) {
  const float looked_up_i = view.folded != 0 ? std::fabs(i) : i;
  const float looked_up_q = view.folded != 0 ? std::fabs(q) : q;
  const int found = NearestListed(view, looked_up_i, looked_up_q);
  ASSERT_EQ(found, NearestOfAll(view, looked_up_i, looked_up_q)) << i << ", " << q;
  const float distance =
      SearchDistance(view.points[found], -2.0F * looked_up_i, -2.0F * looked_up_q);
  float least = std::numeric_limits<float>::infinity();
  for (const Iq& point : constellation.points()) {
    const auto energy = static_cast<float>(static_cast<double>(point.i) * point.i +
                                           static_cast<double>(point.q) * point.q);
    least = std::min(least, SearchDistance({point.i, point.q, energy, 0.0F}, -2.0F * i, -2.0F * q));
  }
  ASSERT_EQ(distance, least) << i << ", " << q;
}

// Symbols as received at several SNRs, `count` in all.
void ExpectNearestOfNoisySymbols(const Constellation& constellation, int count) {
  const NearestGrid grid = *NearestGrid::Create(constellation);
  const NearestView view = grid.view();
  Random random(5);
  for (const double relative_db : {-20.0, -4.0, 0.0, 6.0, 15.0}) {
    const double deviation =
        std::sqrt(0.5 * std::pow(10.0, -(constellation.operating_snr_db() + relative_db) / 10.0));
    for (int n = 0; n < count / 5; ++n) {
      const Iq& sent =
          constellation.points()[static_cast<size_t>(random.Below(constellation.size()))];
      ExpectNearest(constellation, view, static_cast<float>(sent.i + deviation * random.Normal()),
                    static_cast<float>(sent.q + deviation * random.Normal()));
      if (::testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

// Where it is hardest: cell borders, bisectors of two points, the axes, and far or tiny places.
void ExpectNearestInHardPlaces(const Constellation& constellation, int count) {
  const NearestGrid grid = *NearestGrid::Create(constellation);
  const NearestView view = grid.view();
  Random random(6);
  const auto border = [&] {
    const float at =
        view.origin + static_cast<float>(random.Below(view.side + 1)) / view.cells_per_unit;
    const float up = std::nextafter(at, 10.0F);
    return std::vector<float>{at, up, std::nextafter(at, -10.0F),
                              up + 1e-6F}[static_cast<size_t>(random.Below(4))];
  };
  const auto any_point = [&] {
    return constellation.points()[static_cast<size_t>(random.Below(constellation.size()))];
  };
  constexpr float kScales[] = {0.0F,  1e-38F, 1e-30F, 1e-12F, 1e-6F, 1.0F,        3.0F,
                               10.0F, 1e3F,   1e6F,   1e9F,   1e15F, kMaxSearched};
  for (int n = 0; n < count; ++n) {
    const float scale = kScales[random.Below(13)];
    const Iq a = any_point();
    const Iq b = any_point();
    const auto along = static_cast<float>(10.0 * random.Normal());
    const auto part = static_cast<float>(2.0 * random.Uniform() - 1.0);
    const std::vector<Iq> places = {
        {border(), border()},
        {border(), part},
        {scale, scale * part},
        {scale * part, -scale},
        {-scale, 0.0F},
        {-0.0F, scale * part},
        // On the bisector of two points, near and far.
        {(a.i + b.i) / 2 - along * (a.q - b.q), (a.q + b.q) / 2 + along * (a.i - b.i)},
        {(a.i + b.i) / 2, (a.q + b.q) / 2},
        a,
        // The direction of a point, and between two of them.
        {std::min(scale, 1e17F) * a.i, std::min(scale, 1e17F) * a.q},
        {std::min(scale, 1e17F) * (a.i + b.i), std::min(scale, 1e17F) * (a.q + b.q)},
    };
    for (const Iq& place : places) {
      ExpectNearest(constellation, view, place.i, place.q);
      if (::testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST(NearestTest, EqualsLookingAtAllPointsForEveryNamedConstellation) {
  for (const std::string& name : ConstellationNames()) {
    SCOPED_TRACE(name);
    const ConstellationPtr constellation = *Constellation::FromName(name);
    ExpectNearestOfNoisySymbols(*constellation, constellation->size() > 300 ? 20'000 : 200'000);
    ExpectNearestInHardPlaces(*constellation, constellation->size() > 300 ? 500 : 3000);
  }
}

TEST(NearestTest, EqualsLookingAtAllPointsOfAnybodysOwn) {
  Random random(7);
  for (const int size : {2, 3, 5, 16, 33, 100, 400, 1024}) {
    SCOPED_TRACE(size);
    std::vector<Iq> points;
    points.reserve(static_cast<size_t>(size));
    for (int k = 0; k < size; ++k) {
      points.push_back({static_cast<float>(random.Normal()), static_cast<float>(random.Normal())});
    }
    const ConstellationPtr constellation = *Constellation::FromPoints(points);
    ASSERT_FALSE(constellation->mirror_symmetric());
    ExpectNearestOfNoisySymbols(*constellation, 10'000'000 / (size + 500));
    ExpectNearestInHardPlaces(*constellation, 1'000'000 / (size + 500));
  }
}

// Points that nearly coincide, lie on one line, all meet in the middle of the grid, or differ in
// size by many powers of ten.
std::vector<std::pair<std::string, std::vector<Iq>>> OddConstellations() {
  std::vector<std::pair<std::string, std::vector<Iq>>> odd(6);
  Random random(8);
  odd[0].first = "1024PSK";
  odd[1].first = "1023PSK, turned";
  for (int k = 0; k < 1024; ++k) {
    const double angle = (k + 0.5) * 2.0 * M_PI / 1024.0;
    odd[0].second.push_back(
        {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
    const double turned = k * 2.0 * M_PI / 1023.0 + 0.1;
    odd[1].second.push_back(
        {static_cast<float>(std::cos(turned)), static_cast<float>(std::sin(turned))});
  }
  odd[1].second.pop_back();
  odd[2].first = "a cluster of 500 and one far away";
  odd[2].second.push_back({1.0F, 0.0F});
  for (int k = 0; k < 500; ++k) {
    odd[2].second.push_back(
        {static_cast<float>(1e-5 * random.Normal()), static_cast<float>(1e-5 * random.Normal())});
  }
  odd[3].first = "a line";
  for (int k = 0; k < 64; ++k) {
    odd[3].second.push_back({0.1F * static_cast<float>(k), 0.2F * static_cast<float>(k)});
  }
  odd[4].first = "sizes from 1e-30 to 1";
  for (int k = 0; k < 31; ++k) {
    odd[4].second.push_back({std::pow(10.0F, static_cast<float>(-k)), 0.0F});
  }
  odd[5].first = "neighbours in float32";
  float i = 1.0F;
  for (int k = 0; k < 40; ++k) {
    odd[5].second.push_back({i, 1.0F});
    i = std::nextafter(i, 2.0F);
    i = std::nextafter(i, 2.0F);
  }
  return odd;
}

TEST(NearestTest, EqualsLookingAtAllPointsOfOddConstellations) {
  for (const auto& [name, points] : OddConstellations()) {
    SCOPED_TRACE(name);
    const auto constellation = Constellation::FromPoints(points);
    ASSERT_TRUE(constellation.ok()) << constellation.status();
    ExpectNearestOfNoisySymbols(**constellation, 5000);
    ExpectNearestInHardPlaces(**constellation, 500);
  }
}

TEST(NearestTest, SlicingASquareQamFindsAPointAsNearToWithinRounding) {
  for (const std::string name : {"QPSK", "16QAM", "64QAM", "256QAM", "1024QAM"}) {
    SCOPED_TRACE(name);
    const ConstellationPtr constellation = *Constellation::FromName(name);
    const NearestGrid grid = *NearestGrid::Create(*constellation);
    const NearestView view = grid.view();
    ASSERT_EQ(view.slices, constellation->qam_side() / 2);
    ASSERT_EQ(view.num_points, view.slices * view.slices);
    Random random(9);
    int different = 0;
    for (int n = 0; n < 100'000; ++n) {
      const auto i = static_cast<float>(std::fabs(1.5 * random.Normal()));
      const auto q = static_cast<float>(std::fabs(1.5 * random.Normal()));
      const int sliced = NearestSliced(view, i, q);
      const int listed = NearestListed(view, i, q);
      const float excess = SearchDistance(view.points[sliced], -2.0F * i, -2.0F * q) -
                           SearchDistance(view.points[listed], -2.0F * i, -2.0F * q);
      different += sliced != listed ? 1 : 0;
      // Half a float32 step of a border's place, about 2^-23 of it, moves the distance by as much
      // of 4 |z| times the points' distance.
      ASSERT_LE(excess, 1e-6F * (1.0F + i + q)) << i << ", " << q;
    }
    EXPECT_LE(different, 20);
  }
}

TEST(NearestTest, NaNAndInfinityFindSomePoint) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::string name : {"BPSK", "64QAM", "128APSK 135/180"}) {
    const NearestGrid grid = *NearestGrid::Create(**Constellation::FromName(name));
    const NearestView view = grid.view();
    for (const Iq& place : std::vector<Iq>{{kNan, 0.0F},
                                           {0.5F, kNan},
                                           {kInfinity, 1.0F},
                                           {-kInfinity, kInfinity},
                                           {3e38F, 3e38F}}) {
      const int found = NearestListed(view, place.i, place.q);
      EXPECT_TRUE(found >= 0 && found < view.num_points);
      if (view.slices > 0) {
        const int sliced = NearestSliced(view, place.i, place.q);
        EXPECT_TRUE(sliced >= 0 && sliced < view.num_points);
      }
    }
  }
}

TEST(NearestTest, FoldedPointsAreThoseOfTheFirstQuadrantWithTheirRadii) {
  const ConstellationPtr constellation = *Constellation::FromName("32APSK 3/4");
  const NearestGrid grid = *NearestGrid::Create(*constellation);
  const NearestView view = grid.view();
  EXPECT_EQ(view.folded, 1);
  EXPECT_EQ(view.num_points, 9);  // 1 + 3 + 5: the outer ring has points on the axes
  for (int k = 0; k < view.num_points; ++k) {
    const SearchPoint& point = view.points[k];
    EXPECT_TRUE(point.i >= 0.0F && point.q >= 0.0F);
    EXPECT_NEAR(point.inverse_radius, 1.0 / std::hypot(point.i, point.q), 1e-5);
  }
}

// So small that a block of threads may hold it in shared memory.
TEST(NearestTest, AnOctantHasHalfOfThePointsThatMirrorAboutTheDiagonal) {
  const auto octant_points = [](const Constellation& constellation) {
    return NearestGrid::Create(constellation)->view().octant_points;
  };
  EXPECT_EQ(octant_points(**Constellation::FromName("QPSK")), 1);
  EXPECT_EQ(octant_points(**Constellation::FromName("16APSK 3/4")), 3);  // 4 + 12
  EXPECT_EQ(octant_points(**Constellation::FromName("64QAM")), 10);
  EXPECT_EQ(octant_points(**Constellation::FromName("64APSK 128/180")), 8);
  // Mirrors about both axes, but is wider than high.
  const ConstellationPtr wide =
      *Constellation::FromPoints({{2.0F, 1.0F}, {-2.0F, 1.0F}, {2.0F, -1.0F}, {-2.0F, -1.0F}});
  EXPECT_EQ(octant_points(*wide), 0);
}

TEST(NearestTest, NamedGridsTakeLessThan64Kilobytes) {
  for (const std::string& name : ConstellationNames()) {
    EXPECT_LT(NearestGrid::Create(**Constellation::FromName(name))->bytes(), 64 * 1024) << name;
  }
}

// Points a float's last places apart: every one of them may be the nearest of every cell. Held
// against each other, which took 18 s once, they would be no fewer.
TEST(NearestTest, PointsThatHardlyDifferAreFoundAllTheSameAndGiveWay) {
  std::vector<Iq> points;
  for (int k = 0; k < 512; ++k) {
    points.push_back({1.0F + 1.2e-7F * static_cast<float>(k % 32),
                      1.0F + 1.2e-7F * static_cast<float>(k / 32)});
  }
  const ConstellationPtr constellation = *Constellation::FromPoints(points);
  int asked = 0;
  const auto end_soon = [&asked] {
    return ++asked < 100 ? absl::OkStatus() : absl::CancelledError("enough");
  };
  EXPECT_EQ(NearestGrid::Create(*constellation, end_soon).status(),
            absl::CancelledError("enough"));
  EXPECT_EQ(asked, 100);
  asked = 0;
  EXPECT_EQ(Model::Create(constellation, Amplitude::kWeighted, 1, end_soon).status(),
            absl::CancelledError("enough"));
  EXPECT_EQ(asked, 100);
  const NearestGrid grid = *NearestGrid::Create(*constellation);
  const float place = constellation->points()[0].i;
  for (int k = 0; k < 1000; ++k) {
    const float i = place * (1.0F + 1e-8F * static_cast<float>(k));
    ExpectNearest(*constellation, grid.view(), i, place);
    ExpectNearest(*constellation, grid.view(), -i, 3.0F * i);
  }
}

}  // namespace
}  // namespace baseband::carrier
