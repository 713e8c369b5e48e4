// Separable least squares, slow and obvious: normal equations in long double, every column at every
// sample. The oracle of the tests.
#ifndef BASEBAND_KERNELS_MINIMIZE_REFERENCE_H_
#define BASEBAND_KERNELS_MINIMIZE_REFERENCE_H_

#include "absl/types/span.h"
#include "kernels/minimize/sinusoids.h"

namespace baseband::minimize {

// J at the frequencies, in Hz. The columns have to be linearly independent.
long double ReferenceSinusoids(const Observation& observation,
                               absl::Span<const double> frequencies);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_REFERENCE_H_
