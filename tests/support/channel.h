// BPSK over additive white Gaussian noise, the same on every machine: noise for tests and benches.
#ifndef BASEBAND_TESTS_SUPPORT_CHANNEL_H_
#define BASEBAND_TESTS_SUPPORT_CHANNEL_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace baseband::testing {

// SplitMix64 (Steele, Lea, Flood 2014) and what is drawn from it. One stream a seed.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  // 0 .. bound - 1.
  int Below(int bound) {
    return static_cast<int>((Next() >> 32) * static_cast<uint64_t>(bound) >> 32);
  }
  // (0, 1).
  double Uniform() { return (static_cast<double>(Next() >> 12) + 0.5) / 4503599627370496.0; }
  // Mean 0, variance 1 (Box and Muller, one pair at a time).
  double Normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2.0 * std::log(Uniform()));
    const double angle = 6.283185307179586 * Uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  uint64_t state_;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

// The noise variance of a real BPSK symbol at Eb/N0 for a code of `rate` information bits a sent
// bit: sigma^2 = 1 / (2 rate Eb/N0).
inline double NoiseVariance(double ebn0_db, double rate) {
  return 1.0 / (2.0 * rate * std::pow(10.0, ebn0_db / 10.0));
}

// Sends `bits`, one byte a bit, 0 as +1 and 1 as -1, and returns natural LLRs 2 y / sigma^2.
inline std::vector<double> SendOverAwgn(absl::Span<const uint8_t> bits, double variance,
                                        Random& random) {
  std::vector<double> llr;
  llr.reserve(bits.size());
  for (uint8_t bit : bits) {
    const double y = (bit != 0 ? -1.0 : 1.0) + std::sqrt(variance) * random.Normal();
    llr.push_back(2.0 * y / variance);
  }
  return llr;
}

// The recommended scale of decode.h.
inline constexpr double kLlrScale = 4.0;

// To int8, round(llr * scale), clipped to +-127.
inline std::vector<int8_t> QuantiseLlr(absl::Span<const double> llr, double scale = kLlrScale) {
  std::vector<int8_t> out;
  out.reserve(llr.size());
  for (double value : llr) {
    out.push_back(static_cast<int8_t>(std::clamp(std::round(value * scale), -127.0, 127.0)));
  }
  return out;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_CHANNEL_H_
