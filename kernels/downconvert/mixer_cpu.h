// Multiplies samples with a channel's oscillator, given their absolute indices.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_MIXER_CPU_H_
#define BASEBAND_KERNELS_DOWNCONVERT_MIXER_CPU_H_

#include <cstddef>
#include <cstdint>

#include "kernels/downconvert/downconvert.h"
#include "kernels/downconvert/kernels_cpu.h"
#include "kernels/downconvert/study_math.h"
#include "kernels/downconvert/workspace_cpu.h"

namespace baseband::downconvert {

// Lives for one call of DownconvertOnCpu. What the channel's nco method is, shows here alone.
class CpuMixer {
 public:
  // For samples [begin, end), begin >= 0. Keeps its phases in `workspace`.
  CpuMixer(const Channel& channel, float amplitude, int64_t begin, int64_t end,
           CpuWorkspace* workspace);

  // out[i] = amplitude * in[i] * exp(-j phase(first + i * stride)); a stride other than 1 is for
  // kExact; other methods take samples in ascending order. `out` may be `in`, if that is complex;
  // both are padded (kernels_cpu.h).
  void Mix(const float* in, bool in_is_real, int64_t first, int64_t stride, size_t count,
           float* out);
  // The same for a stage's outputs first_output .., with the phase of each one's newest input.
  // kExact only.
  void MixOutputs(const Stage& stage, int64_t first_output, size_t count, float* values);

 private:
  // Index of the last anchor at or before sample n.
  size_t AnchorOf(int64_t n) const;
  int64_t AnchorEnd(size_t anchor) const;
  void MixStudy(MixTask task, int64_t first);

  const Channel& channel_;
  const CpuKernels& kernels_ = KernelsOfThisProcessor();
  CpuWorkspace& workspace_;
  const float amplitude_;
  const double cycles_per_sample_;  // these are for study
  const uint64_t initial_word_;
  StudyOscillator study_;
  int64_t study_next_ = 0;  // the sample that it stands at
};

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_MIXER_CPU_H_
