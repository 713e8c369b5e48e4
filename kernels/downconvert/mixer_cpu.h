// Multiplies samples with a channel's oscillator, given their absolute indices.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_MIXER_CPU_H_
#define BASEBAND_KERNELS_DOWNCONVERT_MIXER_CPU_H_

#include <cstddef>
#include <cstdint>

#include "kernels/downconvert/downconvert.h"
#include "kernels/downconvert/kernels_cpu.h"
#include "kernels/downconvert/workspace_cpu.h"

namespace baseband::downconvert {

// Lives for one call of DownconvertOnCpu. What the channel's nco method is, shows here alone.
class CpuMixer {
 public:
  // For samples [begin, end), begin >= 0. Keeps its phases in `workspace`.
  CpuMixer(const Channel& channel, float amplitude, int64_t begin, int64_t end,
           CpuWorkspace* workspace);

  // out[i] = amplitude * in[i] * exp(-j phase(first + i * stride)); a stride other than 1 is for
  // kExact. `out` may be `in`, if that is complex; both are padded (kernels_cpu.h).
  void Mix(const float* in, bool in_is_real, int64_t first, int64_t stride, size_t count,
           float* out) const;
  // The same for a stage's outputs first_output .., with the phase of each one's newest input.
  // kExact only.
  void MixOutputs(const Stage& stage, int64_t first_output, size_t count, float* values) const;

 private:
  // Index of the last anchor at or before sample n.
  size_t AnchorOf(int64_t n) const;
  int64_t AnchorEnd(size_t anchor) const;
  void WriteStudyWords(int64_t end);

  const Channel& channel_;
  const CpuKernels& kernels_ = KernelsOfThisProcessor();
  CpuWorkspace& workspace_;
  float amplitude_;
};

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_MIXER_CPU_H_
