// Discrete Fourier transforms of any length, in float64: for what is prepared once. Internal to
// minimize/.
#ifndef BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_DFT_H_
#define BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_DFT_H_

#include <complex>
#include <cstddef>
#include <vector>

namespace baseband::minimize {

// Lengths that are no power of two take two transforms of one, at least twice as long (Bluestein
// 1970). Rounding is some 1e-16 log2(size) of the result's rms. Immutable.
class Dft {
 public:
  using Signal = std::vector<std::complex<double>>;

  explicit Dft(size_t size);  // 1 ..

  // x[k] becomes the sum over n of x[n] exp(-j 2 pi k n / size). x has `size` elements.
  void Forward(Signal* x) const;
  // The same with exp(+j ..); not divided by the size.
  void Backward(Signal* x) const;

 private:
  void PowerOfTwo(Signal* x) const;

  size_t size_;
  size_t power_;   // the power of two that is transformed
  Signal roots_;   // exp(-j 2 pi k / power), k < power / 2
  Signal chirp_;   // exp(-j pi n^2 / size); none if `size` is a power of two
  Signal kernel_;  // the transform of its conjugate, over `power`
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_DFT_H_
