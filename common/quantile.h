// A quantile of values that come one after the other.
#ifndef BASEBAND_COMMON_QUANTILE_H_
#define BASEBAND_COMMON_QUANTILE_H_

namespace baseband {

// By what an estimate of their quantile `q` is to be multiplied after another value, which is
// larger than it or not: it rises for a larger one and falls for another, in all by the part
// `step`, so that both balance where the part `q` of them is not larger.
inline double QuantileStep(double q, double step, bool is_larger) {
  return 1.0 + step * (is_larger ? q : q - 1.0);
}

}  // namespace baseband

#endif  // BASEBAND_COMMON_QUANTILE_H_
