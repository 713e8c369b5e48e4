// Samples to symbols and carrier on the CPU device. What is computed: timing.h.
#ifndef BASEBAND_KERNELS_TIMING_TIMING_CPU_H_
#define BASEBAND_KERNELS_TIMING_TIMING_CPU_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/timing/timing.h"

namespace baseband::timing {

struct Recovered {
  Result timing;
  carrier::Result carrier;
};

// Recovers one frame on the calling thread.
//   samples    [num_samples * carrier::BytesPerSymbol(format)], any alignment; format and scale are
//              the carrier parameters'
//   known      empty, or a value for each of the N = SymbolsOf symbols, (0, 0) where nothing is
//              known
//   corrected  empty, or N symbols in the format and scale of the samples, int16 saturated: the
//              refined symbols, turned back by the carrier's frequency and phase, whatever its fine
//              stage is
//   curve      empty, or [carrier::CurveOf(model, parameters, N).num_points]
// The parameters have passed CheckParameters; `carrier.want_corrected` and `want_curve` are not
// read. SIMD, chosen for this processor at run time. Allocates nothing once a thread has done a
// frame of this size. Thread-safe. Deterministic. Frames with bad samples or no energy have zeros
// in `corrected` and `curve`.
Recovered RecoverOnCpu(const carrier::Model& model, const carrier::Parameters& carrier,
                       const Pulse& pulse, const Parameters& parameters,
                       absl::Span<const uint8_t> samples, absl::Span<const carrier::Iq> known,
                       absl::Span<uint8_t> corrected, absl::Span<float> curve);

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_TIMING_CPU_H_
