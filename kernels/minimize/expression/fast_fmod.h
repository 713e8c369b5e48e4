// fmod in bounded time. The C library's (glibc before 2.38) takes a step for each bit by which the
// exponents differ: 27 us of 1e300 and 3e-300.
#ifndef BASEBAND_KERNELS_MINIMIZE_CPU_FMOD_CPU_H_
#define BASEBAND_KERNELS_MINIMIZE_CPU_FMOD_CPU_H_

#include <cmath>
#include <cstdint>

namespace baseband::minimize {

// a b modulo m, of a, b < m.
inline uint64_t MultiplyModulo(uint64_t a, uint64_t b, uint64_t m) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % m);
}

// 2^n modulo m, n >= 0 and 0 < m < 2^63.
inline uint64_t PowerOfTwoModulo(int n, uint64_t m) {
  int shift = 0;
  while (n >> shift > 62) ++shift;
  uint64_t power = (uint64_t{1} << (n >> shift)) % m;
  while (shift-- > 0) {
    power = MultiplyModulo(power, power, m);
    if ((n >> shift) % 2 != 0) power = 2 * power % m;
  }
  return power;
}

// C's fmod, exact as that is: a few divisions.
inline double FastFmod(double a, double b) {
  constexpr int kNear = 32;  // bits that the library is quick to take
  constexpr int kDigits = 53;
  int exponent_a = 0;
  int exponent_b = 0;
  const double fraction_a = std::frexp(std::fabs(a), &exponent_a);
  const double fraction_b = std::frexp(std::fabs(b), &exponent_b);
  const int difference = exponent_a - exponent_b;
  if (!std::isfinite(a) || !std::isfinite(b) || !(fraction_b > 0.0) || difference < kNear) {
    return std::fmod(a, b);
  }
  // |a| = x 2^(exponent_a - 53) and |b| = m 2^(exponent_b - 53) of whole x, m < 2^53; the rest is
  // that of x 2^difference by m, and a whole number of what the last digit of b stands for.
  const auto x = static_cast<uint64_t>(std::ldexp(fraction_a, kDigits));
  const auto m = static_cast<uint64_t>(std::ldexp(fraction_b, kDigits));
  const uint64_t rest = MultiplyModulo(x % m, PowerOfTwoModulo(difference, m), m);
  return std::copysign(std::ldexp(static_cast<double>(rest), exponent_b - kDigits), a);
}
// Of floats the doubles' rest is a float.
inline float FastFmod(float a, float b) {
  return static_cast<float>(FastFmod(static_cast<double>(a), static_cast<double>(b)));
}

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_CPU_FMOD_CPU_H_
