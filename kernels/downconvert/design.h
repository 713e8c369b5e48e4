// Inside of filter.h: the design of one stage's taps, and the measuring of responses. All taps here
// are symmetric and odd in number, so that the response is exp(-j pi v (taps - 1)) times a real
// amplitude; v is in cycles per sample of the taps.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_DESIGN_H_
#define BASEBAND_KERNELS_DOWNCONVERT_DESIGN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/downconvert/filter.h"

namespace baseband::downconvert {

// A low pass of gain 1.
struct LowPass {
  double pass = 0.0;        // [0, stop)
  double stop = 0.0;        // (pass, 1/2]
  double pass_error = 0.0;  // |amplitude - 1| up to `pass`, in (0, 1)
  double stop_error = 0.0;  // |amplitude| from `stop` on
};

// About how many taps it takes; odd.
int64_t EstimateTaps(const LowPass& low_pass, Design design);

// The windowed sinc with the fewest taps that meets `low_pass`, to within 2 percent of that number.
// ResourceExhausted: more than kMaxTaps.
absl::StatusOr<std::vector<double>> DesignKaiser(const LowPass& low_pass);

// Parks and McClellan's filter with the fewest taps, to within 1 percent. ResourceExhausted: more
// than kMaxEquirippleTaps; FailedPrecondition: the exchange did not converge. In both cases the
// message says why in a phrase.
absl::StatusOr<std::vector<double>> DesignEquiripple(const LowPass& low_pass);
inline constexpr int kMaxEquirippleTaps = 8191;

// The amplitude of symmetric taps, tabulated by a Fourier transform at 32 points a lobe or more,
// with polynomials through six points between them: within 0.1 percent of the local size even at
// the foot of the steepest transition.
class Amplitude {
 public:
  explicit Amplitude(absl::Span<const double> taps);

  double At(double v) const;  // any v: of period 1
  // The largest |At| over [from, to].
  double LargestOver(double from, double to) const;

 private:
  int64_t half_ = 0;  // table_[k] is at k / (2 half_), k = 0 .. half_
  std::vector<double> table_;
  std::vector<std::vector<double>> largest_;  // level j: the largest |table_| of groups of 2^j
};

// The largest errors of one low pass.
struct LowPassErrors {
  double pass = 0.0;
  double stop = 0.0;
};
LowPassErrors ErrorsOfLowPass(absl::Span<const double> taps, const LowPass& low_pass);

// Fills in ripple_db and attenuation_db of `stages`, `sharp` being the one whose transition band is
// the mask's. All stages have symmetric taps.
void MeasureMask(absl::Span<const Stage> stages, int sharp, double pass_edge, double stop_edge,
                 FilterReport* report);

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_DESIGN_H_
