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

// Places are counted in 2^-kPlaceBits of a sample: 2^24 samples and 38 bits fit, and a rounded step
// is off by 2^-11 of a row of taps after 2^20 symbols.
inline constexpr int kPlaceBits = 38;

// Symbols that are Q apart are, but for the clock error, P samples apart: one row of taps does for
// a run of them, which is what the GPU wants. How long it is depends on nothing but the rate and
// the clock errors that are looked for, so that both devices filter by the same rows: how far the
// symbols may drift from theirs, symbols, is half a row (pulse.cc), by which places are off it
// anyway. What drifts further, and what has more than kMaxPhases, is a run of one.
inline constexpr int kLongRun = 9;
inline constexpr int kShortRun = 3;
inline constexpr int kMaxPhases = 16;
inline constexpr double kLongestDrift = 0.002;
BASEBAND_HOST_DEVICE inline int RunOf(int samples, int symbols, double max_clock_error) {
  if (samples > kMaxPhases) return 1;
  const double drift = symbols * max_clock_error;
  return (kLongRun / 2) * drift <= kLongestDrift    ? kLongRun
         : (kShortRun / 2) * drift <= kLongestDrift ? kShortRun
                                                    : 1;
}

// A filter's place: row `row` of the taps, the first of them at sample `first`; and what is left,
// symbols, within a row: y(t + rest) = y + rest y', y'(t + rest) = y' - rest w^2 y, where of y'' no
// more than what stems from the symbol itself is told.
struct TapPlace {
  int64_t first = 0;
  int row = 0;
  float rest = 0.0F;
};

// Symbols k = 0, 1, .. of a frame: at offset + k (1 + clock_error).
class SymbolPlaces {
 public:
  // P / Q samples a symbol, and filters of so many rows, whose first tap is `before` samples before
  // their place. 0 <= offset <= 1, |clock_error| <= max_clock_error.
  BASEBAND_HOST_DEVICE SymbolPlaces(int rows, int before, int samples, int symbols,
                                    double max_clock_error, double offset, double clock_error)
      : rows_(rows),
        before_(before),
        samples_(samples),
        symbols_(symbols),
        run_(RunOf(samples, symbols, max_clock_error)),
        drift_(static_cast<float>(clock_error * symbols)) {
    const double rate = static_cast<double>(samples) / symbols;
    start_ = Places(offset * rate);
    step_ = Places((1.0 + clock_error) * rate);
    unit_ = static_cast<float>(1.0 / (static_cast<double>(kSample) * rows * rate));
  }
  SymbolPlaces() = default;

  BASEBAND_HOST_DEVICE TapPlace At(int k) const {
    if (run_ == 1) return OfMiddle(k);
    const int from_middle = k % (run_ * symbols_) / symbols_ - run_ / 2;
    TapPlace place = OfMiddle(k - from_middle * symbols_);
    place.first += int64_t{from_middle} * samples_;
    place.rest = RestInRun(place.rest, from_middle);
    return place;
  }
  // Of a symbol in the middle of its run.
  BASEBAND_HOST_DEVICE TapPlace OfMiddle(int k) const {
    const int64_t at = start_ + k * step_;
    const int64_t in_rows = (at & (kSample - 1)) * rows_;
    const int64_t row = (in_rows + kSample / 2) >> kPlaceBits;
    const bool is_next = row == rows_;  // sample's first
    TapPlace place;
    place.first = (at >> kPlaceBits) + (is_next ? 1 : 0) - before_;
    place.row = is_next ? 0 : static_cast<int>(row);
    place.rest = static_cast<float>(in_rows - row * kSample) * unit_;
    return place;
  }
  // Of the symbol so many places in its run behind the middle one, which has `rest`.
  BASEBAND_HOST_DEVICE float RestInRun(float rest, int from_middle) const {
    return fmaf(static_cast<float>(from_middle), drift_, rest);
  }

 private:
  static constexpr int64_t kSample = int64_t{1} << kPlaceBits;
  BASEBAND_HOST_DEVICE static int64_t Places(double samples) {
    return static_cast<int64_t>(rint(samples * static_cast<double>(kSample)));
  }

  int rows_ = 1;
  int before_ = 0;
  int samples_ = 1;
  int symbols_ = 1;
  int run_ = 1;
  float drift_ = 0.0F;
  int64_t start_ = 0;
  int64_t step_ = 0;
  float unit_ = 0.0F;
};

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_MATH_PLACE_MATH_H_
