// The stages of timing.h on the CPU device, each over a whole frame. What is done between them:
// timing_cpu.cc.
#ifndef BASEBAND_KERNELS_TIMING_CPU_STAGES_CPU_H_
#define BASEBAND_KERNELS_TIMING_CPU_STAGES_CPU_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/carrier/recover.h"
#include "kernels/timing/cpu/workspace_cpu.h"
#include "kernels/timing/math/line_math.h"
#include "kernels/timing/math/place_math.h"
#include "kernels/timing/math/refine_math.h"

namespace baseband::timing {

// A frame's samples as they came.
struct SampleView {
  carrier::SampleFormat format = carrier::SampleFormat::kFloat32;
  float scale = 1.0F;
  absl::Span<const uint8_t> bytes;

  absl::Span<const uint8_t> Part(int64_t first, int64_t count) const {
    const auto size = static_cast<size_t>(carrier::BytesPerSymbol(format));
    return bytes.subspan(static_cast<size_t>(first) * size, static_cast<size_t>(count) * size);
  }
};

// What stage 1 finds.
struct LineFound {
  bool bad = false;     // a sample is
  bool silent = false;  // no energy; nothing else is told
  double centre = 0.0;  // of the spectrum, cycles per nominal symbol
  TimingLine line;      // middle: at the frame's middle, modulo 1
  LineEvidence evidence;
};
LineFound FindLine(const LinePlan& plan, const SampleView& samples, const carrier::FftPlan& fft,
                   const FrameArrays& arrays);

// Stage 2: to arrays.symbols and slopes, around the frequency `centre`.
void MatchSymbols(const LinePlan& plan, const PulseView& pulse, const SampleView& samples,
                  double centre, double bandwidth, double offset, double clock_error,
                  int num_symbols, const FrameArrays& arrays);

// Stage 4: a round's sums.
RefineSums SumSlopes(const carrier::ModelView& model, const RefineTask& task,
                     const TimingStep& step, absl::Span<const carrier::Iq> known,
                     const FrameArrays& arrays);

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_CPU_STAGES_CPU_H_
