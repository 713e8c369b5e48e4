// Forward FFT of a power of two of points on the CPU device, float32, with SIMD.
//
// L = R C points, n = n1 C + n2, k = k1 + R k2: FFTs of R points down the columns n2 of the R x C
// matrix, times exp(-j 2 pi n2 k1 / L), transposed, FFTs of C points down the columns k1; the
// result lies in natural order. As many columns as a vector has lanes are done at once, so that
// within them an FFT is one of plain numbers and stays in the L1 or L2 cache.
#ifndef BASEBAND_KERNELS_CARRIER_CPU_FFT_CPU_H_
#define BASEBAND_KERNELS_CARRIER_CPU_FFT_CPU_H_

#include <cstddef>
#include <vector>

namespace baseband::carrier {

// Twiddle factors of one size. Immutable.
class FftPlan {
 public:
  // 64 .. 2^20 points, a power of two.
  explicit FftPlan(int points);

  size_t points() const { return rows_ * columns_; }
  size_t rows() const { return rows_; }
  size_t columns() const { return columns_; }
  // Real numbers that Fft needs as scratch.
  size_t scratch_floats() const;

  // exp(-j 2 pi k / columns), k < columns.
  const float* root_re() const { return root_re_.data(); }
  const float* root_im() const { return root_im_.data(); }
  // exp(-j 2 pi n2 k1 / L) for k1 = 1 and for k1 = 0, kExact, 2 kExact ..; [..][columns].
  static constexpr size_t kExact = 16;
  const float* step_re() const { return step_re_.data(); }
  const float* step_im() const { return step_im_.data(); }
  const float* exact_re() const { return exact_re_.data(); }
  const float* exact_im() const { return exact_im_.data(); }

 private:
  size_t rows_;
  size_t columns_;
  std::vector<float> root_re_, root_im_;
  std::vector<float> step_re_, step_im_;
  std::vector<float> exact_re_, exact_im_;
};

// F_k = sum over n of x_n exp(-j 2 pi k n / L). All arrays [points], aligned to 128 bytes; out may
// not be x.
void Fft(const FftPlan& plan, const float* x_re, const float* x_im, float* out_re, float* out_im,
         float* scratch);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_CPU_FFT_CPU_H_
