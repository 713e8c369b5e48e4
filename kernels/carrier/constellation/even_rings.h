// Constellations whose points lie evenly spaced on rings: PSK, and most APSK. A turn of a symbol
// then moves it along its own radius, and its distance to the nearest point follows from one angle,
// without a search.
#ifndef BASEBAND_KERNELS_CARRIER_CONSTELLATION_EVEN_RINGS_H_
#define BASEBAND_KERNELS_CARRIER_CONSTELLATION_EVEN_RINGS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/carrier/constellation.h"

namespace baseband::carrier {

inline constexpr int kMaxEvenRings = 8;

struct EvenRing {
  float radius = 0.0F;
  uint32_t points = 1;  // in a quarter of a turn
  // The angle of a point, from 0 to the next one, in units of 2^-32 of the distance of neighbours.
  uint32_t first = 0;
  // Which ring the nearest point is on depends on a symbol's angle only in between: a symbol of a
  // smaller radius than next_from is not on the next ring, one of own_to or more not on this one.
  // Infinity for the last ring.
  float next_from = 0.0F;
  float own_to = 0.0F;
};

struct EvenRings {
  int count = 0;                  // 0: the constellation is none of those
  int alike = 0;                  // 1 if all have equally many points, at the same angles
  EvenRing rings[kMaxEvenRings];  // by radius
};

// Of points of unit mean energy that are where even rings have them, to 5e-7 of the radius. Not
// taken are rings of other than a multiple of 4 points, more than kMaxEvenRings, those of less than
// twice kOriginRadius, and such that one symbol might be nearest to points of three.
EvenRings EvenRingsOf(absl::Span<const Iq> points);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_CONSTELLATION_EVEN_RINGS_H_
