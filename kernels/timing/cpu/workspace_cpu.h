// What a thread of the CPU device keeps between frames.
#ifndef BASEBAND_KERNELS_TIMING_CPU_WORKSPACE_CPU_H_
#define BASEBAND_KERNELS_TIMING_CPU_WORKSPACE_CPU_H_

#include <cstddef>
#include <cstdint>

#include "kernels/base/growing_memory.h"
#include "kernels/carrier/cpu/fft_cpu.h"
#include "kernels/carrier/cpu/stages_cpu.h"
#include "kernels/timing/math/line_math.h"
#include "kernels/timing/pulse.h"

namespace baseband::timing {

// Symbols that are filtered at a time.
inline constexpr int kMatchBlock = 128;

// The arrays of one frame.
struct FrameArrays {
  // Line: a piece's samples, weights and spectrum, and what is kept of all pieces.
  carrier::Split piece;     // [points], and whole blocks
  carrier::Split spectrum;  // [points]
  float* fft_scratch = nullptr;
  float* weights = nullptr;        // [window]
  float* power = nullptr;          // [points]
  double* power_before = nullptr;  // [2 points + 1]
  Iq* groups = nullptr;            // [num_pieces][num_groups]
  Iq* line = nullptr;              // [num_pieces]
  float* group_weights = nullptr;  // [num_groups]
  double* group_sums = nullptr;    // [num_groups]
  // Matched filter: samples of a block, turned back, with zeros before and behind.
  carrier::Split read;    // [chunk]
  carrier::Split turned;  // [lead + chunk + row_taps]
  size_t chunk = 0;
  size_t lead = 0;
  // Symbols and their slopes with the time of the filter.
  Iq* symbols = nullptr;  // [num_symbols]
  Iq* slopes = nullptr;
};

// Not thread-safe: one a thread.
class TimingWorkspace {
 public:
  static TimingWorkspace& OfThisThread();
  // Valid until the next call; their contents are whatever was left there.
  FrameArrays Arrays(const LinePlan& plan, const PulseView& pulse, const carrier::FftPlan& fft,
                     int num_symbols);

 private:
  GrowingMemory memory_;
};

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_CPU_WORKSPACE_CPU_H_
