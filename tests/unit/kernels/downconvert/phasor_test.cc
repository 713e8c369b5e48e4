// Sine and cosine of the oscillator's words against those of the library, and the spurs they leave.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/downconvert/nco_math.h"
#include "tests/unit/kernels/downconvert/exact_phase.h"

namespace baseband::downconvert {
namespace {

TEST(PhasorTest, IsWithinOneTenMillionthForEveryWord) {
  double largest = 0.0;
  double power = 0.0;
  constexpr int kWords = 1 << 24;
  for (int k = 0; k < kWords; ++k) {
    const uint64_t word = (static_cast<uint64_t>(k) << 40) | (static_cast<uint64_t>(k) * 977);
    const double angle = static_cast<double>(static_cast<int64_t>(word)) *
                         static_cast<double>(std::ldexp(kTurn, -64));
    const Phasor phasor = PhasorOf(word);
    const double i = phasor.i - std::cos(angle);
    const double q = phasor.q - std::sin(angle);
    largest = std::max(largest, i * i + q * q);
    power += i * i + q * q;
  }
  EXPECT_LE(std::sqrt(largest), 1.0e-7);
  EXPECT_LE(10.0 * std::log10(power / kWords), -150.0);
}

TEST(PhasorTest, QuarterTurnsAreExact) {
  const float expected[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  for (uint64_t quarter = 0; quarter < 4; ++quarter) {
    const Phasor phasor = PhasorOf(quarter << 62);
    EXPECT_EQ(phasor.i, expected[quarter][0]);
    EXPECT_EQ(phasor.q, expected[quarter][1]);
  }
}

// Discrete Fourier transform, in halves.
std::vector<std::complex<double>> Transform(const std::vector<std::complex<double>>& x) {
  const size_t n = x.size();
  if (n == 1) {
    return x;
  }
  std::vector<std::complex<double>> even;
  std::vector<std::complex<double>> odd;
  for (size_t k = 0; k < n; k += 2) {
    even.push_back(x[k]);
    odd.push_back(x[k + 1]);
  }
  even = Transform(even);
  odd = Transform(odd);
  std::vector<std::complex<double>> result(n);
  for (size_t k = 0; k < n / 2; ++k) {
    const std::complex<double> turned =
        odd[k] * std::polar(1.0, -static_cast<double>(kTurn) * static_cast<double>(k) /
                                     static_cast<double>(n));
    result[k] = even[k] + turned;
    result[k + n / 2] = even[k] - turned;
  }
  return result;
}

// Short periods gather the rounding in few lines: those are the worst.
TEST(PhasorTest, NoSpurIsAbove140Decibels) {
  const Ratio ratios[] = {{1, 8},
                          {9, 64},
                          {1, 16},
                          {3, 32},
                          {249, 1024},
                          {1, 4096},
                          {12345, 65536},
                          {9123457, 64000000},
                          {1, 3},
                          {123, 1000},
                          {-7777777, 1 << 24},
                          {5, 7}};
  constexpr int kSamples = 1 << 16;
  for (const Ratio& ratio : ratios) {
    const PhaseTrack track = Track(Fraction(ratio.num, ratio.den));
    std::vector<std::complex<double>> errors;
    for (int n = 0; n < kSamples; ++n) {
      const auto angle = static_cast<double>(kTurn * ExactTurns(ratio.num, ratio.den, n));
      const Phasor phasor = PhasorOf(track.Word(n));
      errors.push_back(std::complex<double>(phasor.i, phasor.q) - std::polar(1.0, angle));
    }
    double strongest = 0.0;
    for (const std::complex<double>& line : Transform(errors)) {
      strongest = std::max(strongest, std::abs(line) / kSamples);
    }
    EXPECT_LE(20.0 * std::log10(strongest), -140.0) << ratio.num << "/" << ratio.den;
  }
}

}  // namespace
}  // namespace baseband::downconvert
