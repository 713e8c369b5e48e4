// The slow, obvious versions: the oracle of the tests, in double precision and straight from the
// definitions. Nothing of the fast code is used but the points themselves. This header: what a
// symbol and a frame say, given the carrier; reference_recover.h: methods that find the carrier.
#ifndef BASEBAND_KERNELS_CARRIER_REFERENCE_REFERENCE_H_
#define BASEBAND_KERNELS_CARRIER_REFERENCE_REFERENCE_H_

#include <complex>
#include <vector>

#include "absl/types/span.h"
#include "kernels/carrier/constellation.h"

namespace baseband::carrier {

using Complex = std::complex<double>;

// What a frame was sent through: r_n = gain s_n exp(j (2 pi frequency n + phase)) + noise.
struct Carrier {
  double frequency = 0.0;  // cycles per symbol
  double phase = 0.0;      // radians, at n = 0
  double gain = 1.0;
};

std::vector<Complex> ToComplex(absl::Span<const Iq> symbols);

// z_n = r_n exp(-j (2 pi f n + phase)) / gain: in the constellation's scale.
std::vector<Complex> ReferenceCorrected(absl::Span<const Complex> received, const Carrier& carrier);

// The label of the point nearest to z; ties to the lowest.
int ReferenceNearest(const Constellation& constellation, Complex z);
Complex ReferenceDecision(const Constellation& constellation, Complex z);

// Equation 8 of the paper, summed over the frame: distance to the nearest point over that point's
// radius. A point at the origin has none: it adds nothing.
double ReferenceEvmSum(const Constellation& constellation, absl::Span<const Complex> corrected);
// Root mean square of the distance to the nearest point.
double ReferenceEvmRms(const Constellation& constellation, absl::Span<const Complex> corrected);

// ln I0(x), x >= 0.
double LogBesselI0(double x);

// What a symbol says, each point equally likely, noise of variance 1 / snr (snr a ratio, not in
// dB).
struct SymbolFacts {
  Complex soft;              // E[s | z]
  double energy = 0.0;       // E[|s|^2 | z]
  double log_density = 0.0;  // ln p(z)
  double fit = 0.0;          // ln p(z) - ln of the mean of p over a full turn of z
};
SymbolFacts ReferenceSymbol(const Constellation& constellation, Complex z, double snr);
// The same for a symbol of which `sent` is known: soft is sent.
SymbolFacts ReferenceKnownSymbol(Complex sent, Complex z, double snr);

// d ln p(z exp(-j phi)) / d phi at phi = 0.
double ReferenceScore(const SymbolFacts& facts, Complex z, double snr);

// Fisher information of a symbol about its phase, rad^-2: the mean square of the score, by
// integration over the plane. A known symbol's is 2 |s|^2 snr.
double ReferenceInformation(const Constellation& constellation, double snr);

// E[exp(j p arg z) | |z| = rho], conjugated (model.h), by averaging over the circle. 1 / snr wants
// to be above rho^2 / 1e5.
Complex ReferenceWeight(const Constellation& constellation, int power, double snr, double rho);

// Cramer-Rao bounds of a joint estimate of frequency and phase from independent symbols, the n-th
// with information[n] about its phase; the phase wanted at symbol `position`.
struct Bounds {
  double frequency_stddev = 0.0;  // cycles per symbol
  double phase_stddev = 0.0;      // radians
};
Bounds ReferenceBounds(absl::Span<const double> information, double position);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_REFERENCE_REFERENCE_H_
