// A low pass, the points at which an equiripple filter's error alternates, and guesses of them from
// those of another length. Inside of design.h.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_ALTERNATION_H_
#define BASEBAND_KERNELS_DOWNCONVERT_ALTERNATION_H_

#include <algorithm>
#include <cmath>
#include <vector>

namespace baseband::downconvert {

// A low pass of gain 1.
struct LowPass {
  double pass = 0.0;        // [0, stop)
  double stop = 0.0;        // (pass, 1/2]
  double pass_error = 0.0;  // |amplitude - 1| up to `pass`, in (0, 1)
  double stop_error = 0.0;  // |amplitude| from `stop` on
};

// Cycles per sample, ascending, by band.
struct AlternationPoints {
  std::vector<double> pass;
  std::vector<double> stop;
  int size() const { return static_cast<int>(pass.size() + stop.size()); }
};

// `values` as `count` points with the same ends and the same density everywhere; a single one, as
// points between it and `other_end`.
inline std::vector<double> Spread(std::vector<double> values, double other_end, int count) {
  if (values.size() == 1 && count > 1) {
    values.insert(other_end < values[0] ? values.begin() : values.end(), other_end);
  }
  std::vector<double> spread(static_cast<size_t>(count));
  const auto last = static_cast<double>(values.size() - 1);
  for (int i = 0; i < count; ++i) {
    const double position = count == 1 ? last : last * i / (count - 1);
    const size_t k = std::min(static_cast<size_t>(position), values.size() - 1);
    const double t = position - static_cast<double>(k);
    const double next = values[std::min(k + 1, values.size() - 1)];
    spread[static_cast<size_t>(i)] = values[k] + t * (next - values[k]);
  }
  return spread;
}

// Of `count` points, a share of `share` in the pass band.
inline AlternationPoints Spread(const AlternationPoints& points, const LowPass& low_pass,
                                double share, int count) {
  int pass = std::clamp(static_cast<int>(std::lround(share * count)), 1, count - 1);
  if (low_pass.stop == 0.5) {  // a band of one frequency
    pass = count - 1;
  }
  AlternationPoints spread;
  spread.pass = Spread(points.pass, 0.0, pass);
  spread.stop = Spread(points.stop, 0.5, count - pass);
  return spread;
}
inline AlternationPoints Spread(const AlternationPoints& points, const LowPass& low_pass,
                                int count) {
  return Spread(points, low_pass, static_cast<double>(points.pass.size()) / points.size(), count);
}

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_ALTERNATION_H_
