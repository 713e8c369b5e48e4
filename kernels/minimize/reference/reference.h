// Least squares, slow and obvious, in long double: normal equations, every column at every sample;
// delays as sums over the spectrum. The oracle of the tests.
#ifndef BASEBAND_KERNELS_MINIMIZE_REFERENCE_REFERENCE_H_
#define BASEBAND_KERNELS_MINIMIZE_REFERENCE_REFERENCE_H_

#include <complex>
#include <vector>

#include "absl/types/span.h"
#include "kernels/minimize/matched.h"
#include "kernels/minimize/sinusoids.h"

namespace baseband::minimize {

// J at the frequencies, in Hz. The columns have to be linearly independent.
long double ReferenceSinusoids(const Observation& observation,
                               absl::Span<const double> frequencies);

// Of matched.h. coordinates: as the axes.
long double ReferenceChirp(const std::vector<std::complex<double>>& signal,
                           double sampling_interval_s, absl::Span<const double> coordinates);

// The delayed replicas take N^2 operations each: for many frequencies at once.
std::vector<long double> ReferenceDelayDoppler(const std::vector<std::complex<double>>& signal,
                                               const std::vector<std::complex<double>>& replica,
                                               double sampling_interval_s, double delay_s,
                                               absl::Span<const double> frequencies);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_REFERENCE_REFERENCE_H_
