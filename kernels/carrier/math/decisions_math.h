// What hard decisions say of a frame's noise. For both devices.
//
// Rounds of soft decisions (newton_math.h) see an error of their table's noise the less, the more
// of the symbols they cannot tell: of a dense constellation they may stop with a table that is far
// off, and beyond the tables points that are close together stay one point to them. The mean
// squared distance to the nearest point falls with the noise for good, and is looked at anyway.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_DECISIONS_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_DECISIONS_MATH_H_

#include <cmath>

#include "kernels/base/host_device.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

// Where noise is so strong that the nearest point is any, the distance says nothing: by chance it
// may seem less, by 0.63 / sqrt(N) of itself where all places between four points of QAM are
// equally likely. Three times that does not count.
inline constexpr double kDistanceChance = 2.0;

// The SNR of a frame, dB. By `distance`, the mean squared distance at A = 1, from the operating SNR
// on, wholly from about 1 dB above it; below `soft_snr_db`, what soft decisions left of the noise.
// Between the tables ln-linear; beyond the last the share of the noise that is taken for others'
// stays what it is there. Of `known_share` of the symbols the distance is the noise itself.
BASEBAND_HOST_DEVICE inline double SnrOfFrame(const ModelView& view, double soft_snr_db,
                                              double distance, int num_symbols,
                                              double known_share) {
  const auto expected = [&](int table) {
    const SnrFacts& facts = view.facts[table];
    return (1.0 - known_share) * static_cast<double>(facts.hard_distance) +
           known_share * static_cast<double>(facts.noise);
  };
  int table = view.num_snrs - 1 - static_cast<int>(kSnrsAbove / kSnrStepDb);  // the operating SNR's
  double here = expected(table);
  double next = expected(table + 1);
  const double at_most =
      distance * (1.0 + kDistanceChance / sqrt(static_cast<double>(num_symbols)));
  if (!(at_most < here)) return soft_snr_db;
  const double tells = fmin(2.0 * (here - at_most) / (here - next), 1.0);
  while (distance <= next && table + 2 < view.num_snrs) {
    ++table;
    here = next;
    next = expected(table + 1);
  }
  const double held = fmax(distance, 1e-12);
  const double snr_db =
      held <= next ? static_cast<double>(view.facts[table + 1].snr_db) + 10.0 * log10(next / held)
                   : static_cast<double>(view.facts[table].snr_db) +
                         static_cast<double>(kSnrStepDb) * log(here / held) / log(here / next);
  return soft_snr_db + tells * (snr_db - soft_snr_db);
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_DECISIONS_MATH_H_
