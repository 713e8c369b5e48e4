#include "kernels/carrier/constellation/even_rings.h"

#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/channel.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::Random;

constexpr double kPi = 3.14159265358979323846;

EvenRings RingsOfName(const std::string& name) {
  return EvenRingsOf((*Constellation::FromName(name))->points());
}

// The number of the ring that a place of the plane is nearest to a point of.
int NearestRing(const Constellation& constellation, const EvenRings& rings,
                const std::complex<double>& place) {
  double least = INFINITY;
  double radius = 0.0;
  for (const Iq& point : constellation.points()) {
    const double distance = std::abs(place - std::complex<double>(point.i, point.q));
    if (distance < least) {
      least = distance;
      radius = std::hypot(point.i, point.q);
    }
  }
  int nearest = 0;
  for (int k = 1; k < rings.count; ++k) {
    if (std::fabs(rings.rings[k].radius - radius) <
        std::fabs(rings.rings[nearest].radius - radius)) {
      nearest = k;
    }
  }
  return nearest;
}

TEST(EvenRingsTest, PskAndDvbRingsAreEvenAndOthersAreNot) {
  const struct {
    const char* name;
    int count;
    bool alike;
  } cases[] = {{"BPSK", 0, false},
               {"QPSK", 1, true},
               {"8PSK", 1, true},
               {"8APSK 100/180", 0, false},
               {"16APSK 3/4", 2, false},
               {"16APSK 90/180", 2, true},
               {"16APSK 18/30", 0, false},
               {"32APSK 3/4", 3, false},
               {"32APSK 2/3", 3, false},
               {"64APSK 128/180", 4, true},
               {"64APSK 132/180", 4, false},
               {"64APSK 7/9", 4, false},
               {"128APSK 135/180", 0, false},
               {"256APSK 135/180", 8, true},
               {"256APSK 20/30", 0, false},
               {"16QAM", 0, false},
               {"64QAM", 0, false}};
  for (const auto& of : cases) {
    const EvenRings rings = RingsOfName(of.name);
    EXPECT_EQ(rings.count, of.count) << of.name;
    if (of.count > 0) {
      EXPECT_EQ(rings.alike != 0, of.alike) << of.name;
    }
  }
}

TEST(EvenRingsTest, EveryPointIsOneOfItsRing) {
  for (const std::string& name : ConstellationNames()) {
    const EvenRings rings = RingsOfName(name);
    std::vector<Iq> made;
    for (int k = 0; k < rings.count; ++k) {
      const EvenRing& ring = rings.rings[k];
      for (uint32_t j = 0; j < 4 * ring.points; ++j) {
        const auto point = std::polar(static_cast<double>(ring.radius),
                                      (j + ring.first * 0x1p-32) * 0.5 * kPi / ring.points);
        made.push_back({static_cast<float>(point.real()), static_cast<float>(point.imag())});
      }
    }
    if (rings.count == 0) continue;
    const ConstellationPtr constellation = *Constellation::FromName(name);
    ASSERT_EQ(made.size(), constellation->points().size()) << name;
    for (const Iq& point : constellation->points()) {
      bool found = false;
      for (const Iq& other : made) {
        // float32's last digit of a coordinate, and EvenRingsOf's 5e-7.
        found = found || std::hypot(other.i - point.i, other.q - point.q) < 1e-6F;
      }
      EXPECT_TRUE(found) << name << ' ' << point.i << ' ' << point.q;
    }
  }
}

TEST(EvenRingsTest, ASymbolsRadiusTellsItsRingOrTheTwoThatItMayBeOn) {
  Random random(7);
  for (const std::string& name : ConstellationNames()) {
    const EvenRings rings = RingsOfName(name);
    if (rings.count == 0) continue;
    const ConstellationPtr constellation = *Constellation::FromName(name);
    const double most = 1.5 * static_cast<double>(rings.rings[rings.count - 1].radius);
    int on_next = 0;
    for (int n = 0; n < 20000; ++n) {
      const double radius = most * random.Uniform();
      const int nearest =
          NearestRing(*constellation, rings, std::polar(radius, 2.0 * kPi * random.Uniform()));
      int ring = 0;
      while (static_cast<float>(radius) >= rings.rings[ring].own_to) ++ring;
      const bool may_be_next = static_cast<float>(radius) >= rings.rings[ring].next_from;
      EXPECT_TRUE(nearest == ring || (may_be_next && nearest == ring + 1))
          << name << " radius " << radius << ": " << nearest << " is not " << ring;
      on_next += nearest == ring + 1 ? 1 : 0;
    }
    if (rings.count > 1) {
      EXPECT_GT(on_next, 0) << name;
    }
  }
}

TEST(EvenRingsTest, PointsOffTheirPlaceByAMillionthAreNotEven) {
  const ConstellationPtr constellation = *Constellation::FromName("16APSK 3/4");
  std::vector<Iq> points(constellation->points().begin(), constellation->points().end());
  ASSERT_EQ(EvenRingsOf(points).count, 2);
  points[3].i += 4e-6F;
  EXPECT_EQ(EvenRingsOf(points).count, 0);
}

// Symbols by the origin are decided otherwise.
TEST(EvenRingsTest, RingsByTheOriginAreNotTaken) {
  for (const double radius : {1.9e-3, 2.1e-3}) {
    std::vector<Iq> points;
    for (int k = 0; k < 8; ++k) {
      const auto point = std::polar(k % 2 == 0 ? radius : std::sqrt(2.0 - radius * radius),
                                    (k / 2 + 0.5 * (k % 2)) * 0.5 * kPi);
      points.push_back({static_cast<float>(point.real()), static_cast<float>(point.imag())});
    }
    EXPECT_EQ(EvenRingsOf(points).count, radius < 2e-3 ? 0 : 2) << radius;
  }
}

// Rings of 4 points so close that a symbol between their points is near those of three rings.
TEST(EvenRingsTest, RingsOfWhichThreeMeetAreNotTaken) {
  std::vector<Iq> points;
  for (const double radius : {0.9, 1.0, 1.1}) {
    for (int k = 0; k < 4; ++k) {
      const auto point = std::polar(radius, (k + (radius == 1.0 ? 0.5 : 0.0)) * 0.5 * kPi);
      points.push_back({static_cast<float>(point.real()), static_cast<float>(point.imag())});
    }
  }
  EXPECT_EQ(EvenRingsOf(points).count, 0);
}

}  // namespace
}  // namespace baseband::carrier
