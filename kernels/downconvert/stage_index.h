// Which input sample is the newest that an output of a stage sees, and the other way round. Indices
// are absolute and >= 0, up to int64's end; the products in between take 128 bits.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_STAGE_INDEX_H_
#define BASEBAND_KERNELS_DOWNCONVERT_STAGE_INDEX_H_

#include <cstdint>

#include "kernels/downconvert/filter.h"

namespace baseband::downconvert {

// floor(output * down / up).
inline int64_t NewestInput(const Stage& stage, int64_t output) {
  return static_cast<int64_t>(static_cast<__int128>(output) * stage.down / stage.up);
}

// ceil(input * up / down): the first output whose newest input is `input` or a later one.
inline int64_t FirstOutputFrom(const Stage& stage, int64_t input) {
  return static_cast<int64_t>((static_cast<__int128>(input) * stage.up + stage.down - 1) /
                              stage.down);
}

// The branch of the polyphase filter that makes an output: (output * down) mod up.
inline int BranchOf(const Stage& stage, int64_t output) {
  return static_cast<int>(output % stage.up * stage.down % stage.up);
}

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_STAGE_INDEX_H_
