// Down-conversion straight from downconvert.h's formulas, in double precision, one product at a
// time: the oracle of the tests. Only tests link it.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_REFERENCE_H_
#define BASEBAND_KERNELS_DOWNCONVERT_REFERENCE_H_

#include <complex>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "kernels/downconvert/downconvert.h"

namespace baseband::downconvert {

// An oscillator from its description: no phase words, no anchors. num * n / den is reduced to less
// than a turn by the remainder of 128-bit integers, and only then becomes a (long) double.
struct ReferenceOscillator {
  Frequency frequency;
  double initial_phase = 0.0;   // radians at sample 0
  std::vector<Retune> retunes;  // ascending
  // In turns, within [-1, 1] of 0; to about 1e-19 a retune.
  long double PhaseTurns(int64_t n) const;
};

// Samples from bytes, without scale; Q of a real one is 0.
std::vector<std::complex<double>> ReferenceSamples(InputFormat format,
                                                   absl::Span<const uint8_t> bytes);

// Outputs [range.first, range.first + range.count) of one channel, before any rounding to an output
// format. `samples` (times `scale`) are those from `first_index` on; what is before them counts as
// zero, so that they must reach back as far as the filter does, or to sample 0.
std::vector<std::complex<double>> ReferenceDownconvert(
    const ReferenceOscillator& oscillator, double gain, absl::Span<const Stage> stages,
    double scale, int64_t first_index, absl::Span<const std::complex<double>> samples,
    OutputRange range);

// What filter.h's formula of a stage stands for, literally: `up` - 1 zeros after each sample,
// convolution with the taps, every `down`-th one of the result. All outputs whose newest input is
// one of `samples`, which begin at index 0.
std::vector<std::complex<double>> ReferenceResample(absl::Span<const std::complex<double>> samples,
                                                    absl::Span<const double> taps, int up,
                                                    int down);

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_REFERENCE_H_
