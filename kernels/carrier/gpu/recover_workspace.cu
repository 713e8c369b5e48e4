#include <algorithm>

#include "kernels/carrier/gpu/cufft_library.h"
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_workspace.h"

namespace baseband::carrier {
namespace {

// Points of the line that are on their way from the FFT to the search at a time. They take 128 MB,
// and scratch as much again: of the second cache's 50 MB nothing is left from kernel to kernel, but
// on an H200 the fewer launches of 2^24 were faster than 2^22 by up to a quarter.
constexpr int64_t kLinePoints = int64_t{1} << 24;
// More rounds than this many frames each would leave the device idle between them.
constexpr int64_t kMaxRoundFrames = 16384;

// How many frames' lines are transformed together, if there is memory for them.
int64_t LineFrames(const Parameters& parameters, int log2_line) {
  if (parameters.coarse == Coarse::kNone) return 0;
  return std::max<int64_t>(1, kLinePoints >> log2_line);
}

// The most that one frame of up to `num_symbols` takes, whatever shares its round.
int64_t MostFrameBytes(const Parameters& parameters, uint32_t num_symbols) {
  int64_t most = 0;
  for (int log2 = kMinLog2Line; log2 <= Log2Line(num_symbols); ++log2) {
    const uint32_t shortest = log2 == kMinLog2Line ? kMinSymbols : (1U << (log2 - 1)) + 1;
    most = std::max(most, FrameBytes(parameters, shortest, 1U << log2));
  }
  return most;
}
}  // namespace

int Log2Line(uint32_t num_symbols) {
  int log2 = kMinLog2Line;
  while ((1U << log2) < num_symbols) ++log2;
  return log2;
}

int64_t LoopBytes(uint32_t num_symbols) { return AlignUp(int64_t{num_symbols} * 8); }

int64_t FrameBytes(const Parameters& parameters, uint32_t shortest, uint32_t longest) {
  int64_t bytes = AlignUp(sizeof(FrameState)) + AlignUp(KnownRow(longest)) +
                  AlignUp(LineSumBytes(parameters, longest));
  if (parameters.fine == Fine::kSweep) {
    bytes += SweepFrameBytes(ShapeSweep(parameters, shortest, longest));
  }
  if (parameters.fine == Fine::kPll) bytes += LoopBytes(longest);
  return bytes;
}

int64_t LineBytes(int log2_line, int64_t frames) {
  if (frames == 0) return 0;
  // The transform's scratch is the search's once it is over.
  const int64_t scratch =
      std::max(FftPlans::WorkBytes(log2_line, frames), frames * PeakBytes(log2_line));
  return (FftPlans::Room(log2_line, frames) << (log2_line + 3)) + AlignUp(scratch);
}

RoundShape ShapeRound(const Parameters& parameters, int log2_line, int64_t frame_bytes,
                      int64_t num_frames, int64_t workspace_bytes) {
  RoundShape shape;
  shape.line_frames = std::min(num_frames, LineFrames(parameters, log2_line));
  for (;;) {
    const int64_t left = workspace_bytes - LineBytes(log2_line, shape.line_frames);
    shape.frames = std::min({num_frames, kMaxRoundFrames, left <= 0 ? 0 : left / frame_bytes});
    // Fewer lines at a time, if that lets a round have more frames than lines.
    if (shape.frames >= shape.line_frames || shape.line_frames <= 1) return shape;
    shape.line_frames /= 2;
  }
}

int64_t RecoverWorkspaceBytes(const Parameters& parameters, int num_symbols, int64_t num_frames) {
  const auto length = static_cast<uint32_t>(num_symbols);
  const int log2_line = Log2Line(length);
  const int64_t frames = std::min(num_frames, kMaxRoundFrames);
  return LineBytes(log2_line, std::min(frames, LineFrames(parameters, log2_line))) +
         std::max(frames * FrameBytes(parameters, length, length),
                  MostFrameBytes(parameters, length));
}

}  // namespace baseband::carrier
