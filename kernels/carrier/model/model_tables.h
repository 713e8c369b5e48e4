// The sums over a constellation's points that the tables of model.h are made of, with SIMD.
#ifndef BASEBAND_KERNELS_CARRIER_MODEL_MODEL_TABLES_H_
#define BASEBAND_KERNELS_CARRIER_MODEL_MODEL_TABLES_H_

#include <vector>

#include "absl/types/span.h"
#include "kernels/carrier/constellation.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

// count places: first, first + step, ..
struct Places {
  float first = 0.0F;
  float step = 0.0F;
  int count = 0;
  float at(int k) const { return first + step * static_cast<float>(k); }
};

// Over a row, `places` along I at one Q: soft and energy of model.h and, as `fit`, ln p(z) with the
// 1 / (pi s2). To `hard` the squared distance to the nearest point. Both [count].
void SumPoints(absl::Span<const Iq> points, float noise, const Places& places, float q,
               SoftNode* nodes, float* hard);

// The points by their distance from the origin: those of one ring together, in order of radius.
struct Rings {
  explicit Rings(absl::Span<const Iq> points);
  // Into `harmonics`, for each ring, the sum of exp(j power arg s) over its points.
  void Harmonics(int power, std::vector<Iq>* harmonics) const;

  std::vector<float> radii;
  std::vector<float> counts;  // points of the ring over all points
  int num_points = 0;

 private:
  std::vector<Iq> points_;  // ring by ring
  std::vector<int> first_;  // [radii.size() + 1], in points_
};

// ln of the mean of p(z) over a full turn at each |z| of `places`, to `ln_turn`; [count].
void SumRings(const Rings& rings, float noise, const Places& places, float* ln_turn);

// E[exp(j power arg z) | |z|] at each |z| of `places`, to `moments`; [count]. 1 <= power <=
// kMaxPower.
void SumHarmonics(const Rings& rings, absl::Span<const Iq> harmonics, int power, float noise,
                  const Places& places, Iq* moments);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MODEL_MODEL_TABLES_H_
