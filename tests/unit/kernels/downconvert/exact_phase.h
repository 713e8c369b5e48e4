// Phases by rational arithmetic that shares nothing with the oscillator's: products modulo the
// denominator by doubling and adding. For the tests of this folder.
#ifndef BASEBAND_TESTS_UNIT_KERNELS_DOWNCONVERT_EXACT_PHASE_H_
#define BASEBAND_TESTS_UNIT_KERNELS_DOWNCONVERT_EXACT_PHASE_H_

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "kernels/downconvert/nco.h"

namespace baseband::downconvert {

inline constexpr long double kTurn = 6.283185307179586476925286766559L;

inline Frequency Fraction(int64_t num, uint64_t den) {
  return Frequency::FromFraction(num, den).value();
}

inline PhaseTrack Track(const Frequency& frequency, double phase = 0.0,
                        const std::vector<Retune>& retunes = {}) {
  return PhaseTrack::Create(frequency, phase, retunes).value();
}

// frac(num * n / den) in [0, 1).
inline long double ExactTurns(int64_t num, uint64_t den, int64_t n) {
  unsigned __int128 factor = static_cast<uint64_t>(std::abs(num)) % den;
  unsigned __int128 rest = 0;
  for (auto bits = static_cast<uint64_t>(n); bits != 0; bits >>= 1) {
    if ((bits & 1) != 0) {
      rest = (rest + factor) % den;
    }
    factor = (factor + factor) % den;
  }
  if (num < 0 && rest != 0) {
    rest = den - rest;
  }
  return static_cast<long double>(rest) / static_cast<long double>(den);
}

inline long double TurnsOf(uint64_t word) {
  return std::ldexp(static_cast<long double>(word), -64);
}

// How far two phases in turns are from each other, in turns.
inline long double Apart(long double a, long double b) {
  return std::abs(std::remainder(a - b, 1.0L));
}

struct Ratio {
  int64_t num;
  uint64_t den;
};

}  // namespace baseband::downconvert

#endif  // BASEBAND_TESTS_UNIT_KERNELS_DOWNCONVERT_EXACT_PHASE_H_
