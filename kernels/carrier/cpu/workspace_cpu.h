// What a thread of the CPU device keeps between frames: memory and FFT plans.
#ifndef BASEBAND_KERNELS_CARRIER_CPU_WORKSPACE_CPU_H_
#define BASEBAND_KERNELS_CARRIER_CPU_WORKSPACE_CPU_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/base/growing_memory.h"
#include "kernels/carrier/cpu/fft_cpu.h"
#include "kernels/carrier/cpu/stages_cpu.h"
#include "kernels/carrier/math/recover_plan.h"

namespace baseband::carrier {

// Cuts arrays of complex numbers, too.
class SplitCutter : public MemoryCutter<> {
 public:
  using MemoryCutter::MemoryCutter;
  Split TakeSplit(size_t count) {
    Split split;
    split.re = Take<float>(count);
    split.im = Take<float>(count);
    return split;
  }
};

// The arrays of one frame.
struct FrameArrays {
  FrameCpu frame;  // known: room for it, whether there is any or not
  Split line;      // [points], and whole blocks
  Split spectrum;  // [points + 1]
  float* fft_scratch = nullptr;
  float* peak_scratch = nullptr;
  LineBlock* blocks = nullptr;   // of any length the plan asks for
  double* candidates = nullptr;  // [num_candidates]: a sweep's phases, turns
  float* evm = nullptr;          // [num_candidates]
};

// Not thread-safe: one a thread.
class RecoverWorkspace {
 public:
  static RecoverWorkspace& OfThisThread();

  const FftPlan& PlanOf(int points);
  // Valid until the next call; their contents are whatever was left there.
  FrameArrays Arrays(const RecoverPlan& plan);

 private:
  std::array<std::unique_ptr<FftPlan>, 32> plans_;  // by log2 of the points
  GrowingMemory memory_;
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_CPU_WORKSPACE_CPU_H_
