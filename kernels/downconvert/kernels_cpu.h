// The inner loops of the CPU device, compiled for several instruction sets; the best one is chosen
// at run time. The pipeline around them: downconvert_cpu.cc.
//
// Memory that they read or write as vectors has to be there for kPadding floats further than what
// they are told to; it is read without effect, and written with anything. No result depends on
// where in a vector it was computed.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_KERNELS_CPU_H_
#define BASEBAND_KERNELS_DOWNCONVERT_KERNELS_CPU_H_

#include <cstddef>
#include <cstdint>

#include "kernels/downconvert/downconvert.h"

namespace baseband::downconvert {

inline constexpr size_t kPadding = 64;  // floats

// Samples at regular steps, and the oscillator that they are multiplied with:
//   out[i] = amplitude * in[i] * exp(-j 2 pi word_i / 2^64)
struct MixTask {
  const float* in = nullptr;  // complex, or real
  bool in_is_real = false;
  float* out = nullptr;  // complex; may be `in` if that is complex too
  size_t count = 0;
  float amplitude = 1.0F;
  uint64_t word = 0;                // word_i = word + i * step,
  uint64_t step = 0;                //
  const uint64_t* words = nullptr;  // or words[i] if there are some
};

// The same with a phase in float32: FloatPhase(radians_per_sample, first + i, phase).
struct FloatMixTask {
  MixTask mix;
  float radians_per_sample = 0.0F;
  float phase = 0.0F;
  int32_t first = 0;
};

// Taps as the loops want them, oldest sample first: [up][row] floats each, what is past the taps
// being zero.
struct TapTable {
  const float* re = nullptr;  // complex samples: every tap twice, for I and Q
  const float* im = nullptr;  // turned taps: for complex samples +im, -im; else null
  size_t floats = 0;          // of samples that a window has
  size_t row = 0;             // from one branch to the next
};

// Outputs first, first + 1, .. of a stage; the window of the first begins at `window`.
struct FirTask {
  TapTable taps;
  bool in_is_real = false;  // then the taps are turned
  const float* window = nullptr;
  int up = 1;
  int down = 1;
  int branch = 0;  // of the first output
  float* out = nullptr;
  size_t count = 0;
};

struct CpuKernels {
  // Components (complex samples have two) of any input format to float32, unscaled. Returns whether
  // all are finite.
  bool (*convert)(InputFormat format, const uint8_t* in, size_t count, float* out);
  // Which of the `count` floats at `in` is the first that is not finite; `count` if none is.
  size_t (*find_non_finite)(const uint8_t* in, size_t count);
  void (*mix)(const MixTask& task);
  void (*mix_float)(const FloatMixTask& task);  // null without a fused multiply-add
  void (*fir)(const FirTask& task);
  // Components to an output format; returns how many were saturated. Writes nothing past `count`.
  int64_t (*store)(OutputFormat format, const float* in, size_t count, uint8_t* out);
};
const CpuKernels& KernelsOfThisProcessor();

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_KERNELS_CPU_H_
