// The slow, obvious ways to find a carrier: the paper's, its baseline, and the best there is. For
// tests; see reference.h.
#ifndef BASEBAND_KERNELS_CARRIER_REFERENCE_REFERENCE_RECOVER_H_
#define BASEBAND_KERNELS_CARRIER_REFERENCE_REFERENCE_RECOVER_H_

#include <vector>

#include "absl/types/span.h"
#include "kernels/carrier/constellation.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/reference/reference.h"

namespace baseband::carrier {

// F_k = sum over n of x_n exp(-j 2 pi k n / size), the size a power of two >= x.size(); zeros are
// appended.
std::vector<Complex> ReferenceFft(absl::Span<const Complex> x, int size);

// Least power of two >= max(num_symbols, 64).
int ReferenceFftSize(int num_symbols);

// What the paper's sweep does. The coarse stage: symbols to the power p, the FFT's strongest bin
// with |f| <= max_frequency, ties to the lowest |f|, then to the positive one.
struct SweepOptions {
  int power = 4;
  Amplitude amplitude = Amplitude::kUnit;
  double snr = 0.0;  // for kWeighted
  double max_frequency = 0.5;
  double gain = 1.0;
  double range = 0.0;
  double step = 5e-7;
  int guard_bins = 0;
};
struct SweepResult {
  double coarse_frequency = 0.0;
  Carrier carrier;          // of the candidate of least EVM, ties to the lowest
  std::vector<double> evm;  // of every candidate by equation 8, divided by N
};
// Candidates are coarse + k step, |k| <= floor(range / step) + guard_bins. Each has its own initial
// phase: that of the line at its frequency, less that of the constellation's own, divided by p. Of
// the p / symmetry phases which that leaves open the one with the least EVM at k = 0 is taken for
// all.
SweepResult ReferenceSweep(const Constellation& constellation, absl::Span<const Complex> received,
                           const SweepOptions& options);

// Decision-directed loop of second order, gains after Gardner for a detector of gain 1:
//   t = BnT / (damping + 1 / (4 damping)),
//   proportional = 4 damping t / (1 + 2 damping t + t^2),  integral = 4 t^2 / (same).
// Per symbol: z = r exp(-j angle) / gain; e = Im(z conj(decision)) / |decision|^2 (0 for a point at
// the origin); integrator += integral e; angle += integrator + proportional e.
struct PllOptions {
  double bandwidth = 0.005;  // Bn T
  double damping = 0.707;
  Carrier start;
};
struct PllResult {
  double frequency = 0.0;  // mean of the integrator over the last half, n >= N / 2
  std::vector<Complex> corrected;
};
PllResult ReferencePll(const Constellation& constellation, absl::Span<const Complex> received,
                       const PllOptions& options);

// The sum of ReferenceSymbol's fit; of ReferenceKnownSymbol's where `known` (empty, or as long as
// `received`) is not zero.
double ReferenceFit(const Constellation& constellation, absl::Span<const Complex> received,
                    absl::Span<const Complex> known, const Carrier& carrier, double snr);

// Where that is greatest near `start`, gain and SNR being given: a search over
// start.frequency +- frequency_reach in steps of 1 / (8 N) and over the whole turn, then Newton's
// method with Fisher's information in place of the second derivative.
Carrier ReferenceMaximumLikelihood(const Constellation& constellation,
                                   absl::Span<const Complex> received,
                                   absl::Span<const Complex> known, const Carrier& start,
                                   double snr, double frequency_reach);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_REFERENCE_REFERENCE_RECOVER_H_
