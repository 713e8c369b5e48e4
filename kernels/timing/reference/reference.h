// The slow, obvious versions of what kernels/timing computes, in double: the oracle of the tests.
#ifndef BASEBAND_KERNELS_TIMING_REFERENCE_REFERENCE_H_
#define BASEBAND_KERNELS_TIMING_REFERENCE_REFERENCE_H_

#include <complex>
#include <vector>

#include "absl/types/span.h"
#include "kernels/carrier/constellation.h"
#include "kernels/timing/pulse.h"

namespace baseband::timing {

using Complex = std::complex<double>;

// g(t) of pulse.h, by its definition.
class ReferencePulse {
 public:
  explicit ReferencePulse(const PulseShape& shape);
  double At(double t) const;

 private:
  PulseShape shape_;
  double scale_ = 1.0;  // of taps
};

// When symbols are, and at which frequency, cycles per nominal symbol.
struct SymbolClock {
  double offset = 0.0;
  double clock_error = 0.0;
  double frequency = 0.0;
};

// y_k, k < num_symbols: the sum over all samples of x_m (Q / P) g(u_m - t_k), the pulse at the
// clock's frequency and with phase 0 at the first sample, times that turn at t_k.
std::vector<Complex> ReferenceSymbols(const PulseShape& shape,
                                      absl::Span<const carrier::Iq> samples,
                                      const SymbolClock& clock, int num_symbols);

// The clock near `start`, of its frequency, at which the known symbols `sent` are likeliest, their
// common phase and gain unknown: where |sum of w_k conj(s_k) y_k| is greatest, the carrier's turns
// from symbol to symbol taken off; w_k rises over `taper` symbols from 0 to 1 at either end. Steps
// of the search: `step` symbols, for the whole frame's drift, too.
SymbolClock ReferenceClock(const PulseShape& shape, absl::Span<const carrier::Iq> samples,
                           absl::Span<const carrier::Iq> sent, int taper, const SymbolClock& start,
                           double step);

// E|s - E[s | y]|^2 of a symbol in noise, by that many draws of a fixed seed.
double ReferenceVariance(const carrier::Constellation& constellation, double snr_db, int draws);

// Part of the known symbols' information about the time that is left to a blind receiver, by its
// score's mean square: m - (1 - m) share / s2 with m = 1 - ReferenceVariance.
double ReferenceBlindShare(const carrier::Constellation& constellation, double snr_db,
                           double neighbour_share, int draws);

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_REFERENCE_REFERENCE_H_
