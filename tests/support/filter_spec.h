// Filters that tests ask for.
#ifndef BASEBAND_TESTS_SUPPORT_FILTER_SPEC_H_
#define BASEBAND_TESTS_SUPPORT_FILTER_SPEC_H_

#include <algorithm>
#include <cstdint>

#include "kernels/downconvert/filter.h"

namespace baseband::downconvert {

// A mask whose edges are fractions of the lower of the two rates.
struct Spec {
  double pass = 0.4;
  double attenuation_db = 80.0;
  int up = 1;
  int down = 1;
  Design design = Design::kKaiser;
  double ripple_db = 0.1;
  double stop = 0.0;  // 0: the easiest
  Mask mask() const {
    const double rate = std::min(1.0, static_cast<double>(up) / down);
    Mask mask;
    mask.pass_edge = pass * rate;
    mask.stop_edge = stop * rate;
    mask.attenuation_db = attenuation_db;
    mask.ripple_db = ripple_db;
    return mask;
  }
  double stop_edge() const {
    const double rate = std::min(1.0, static_cast<double>(up) / down);
    const double easiest = (1.0 - pass) * rate;
    return stop > 0.0 ? stop * rate : up == 1 ? std::min(0.5, easiest) : easiest;
  }
  absl::StatusOr<FilterPtr> Create() const { return Filter::FromMask(mask(), design, up, down); }
};

inline int64_t TapsOf(const Filter& filter) {
  int64_t taps = 0;
  for (const Stage& stage : filter.stages()) {
    taps += static_cast<int64_t>(stage.taps.size());
  }
  return taps;
}

}  // namespace baseband::downconvert

#endif  // BASEBAND_TESTS_SUPPORT_FILTER_SPEC_H_
