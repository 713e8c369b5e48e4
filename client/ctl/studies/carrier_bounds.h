// Cramer-Rao bounds of carrier estimates from one frame: what no unbiased estimator beats.
//
// With J the Fisher information of a symbol about the phase (rad^-2) and N symbols,
//   var(phase at the centre) >= 1 / (N J),  var(frequency) >= 12 / ((2 pi)^2 J N (N^2 - 1)).
// See kernels/carrier/model.h.
#ifndef BASEBAND_CLIENT_CTL_STUDIES_CARRIER_BOUNDS_H_
#define BASEBAND_CLIENT_CTL_STUDIES_CARRIER_BOUNDS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {

// J when the sent symbol is known: 2 Es/N0. `snr` is a ratio, not dB.
double KnownInformation(double snr);

// J when it is one of `points` (mean energy 1), each as likely: the mean square of the derivative
// of the log-likelihood. Integrated on a grid in double precision, to about six digits; takes up to
// a second.
double BlindInformation(absl::Span<const Complex> points, double snr);

// Standard deviations, radians and cycles per symbol.
double PhaseBound(double information, int64_t num_symbols);
double FrequencyBound(double information, int64_t num_symbols);
// The same when only the symbols at `positions` carry information.
double FrequencyBound(double information, absl::Span<const uint32_t> positions);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_STUDIES_CARRIER_BOUNDS_H_
