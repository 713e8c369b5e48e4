// What the kernels of LaunchTiming hand to each other. CUDA sources only.
//
// A round's frames are of one length class: equal FFTs, and lengths within a factor of two. Each
// goes through
//   PlanFrames        what its length and its known symbols come to
//   TransformPieces   its pieces' spectra: their power, and the groups of C_s (line_math.h)
//   SearchLine        timing.h's stage 1 from there on
//   MatchSymbols      stage 2
//   LaunchRecover     stage 3
//   RefineTiming      stage 4, in rounds of sums and steps; the result, the corrected symbols
#ifndef BASEBAND_KERNELS_TIMING_GPU_TIMING_TASK_CUH_
#define BASEBAND_KERNELS_TIMING_GPU_TIMING_TASK_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/carrier/gpu/samples.cuh"
#include "kernels/carrier/math/estimate_math.h"
#include "kernels/carrier/recover_gpu.h"
#include "kernels/timing/gpu/device_pulses.h"
#include "kernels/timing/math/line_math.h"
#include "kernels/timing/math/place_math.h"
#include "kernels/timing/math/refine_math.h"
#include "kernels/timing/timing_gpu.h"

namespace baseband::timing {

// Pieces follow each other in slots: so many that a slot's power is little beside its samples, and
// slots so few that adding them up is little, too. Depends on the frame alone, as its sums must.
inline constexpr int kLeastSlotPieces = 16;
inline constexpr int kMaxLineSlots = 256;
BASEBAND_HOST_DEVICE inline int SlotPieces(int num_pieces) {
  const int pieces = (num_pieces + kMaxLineSlots - 1) / kMaxLineSlots;
  return pieces > kLeastSlotPieces ? pieces : kLeastSlotPieces;
}
BASEBAND_HOST_DEVICE inline int NumLineSlots(int num_pieces) {
  const int pieces = SlotPieces(num_pieces);
  return (num_pieces + pieces - 1) / pieces;
}
// Never less than a shorter frame has, as NumLineSlots may be: of 4096 pieces 256, of 4097 241.
inline int MostLineSlots(int num_pieces) {
  const int slots = (num_pieces + kLeastSlotPieces - 1) / kLeastSlotPieces;
  return slots < kMaxLineSlots ? slots : kMaxLineSlots;
}

// A piece's middle, and the turn by PieceTurns.
struct alignas(16) PieceFacts {
  double time = 0.0;  // symbols, from the middle of all pieces
  carrier::Turned turn;
};

// Bits of TimingState::seen.
inline constexpr uint32_t kSeenEnergy = 1;
inline constexpr uint32_t kSeenBad = 2;

// A frame on its way through the kernels.
struct TimingState {
  LinePlan plan;             // PlanFrames
  double modulo = 1.0;       // PlanFrames: of the carrier's frequency, see carrier::Reach
  uint32_t num_symbols = 0;  // PlanFrames
  uint32_t seen = 0;         // TransformPieces
  // SearchLine, of frames that are not lost: where the symbols are; by how much, in turns of 2^-64,
  // the carrier turns in a sample, in a symbol, and before the first symbol.
  LineVerdict verdict;
  SymbolPlaces places;
  uint64_t sample_turns = 0;
  uint64_t symbol_turns = 0;
  uint64_t first_turns = 0;

  BASEBAND_HOST_DEVICE bool is_bad() const { return (seen & kSeenBad) != 0; }
  // Bad or silent: there is nothing to find.
  BASEBAND_HOST_DEVICE bool is_lost() const { return seen != kSeenEnergy; }
};

// Its refinement.
struct RefineState {
  RefineTask task;
  Refined refined;
};

// How many threads search a frame's line; the same for all frames of a class.
enum class SearchWidth : uint8_t { kWarp, kTwoWarps, kWide };

// A round. A kernel's parameter.
struct TimingTask {
  carrier::ModelView model;  // in device memory
  carrier::Parameters carrier;
  Parameters parameters;
  PulseOnDevice pulse;
  const TimingFrame* frames = nullptr;
  uint32_t num_frames = 0;
  const uint8_t* samples = nullptr;
  const uint8_t* known = nullptr;
  uint8_t* output = nullptr;
  Result* results = nullptr;
  carrier::Result* carrier_results = nullptr;

  // Parts of the workspace; rows are as long as the round's longest frame needs them.
  TimingState* states = nullptr;                   // [num_frames]
  carrier::RecoverFrame* symbol_frames = nullptr;  // [num_frames]
  float2* symbols = nullptr;                       // [num_frames][symbols_row]
  float2* slopes = nullptr;                        // [num_frames][symbols_row]
  uint32_t symbols_row = 0;
  float* power = nullptr;        // [num_frames][slots_row][points]: parts of the mean
  float2* groups = nullptr;      // [num_frames][pieces_row][groups_row]
  float2* lines = nullptr;       // [num_frames][pieces_row]
  PieceFacts* pieces = nullptr;  // [num_frames][pieces_row]
  int points = 0;
  uint32_t slots_row = 0;
  uint32_t pieces_row = 0;
  uint32_t groups_row = 0;
  SearchWidth search_width = SearchWidth::kTwoWarps;
  RefineState* refine = nullptr;  // [num_frames]
  float* refine_sums = nullptr;   // [num_frames][shares_row][SumColumn::kColumns]
  uint32_t shares_row = 0;

  __device__ carrier::Samples SamplesOf(const TimingFrame& frame) const {
    return {samples + frame.samples_offset, carrier.format, carrier.scale};
  }
};

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_GPU_TIMING_TASK_CUH_
