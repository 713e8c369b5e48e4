// Where the symbols lie among the samples. For both devices, in whole numbers: a frame of 2^20
// symbols has them as exactly as one of 16.
#ifndef BASEBAND_KERNELS_TIMING_MATH_PLACE_MATH_H_
#define BASEBAND_KERNELS_TIMING_MATH_PLACE_MATH_H_

#include <cmath>
#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/timing/pulse.h"

namespace baseband::timing {

// N of timing.h. Sums and products of whole numbers, and one quotient: the same on both devices.
BASEBAND_HOST_DEVICE inline int64_t NumSymbols(int samples, int symbols, double max_clock_error,
                                               int64_t num_samples) {
  const int64_t room = (num_samples - 1) * symbols - samples;  // of 1 / P symbol, after offset 1
  if (room < 0) return 0;
  return static_cast<int64_t>(
             floor(static_cast<double>(room) / (samples * (1.0 + max_clock_error)))) +
         1;
}

// Places are counted in 2^-kPlaceBits of the distance between two rows of taps: 2^29 rows and 30
// bits fit, and a rounded step is off by 2^-11 of a row after 2^20 symbols.
inline constexpr int kPlaceBits = 30;

// A filter's place: row `row` of the taps, the first of them at sample `first`; and what is left,
// symbols, within half a row: y(t + rest) = y + rest y', y'(t + rest) = y' - rest w^2 y, where of
// y'' no more than what stems from the symbol itself is told.
struct TapPlace {
  int64_t first = 0;
  int row = 0;
  float rest = 0.0F;
};

// Symbols k = 0, 1, .. of a frame: at offset + k (1 + clock_error).
class SymbolPlaces {
 public:
  BASEBAND_HOST_DEVICE SymbolPlaces(int rows, int before, double samples_per_symbol, double offset,
                                    double clock_error)
      : rows_(rows),
        before_(before),
        start_(Units(offset * samples_per_symbol * rows)),
        step_(Units((1.0 + clock_error) * samples_per_symbol * rows)),
        unit_(static_cast<float>(1.0 / (kOne * rows * samples_per_symbol))) {}

  BASEBAND_HOST_DEVICE TapPlace At(int64_t k) const {
    const int64_t at = start_ + k * step_;
    const int64_t row = (at + (int64_t{1} << (kPlaceBits - 1))) >> kPlaceBits;
    TapPlace place;
    const int64_t sample = row / rows_;  // the offset is not negative, and neither is row
    place.first = sample - before_;
    place.row = static_cast<int>(row - sample * rows_);
    place.rest = static_cast<float>(at - row * (int64_t{1} << kPlaceBits)) * unit_;
    return place;
  }

 private:
  static constexpr double kOne = static_cast<double>(int64_t{1} << kPlaceBits);
  BASEBAND_HOST_DEVICE static int64_t Units(double rows) {
    return static_cast<int64_t>(rint(rows * kOne));
  }

  int rows_;
  int before_;
  int64_t start_;
  int64_t step_;
  float unit_;
};

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_MATH_PLACE_MATH_H_
