// How the exact product of integer samples (product_fixed.cu) cuts its work, and where a block's
// samples lie in shared memory. Of a stage alone, never of how many channels or outputs there are.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_FIXED_SHAPE_H_
#define BASEBAND_KERNELS_DOWNCONVERT_FIXED_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "kernels/base/host_device.h"
#include "kernels/downconvert/filter.h"

namespace baseband::downconvert::gpu {

inline constexpr uint32_t kFixedColumns = 8;            // channels of a warp
inline constexpr uint32_t kFixedStepTaps = 16;          // taps that a matrix product is deep
inline constexpr uint32_t kFixedChunkSteps = 4;         // that a thread holds the taps of
inline constexpr uint32_t kMaxFixedBytes = 100 * 1024;  // of a block's samples: two blocks at least

struct FixedShape {
  uint32_t down = 1;
  uint32_t steps = 1;         // of kFixedStepTaps, 1, 2 or whole chunks; zeros fill them up
  uint32_t warp_outputs = 0;  // a multiple of 32
  uint32_t gap_shift = 31;    // after each 2^gap_shift units four places stay free; 31: never

  // Of a window of `outputs`: units, two samples each, side by side.
  BASEBAND_HOST_DEVICE uint32_t Units(uint32_t outputs) const {
    return (outputs - 1) * down / 2 + steps * (kFixedStepTaps / 2);
  }
  // Where unit u is kept. Output t's samples begin at unit t * down / 2. Where down is a power of
  // two from 32 on, those of 8 outputs would lie in two banks, or in one.
  BASEBAND_HOST_DEVICE uint32_t PlaceOf(uint32_t u) const { return u + ((u >> gap_shift) << 2); }
  // Where down is odd, units of the samples one later follow behind the others.
  BASEBAND_HOST_DEVICE uint32_t Places(uint32_t outputs) const {
    return PlaceOf(Units(outputs)) * (1 + down % 2);
  }
};

BASEBAND_HOST_DEVICE inline FixedShape FixedShapeOf(uint32_t num_taps, uint32_t down) {
  FixedShape shape;
  shape.down = down;
  shape.steps = (num_taps + kFixedStepTaps - 1) / kFixedStepTaps;
  if (shape.steps > 2) {
    shape.steps = (shape.steps + kFixedChunkSteps - 1) / kFixedChunkSteps * kFixedChunkSteps;
  }
  shape.warp_outputs = down <= 8 ? 256 : down <= 16 ? 128 : down <= 32 ? 64 : 32;
  if (down >= 32 && (down & (down - 1)) == 0) {
    shape.gap_shift = 4;  // units of an output: down / 2
    while (2U << shape.gap_shift < down) ++shape.gap_shift;
  }
  return shape;
}

// How many channels have first stages of one shape.
struct FirstStages {
  size_t num_taps = 0;
  int down = 1;
  size_t channels = 0;

  bool IsOf(const Stage& stage) const {
    return num_taps == stage.taps.size() && down == stage.down;
  }
  bool operator<(const FirstStages& other) const {
    return std::tie(num_taps, down) < std::tie(other.num_taps, other.down);
  }
};

}  // namespace baseband::downconvert::gpu

#endif  // BASEBAND_KERNELS_DOWNCONVERT_FIXED_SHAPE_H_
