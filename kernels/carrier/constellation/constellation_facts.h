// What can be seen from the points of a constellation of unit mean energy. For constellation.cc.
#ifndef BASEBAND_KERNELS_CARRIER_CONSTELLATION_CONSTELLATION_FACTS_H_
#define BASEBAND_KERNELS_CARRIER_CONSTELLATION_CONSTELLATION_FACTS_H_

#include <vector>

#include "absl/types/span.h"
#include "kernels/carrier/constellation.h"

namespace baseband::carrier {

// If every point's mirror images in I and in Q are points too, to within 1e-6, makes them so to the
// bit and returns true; else changes nothing.
bool MakeMirrorSymmetric(std::vector<Iq>* points);

// Constellation::symmetry() and qam_side().
int SymmetryOf(absl::Span<const Iq> points);
int QamSideOf(absl::Span<const Iq> points);

// Es/N0 in dB at which the cutoff rate,
//   log2(size) - log2(mean over the points s of the sum over the points t of
//                     exp(-|s - t|^2 Es / (4 N0))),
// is 0.88 log2(size). Unlike an error rate it is not led astray by a few points that nearly
// coincide.
double CutoffSnrDb(absl::Span<const Iq> points);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_CONSTELLATION_CONSTELLATION_FACTS_H_
