// A stage's taps in the order in which the CPU device's loops read them (TapTable in
// kernels_cpu.h).
#ifndef BASEBAND_KERNELS_DOWNCONVERT_TAPS_CPU_H_
#define BASEBAND_KERNELS_DOWNCONVERT_TAPS_CPU_H_

#include <cstddef>
#include <cstdint>

#include "kernels/downconvert/filter.h"
#include "kernels/downconvert/kernels_cpu.h"

namespace baseband::downconvert {

// Floats that one part, re or im, of a stage's table takes. Aligned for vectors if its memory is.
size_t TableFloats(const Stage& stage, bool in_is_real);

// The taps as they are, for complex samples. Writes TableFloats() to `re`.
TapTable WriteTaps(const Stage& stage, float* re);

// The taps turned by exp(j 2 pi f k), k samples back, f in 2^-64 cycles per sample; computed in
// double precision. Writes TableFloats() each to `re` and `im`, and uses `turns`, [2 * window].
TapTable WriteTurnedTaps(const Stage& stage, bool in_is_real, uint64_t frequency_word,
                         double* turns, float* re, float* im);

// What there is to say of outputs first_output, first_output + 1, .. but where they lie.
FirTask MakeFirTask(const Stage& stage, const TapTable& taps, int64_t first_output);

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_TAPS_CPU_H_
