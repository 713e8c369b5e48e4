// The first stage of a filter on the CPU device: where the channel's frequency is taken out.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_FIRST_STAGE_CPU_H_
#define BASEBAND_KERNELS_DOWNCONVERT_FIRST_STAGE_CPU_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "kernels/downconvert/downconvert.h"
#include "kernels/downconvert/kernels_cpu.h"
#include "kernels/downconvert/mixer_cpu.h"
#include "kernels/downconvert/sample_buffer_cpu.h"
#include "kernels/downconvert/workspace_cpu.h"

namespace baseband::downconvert {

// Lives for one call of DownconvertOnCpu. Its queue holds samples as they came if its taps are
// turned, mixed ones otherwise.
class FirstStage {
 public:
  // For samples [begin, end) of `block`, whose bytes begin at `samples`; 0 <= begin.
  FirstStage(const Channel& channel, const Block& block, const uint8_t* samples, int64_t begin,
             int64_t end, CpuWorkspace* workspace);

  // `capacity`: of the queue, in samples.
  void TakeMemory(size_t capacity, MemoryCutter* memory);

  size_t components() const { return turns_taps_ && is_real_ ? 1 : 2; }  // of a queue's sample
  // Writes samples [first, first + count) as the queue wants them. Returns whether all are finite.
  bool Load(int64_t first, size_t count, float* out);
  // Outputs [first, first + count), whose windows are in the queue; `out` is padded.
  void Compute(const SampleBuffer& queue, int64_t first, int64_t count, float* out);

 private:
  void ComputeTurned(const SampleBuffer& queue, const Frequency& frequency, int64_t first,
                     int64_t count, float* out);
  void ComputeMixed(const SampleBuffer& queue, int64_t first, int64_t count, float* out);

  void Filter(const TapTable& taps, const float* window, bool in_is_real, int64_t first,
              int64_t count, float* out) const;
  int64_t WindowBegin(int64_t output) const {
    return stage_.NewestInput(output) - stage_.history();
  }

  const Channel& channel_;
  const Block& block_;
  const uint8_t* const samples_;
  const Stage& stage_;
  const CpuKernels& kernels_ = KernelsOfThisProcessor();
  const bool is_real_;
  const bool turns_taps_;
  CpuMixer mixer_;

  float* converted_ = nullptr;  // samples on their way into the mixer
  float* mixed_ = nullptr;      // windows that hold a retune
  float* tap_memory_ = nullptr;
  float* turned_re_ = nullptr;
  float* turned_im_ = nullptr;
  double* turns_ = nullptr;
  TapTable taps_;             // written when they are first wanted, and so
  TapTable turned_;           //
  uint64_t turned_word_ = 0;  // the frequency that `turned_` is for
};

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_FIRST_STAGE_CPU_H_
