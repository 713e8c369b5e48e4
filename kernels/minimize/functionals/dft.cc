#include "kernels/minimize/functionals/dft.h"

#include <cmath>
#include <utility>

#include "kernels/minimize/functionals/sinusoids_math.h"

namespace baseband::minimize {
namespace {

using Complex = std::complex<double>;

Complex Root(size_t k, size_t of) {
  const double angle = -kTwoPi * static_cast<double>(k) / static_cast<double>(of);
  return {std::cos(angle), std::sin(angle)};
}

// Without what the language asks of products with infinities.
Complex Times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

void Conjugate(Dft::Signal* x) {
  for (Complex& v : *x) v = std::conj(v);
}

}  // namespace

Dft::Dft(size_t size) : size_(size), power_(1) {
  const bool is_power = (size & (size - 1)) == 0;
  while (power_ < (is_power ? size : 2 * size - 1)) power_ *= 2;
  roots_.resize(power_ / 2);
  for (size_t k = 0; k < roots_.size(); ++k) roots_[k] = Root(k, power_);
  if (is_power) return;
  chirp_.resize(size);
  kernel_.resize(power_);
  for (size_t n = 0; n < size; ++n) {
    chirp_[n] = Root(n * n % (2 * size), 2 * size);
    kernel_[n] = kernel_[(power_ - n) % power_] = std::conj(chirp_[n]);
  }
  PowerOfTwo(&kernel_);
}

void Dft::Forward(Signal* x) const {
  if (chirp_.empty()) return PowerOfTwo(x);
  Signal padded(power_);
  for (size_t n = 0; n < size_; ++n) padded[n] = Times((*x)[n], chirp_[n]);
  PowerOfTwo(&padded);
  for (size_t k = 0; k < power_; ++k) padded[k] = std::conj(Times(padded[k], kernel_[k]));
  PowerOfTwo(&padded);  // backward, of the conjugate
  const double scale = 1.0 / static_cast<double>(power_);
  for (size_t k = 0; k < size_; ++k) (*x)[k] = Times(std::conj(padded[k]) * scale, chirp_[k]);
}

void Dft::Backward(Signal* x) const {
  Conjugate(x);
  Forward(x);
  Conjugate(x);
}

// Decimation in time, in place.
void Dft::PowerOfTwo(Signal* x) const {
  Signal& v = *x;
  for (size_t i = 1, j = 0; i < power_; ++i) {
    size_t bit = power_ / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(v[i], v[j]);
  }
  for (size_t half = 1; half < power_; half *= 2) {
    const size_t stride = power_ / (2 * half);
    for (size_t begin = 0; begin < power_; begin += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const Complex a = v[begin + k];
        const Complex b = Times(v[begin + half + k], roots_[k * stride]);
        v[begin + k] = a + b;
        v[begin + half + k] = a - b;
      }
    }
  }
}

}  // namespace baseband::minimize
