#include "client/ctl/ldpc/error_rate.h"

#include <algorithm>
#include <cmath>

namespace baseband::ctl {
namespace {

constexpr double kZ = 1.959963984540054;  // the normal quantile of 95 %, two-sided

}  // namespace

Interval WilsonInterval(int64_t part, int64_t whole) {
  if (whole == 0) {
    return {};
  }
  const double n = static_cast<double>(whole);
  const double p = static_cast<double>(part) / n;
  const double centre = (p + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half = kZ / (1 + kZ * kZ / n) * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  return {part == 0 ? 0 : std::max(0.0, centre - half),
          part == whole ? 1 : std::min(1.0, centre + half)};
}

void ErrorRate::AddFrame(int64_t bits, int64_t bit_errors, int64_t iterations, bool parity_ok) {
  ++frames_;
  bits_ += bits;
  bit_errors_ += bit_errors;
  squared_bit_errors_ += static_cast<double>(bit_errors) * static_cast<double>(bit_errors);
  iterations_ += iterations;
  frame_errors_ += bit_errors > 0;
  undetected_errors_ += bit_errors > 0 && parity_ok;
}

void ErrorRate::AddChannel(int64_t bits, int64_t bit_errors) {
  channel_bits_ += bits;
  channel_errors_ += bit_errors;
}

Interval ErrorRate::FerInterval() const { return WilsonInterval(frame_errors_, frames_); }

Interval ErrorRate::BerInterval() const {
  if (frames_ == 0 || bit_errors_ == 0) {
    return {0, FerInterval().high};
  }
  const double n = static_cast<double>(frames_);
  const double mean = static_cast<double>(bit_errors_) / n;
  const double variance = std::max(0.0, squared_bit_errors_ / n - mean * mean);
  const double factor = std::exp(kZ * std::sqrt(variance / n) / mean);
  return {ber() / factor, std::min(1.0, ber() * factor)};
}

}  // namespace baseband::ctl
