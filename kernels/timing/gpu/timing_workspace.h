// How a launch of symbol timing divides its workspace. CUDA sources only.
//
//   states | carrier's frames | symbols | slopes | power, groups, lines and pieces of the line
//   search; then, in their place, the carrier's own workspace; then the refinement's states and
//   sums
#ifndef BASEBAND_KERNELS_TIMING_GPU_TIMING_WORKSPACE_H_
#define BASEBAND_KERNELS_TIMING_GPU_TIMING_WORKSPACE_H_

#include <cstdint>

#include "kernels/timing/gpu/timing_task.cuh"

namespace baseband::timing {

// Frames of one class go together: their lengths have the same highest bit.
int LengthClass(int64_t num_samples);

// Frames of a class whose longest has `longest` samples.
struct RoundShape {
  int64_t num_frames = 0;
  uint32_t longest_symbols = 0;
  // Places in the workspace, bytes.
  int64_t symbol_frames = 0;
  int64_t symbols = 0;
  int64_t slopes = 0;
  int64_t power = 0;
  int64_t groups = 0;
  int64_t lines = 0;
  int64_t pieces = 0;
  int64_t carrier = 0;
  int64_t refine = 0;
  int64_t refine_sums = 0;
  int64_t bytes = 0;
  // Rows of TimingTask.
  int points = 0;
  uint32_t symbols_row = 0;
  uint32_t slots_row = 0;
  uint32_t pieces_row = 0;
  uint32_t groups_row = 0;
  uint32_t shares_row = 0;
  SearchWidth search_width = SearchWidth::kTwoWarps;
};
RoundShape ShapeRound(const carrier::Parameters& carrier, const PulseShape& pulse,
                      const Parameters& parameters, int64_t longest, int64_t num_frames);

// The most of `num_frames` that go through `workspace_bytes` together, shaped. 0 frames: none does.
RoundShape FitRound(const carrier::Parameters& carrier, const PulseShape& pulse,
                    const Parameters& parameters, int64_t longest, int64_t num_frames,
                    int64_t workspace_bytes);

// Points `task` to the parts of a round.
void DivideWorkspace(const RoundShape& shape, uint8_t* workspace, TimingTask* task);

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_GPU_TIMING_WORKSPACE_H_
