// How the sweep's kernels divide their part of the workspace.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_SWEEP_ARRAYS_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_SWEEP_ARRAYS_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/sweep.cuh"

namespace baseband::carrier {

inline constexpr int kMaxCandidatesAtATime = 16;
// Candidates that a row has room for: whole groups, whatever the group's size.
constexpr int64_t RoomForCandidates(int64_t num_candidates) {
  return (num_candidates + kMaxCandidatesAtATime - 1) / kMaxCandidatesAtATime *
         kMaxCandidatesAtATime;
}
BASEBAND_HOST_DEVICE constexpr int64_t NumSweepTiles(int64_t num_symbols) {
  return (num_symbols + kSweepTile - 1) / kSweepTile;
}

// The sweep's arrays. Row f belongs to frame f of the round, whatever its own candidates and tiles.
struct SweepArrays {
  double* turns = nullptr;  // [frame][candidate]: phase at the centre
  double* evm = nullptr;    // [frame][candidate]
  Iq* phases = nullptr;     // [frame][candidate]: the line, then exp(-j phase)
  Iq* blocks = nullptr;     // [frame][block]: sums of the line
  float* sums = nullptr;    // [frame][candidate][tile]: of equation 8
  uint32_t room = 0;        // candidates of a row
  uint32_t tiles = 0;       // of a row
  uint32_t most_blocks = 0;
};

inline SweepArrays Divide(const SweepTask& sweep, int64_t num_frames) {
  SweepArrays arrays;
  const int64_t room = RoomForCandidates(sweep.shape.num_candidates);
  arrays.room = static_cast<uint32_t>(room);
  arrays.tiles = static_cast<uint32_t>(NumSweepTiles(sweep.shape.num_symbols));
  arrays.most_blocks = static_cast<uint32_t>(sweep.shape.num_blocks);
  arrays.turns = reinterpret_cast<double*>(sweep.memory);
  arrays.evm = arrays.turns + num_frames * room;
  arrays.phases = reinterpret_cast<Iq*>(arrays.evm + num_frames * room);
  arrays.blocks = arrays.phases + num_frames * room;
  arrays.sums = reinterpret_cast<float*>(arrays.blocks + num_frames * sweep.shape.num_blocks);
  return arrays;
}

// Equation 8 for every candidate and tile, of a constellation of even rings. As the stages of
// recover_launch.h; PrepareSweep calls the first, LaunchSweep the other.
absl::Status PrepareRingSums();
absl::Status LaunchRingSums(const RecoverTask& task, const SweepArrays& arrays,
                            cudaStream_t stream);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_SWEEP_ARRAYS_CUH_
