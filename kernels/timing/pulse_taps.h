// Pulses that come as taps (pulse.h): their spectrum, and what follows from it.
//
// The spectrum is real and even,
//   G(f) = (h_0 + 2 sum over n >= 1 of h_n cos(2 pi f n / T)) / T for |f| <= 1, 0 beyond,
// here at the bins f_i = i / D, i = 0 .. D, so that all times are modulo D symbols, which the pulse
// does not nearly reach. The power spectrum G^2 folded by the symbol rate is that of the symbols
// behind the matched filter: F_i = G_i^2 + G_(D - i)^2, all equal if they do not interfere.
#ifndef BASEBAND_KERNELS_TIMING_PULSE_TAPS_H_
#define BASEBAND_KERNELS_TIMING_PULSE_TAPS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/continue_check.h"
#include "kernels/timing/pulse.h"

namespace baseband::timing {

// Of what a filter leaves out: interference, power, of the symbol's; below -60 dB.
inline constexpr double kTailInterference = 7e-7;
// Of the sums that stand for integrals over times.
inline constexpr int kPointsPerSymbol = 4;

// One half of a pulse of unit energy, and its derivative: at n steps from its centre.
struct PulseHalf {
  std::vector<double> values;
  std::vector<double> slopes;
};

// Immutable.
class TapsPulse {
 public:
  // `taps` have passed CheckPulse. Refusals: those of PulsePlan::Create.
  static absl::StatusOr<TapsPulse> Create(const PulseTaps& taps, double rolloff,
                                          const ContinueCheck& may_continue);

  const PulseFacts& facts() const { return facts_; }

  // How far the filter reaches, symbols: at most the taps' reach and 4.
  absl::StatusOr<int> Span(const ContinueCheck& may_continue) const;
  // At `count` points `step` symbols apart.
  absl::StatusOr<PulseHalf> Half(double step, size_t count,
                                 const ContinueCheck& may_continue) const;

 private:
  TapsPulse() = default;

  absl::Status SetSpectrum(const PulseTaps& taps, double rolloff,
                           const ContinueCheck& may_continue);
  double FrequencyOf(size_t bin) const { return static_cast<double>(bin) / period(); }
  double period() const { return static_cast<double>(spectrum_.size() - 1); }

  std::vector<double> spectrum_;  // [D + 1], of unit energy
  int most_span_ = 0;
  PulseFacts facts_;
};

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_PULSE_TAPS_H_
