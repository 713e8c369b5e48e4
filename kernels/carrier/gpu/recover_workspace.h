// How a launch of carrier recovery divides its workspace. CUDA sources only.
//
//   lines being transformed | their scratch | state of each frame | known tiles of each |
//   line sums of each | sweep or loop
#ifndef BASEBAND_KERNELS_CARRIER_GPU_RECOVER_WORKSPACE_H_
#define BASEBAND_KERNELS_CARRIER_GPU_RECOVER_WORKSPACE_H_

#include <cstdint>

#include "kernels/carrier/recover_gpu.h"

namespace baseband::carrier {

constexpr int64_t AlignUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

// Of the FFT of a frame.
int Log2Line(uint32_t num_symbols);
// The loop's output takes the place of a frame's symbols.
int64_t LoopBytes(uint32_t num_symbols);
// Parts of the workspace: of every frame of a round, and of the frames whose lines are transformed
// together. `shortest` and `longest` frames of the round: of a sweep, the shorter has the more
// candidates, the longer the more tiles.
int64_t FrameBytes(const Parameters& parameters, uint32_t shortest, uint32_t longest);
int64_t LineBytes(int log2_line, int64_t frames);

// How a stretch of frames of one FFT length goes through a workspace.
struct RoundShape {
  int64_t frames = 0;       // a round
  int64_t line_frames = 0;  // of these, transformed together
};

RoundShape ShapeRound(const Parameters& parameters, int log2_line, int64_t frame_bytes,
                      int64_t num_frames, int64_t workspace_bytes);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_RECOVER_WORKSPACE_H_
