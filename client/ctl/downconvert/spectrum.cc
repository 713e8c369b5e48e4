#include "client/ctl/downconvert/spectrum.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/ctl/common/angles.h"

namespace baseband::ctl {
namespace {

constexpr double kNothing = -400;

}  // namespace

Spectrum::Spectrum(int size)
    : size_(size), window_(size), turns_(size / 2), work_(size), power_(size, 0.0) {
  double sum = 0;
  std::vector<double> window(size);
  for (int n = 0; n < size; ++n) {
    const double x = kTwoPi * n / size;
    window[n] = 0.35875 - 0.48829 * std::cos(x) + 0.14128 * std::cos(2 * x) -
                0.01168 * std::cos(3 * x);  // Harris 1978, table 1
    sum += window[n];
  }
  for (int n = 0; n < size; ++n) {
    window_[n] = static_cast<float>(window[n] / sum);
  }
  for (int k = 0; k < size / 2; ++k) {
    turns_[k] = Complex(static_cast<float>(std::cos(kTwoPi * k / size)),
                        static_cast<float>(-std::sin(kTwoPi * k / size)));
  }
}

void Spectrum::Add(absl::Span<const Complex> samples, int max_segments) {
  const int64_t count = static_cast<int64_t>(samples.size());
  if (count < size_) {
    return;
  }
  const int64_t all = (count - size_) / (size_ / 2) + 1;
  const int64_t taken = std::min<int64_t>(all, max_segments);
  for (int64_t i = 0; i < taken; ++i) {
    const int64_t first = i * all / taken * (size_ / 2);
    for (int n = 0; n < size_; ++n) {
      work_[n] = samples[first + n] * window_[n];
    }
    Transform();
    for (int k = 0; k < size_; ++k) {
      power_[k] += std::norm(std::complex<double>(work_[k]));
    }
    ++segments_;
  }
}

// Cooley and Tukey, radix 2, decimation in time.
void Spectrum::Transform() {
  for (int i = 1, j = 0; i < size_; ++i) {
    int bit = size_ / 2;
    for (; (j & bit) != 0; bit /= 2) {
      j ^= bit;
    }
    j ^= bit;
    if (i < j) {
      std::swap(work_[i], work_[j]);
    }
  }
  for (int half = 1; half < size_; half *= 2) {
    const int stride = size_ / (2 * half);
    for (int begin = 0; begin < size_; begin += 2 * half) {
      for (int k = 0; k < half; ++k) {
        const Complex turn = turns_[k * stride];
        const Complex b = work_[begin + k + half];
        // By hand: the operator minds infinities, and is ten times slower for it.
        const Complex turned(b.real() * turn.real() - b.imag() * turn.imag(),
                             b.real() * turn.imag() + b.imag() * turn.real());
        work_[begin + k + half] = work_[begin + k] - turned;
        work_[begin + k] += turned;
      }
    }
  }
}

std::vector<double> Spectrum::Decibels() const {
  std::vector<double> decibels(size_, kNothing);
  for (int i = 0; i < size_ && segments_ > 0; ++i) {
    const double power = power_[(i + size_ / 2) % size_] / static_cast<double>(segments_);
    decibels[i] = power > 0 ? std::max(kNothing, 10 * std::log10(power)) : kNothing;
  }
  return decibels;
}

int SpectrumSize(int64_t num_samples, int most) {
  int size = 8;
  while (size < most && size * 2 * 6 <= num_samples) {
    size *= 2;
  }
  return size;
}

}  // namespace baseband::ctl
