#include "kernels/downconvert/fixed_taps.h"

#include <algorithm>
#include <cmath>

namespace baseband::downconvert {
namespace {

constexpr int kMaxTapExponent = 60;
// Sum of |T| over the taps that the sums have room for: 2^15 sqrt(2) 2^39 < 2^55
// (product_fixed.cu).
constexpr int kLogMaxSum = 39;

}  // namespace

FixedTaps FixedTapsOf(const Stage& stage) {
  FixedTaps fixed;
  if (stage.up != 1 || stage.taps.size() > kMaxFixedTaps) return fixed;
  float most = 0.0F;
  double sum = 0.0;
  for (const float tap : stage.taps) {
    most = std::max(most, std::abs(tap));
    sum += std::abs(static_cast<double>(tap));
  }
  if (most < std::ldexp(1.0, -kMaxTapExponent) || most > std::ldexp(1.0, kMaxTapExponent)) {
    return fixed;
  }
  // The largest power of two by which the largest tap, turned and rounded, is still in range.
  const double room = (kMaxFixedTap - 1) / (most * (1.0 + 0x1p-22));
  fixed.exponent = std::min(std::ilogb(room), kLogMaxSum - std::ilogb(sum) - 1);
  fixed.error = static_cast<double>(stage.taps.size()) * std::ldexp(1.0, -fixed.exponent) / sum;
  fixed.is_usable = fixed.error <= kMaxFixedError;
  return fixed;
}

}  // namespace baseband::downconvert
