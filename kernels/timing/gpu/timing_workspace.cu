#include <algorithm>

#include "kernels/carrier/recover_gpu.h"
#include "kernels/timing/gpu/refine_sums.cuh"
#include "kernels/timing/gpu/timing_launch.h"
#include "kernels/timing/gpu/timing_workspace.h"

namespace baseband::timing {
namespace {

// More frames would make rounds no faster.
constexpr int64_t kMostRoundFrames = 16384;
// Symbols are found by 32 bits, bytes.
constexpr int64_t kMostSymbolBytes = int64_t{1} << 32;
// Frames of no more pieces are searched by a warp each, of more than the most by many.
constexpr int kFewPieces = 64;
constexpr int kManyPieces = 4096;

constexpr int64_t Aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

// Up to which frequency the carrier may be looked for, whatever is known.
double MostReach(const carrier::Parameters& carrier) {
  if (carrier.coarse == carrier::Coarse::kNone) {
    return carrier.fine == carrier::Fine::kSweep ? carrier.sweep_range : 0.0;
  }
  return carrier.max_frequency > 0.0 ? carrier.max_frequency : 0.5;
}

LinePlan PlanOf(const carrier::Parameters& carrier, const PulseShape& pulse,
                const Parameters& parameters, int64_t num_samples) {
  return PlanLine(pulse.rolloff, pulse.samples, pulse.symbols, parameters.max_clock_error,
                  MostReach(carrier), static_cast<int>(num_samples));
}

// In one round, of frames of `symbols_row` symbols.
int64_t MostFrames(uint32_t symbols_row) {
  const auto row = static_cast<int64_t>(symbols_row * sizeof(float2));
  return std::min(kMostRoundFrames, kMostSymbolBytes / row);
}

}  // namespace

int LengthClass(int64_t num_samples) {
  int highest = 0;
  while (num_samples >> (highest + 1) != 0) ++highest;
  return highest;
}

RoundShape ShapeRound(const carrier::Parameters& carrier, const PulseShape& pulse,
                      const Parameters& parameters, int64_t longest, int64_t num_frames) {
  const LinePlan plan = PlanOf(carrier, pulse, parameters, longest);
  // The class decides who searches a frame, not what shares its round.
  const int64_t longest_of_class = (int64_t{2} << LengthClass(longest)) - 1;
  RoundShape shape;
  shape.longest_symbols = static_cast<uint32_t>(SymbolsOf(pulse, parameters, longest));
  shape.symbols_row = (shape.longest_symbols + 31) / 32 * 32;
  num_frames = std::min(num_frames, MostFrames(shape.symbols_row));
  shape.num_frames = num_frames;
  shape.points = plan.points;
  shape.slots_row = static_cast<uint32_t>(MostLineSlots(plan.num_pieces));
  shape.pieces_row = static_cast<uint32_t>(plan.num_pieces);
  shape.groups_row = static_cast<uint32_t>(plan.num_groups);
  const int most_pieces = PlanOf(carrier, pulse, parameters, longest_of_class).num_pieces;
  shape.search_width = most_pieces <= kFewPieces    ? SearchWidth::kWarp
                       : most_pieces <= kManyPieces ? SearchWidth::kTwoWarps
                                                    : SearchWidth::kWide;
  shape.shares_row = RefineShares(shape.longest_symbols);
  int64_t end = 0;
  const auto take = [&](int64_t a_frame) {
    const int64_t begin = end;
    end += Aligned(num_frames * a_frame);
    return begin;
  };
  const auto row = [](uint32_t count, size_t size) { return static_cast<int64_t>(count * size); };
  take(sizeof(TimingState));
  shape.symbol_frames = take(sizeof(carrier::RecoverFrame));
  shape.symbols = take(row(shape.symbols_row, sizeof(float2)));
  shape.slopes = take(row(shape.symbols_row, sizeof(float2)));
  shape.carrier = end;
  shape.power = take(row(shape.slots_row, sizeof(float)) * plan.points);
  shape.groups = take(row(shape.pieces_row, sizeof(float2)) * shape.groups_row);
  shape.lines = take(row(shape.pieces_row, sizeof(float2)));
  shape.pieces = take(row(shape.pieces_row, sizeof(PieceFacts)));
  const int64_t search_bytes = end - shape.carrier;
  end = shape.carrier;
  shape.refine = take(sizeof(RefineState));
  shape.refine_sums = take(row(shape.shares_row, SumColumn::kColumns * sizeof(float)));
  const int64_t refine_bytes = end - shape.carrier;
  const int64_t carrier_bytes =
      carrier::RecoverWorkspaceBytes(carrier, static_cast<int>(shape.longest_symbols), num_frames);
  shape.bytes = shape.carrier + std::max({search_bytes, carrier_bytes, refine_bytes});
  return shape;
}

RoundShape FitRound(const carrier::Parameters& carrier, const PulseShape& pulse,
                    const Parameters& parameters, int64_t longest, int64_t num_frames,
                    int64_t workspace_bytes) {
  const auto shaped = [&](int64_t frames) {
    return ShapeRound(carrier, pulse, parameters, longest, frames);
  };
  RoundShape fits = shaped(num_frames);
  if (fits.bytes <= workspace_bytes) return fits;
  int64_t too_many = fits.num_frames;
  fits = shaped(1);
  if (fits.bytes > workspace_bytes) return RoundShape();
  while (too_many - fits.num_frames > 1) {
    const RoundShape middle = shaped((too_many + fits.num_frames) / 2);
    if (middle.bytes <= workspace_bytes) {
      fits = middle;
    } else {
      too_many = middle.num_frames;
    }
  }
  return fits;
}

void DivideWorkspace(const RoundShape& shape, uint8_t* workspace, TimingTask* task) {
  const auto at = [workspace](int64_t place) { return static_cast<void*>(workspace + place); };
  task->states = static_cast<TimingState*>(at(0));
  task->symbol_frames = static_cast<carrier::RecoverFrame*>(at(shape.symbol_frames));
  task->symbols = static_cast<float2*>(at(shape.symbols));
  task->slopes = static_cast<float2*>(at(shape.slopes));
  task->power = static_cast<float*>(at(shape.power));
  task->groups = static_cast<float2*>(at(shape.groups));
  task->lines = static_cast<float2*>(at(shape.lines));
  task->pieces = static_cast<PieceFacts*>(at(shape.pieces));
  task->points = shape.points;
  task->symbols_row = shape.symbols_row;
  task->slots_row = shape.slots_row;
  task->pieces_row = shape.pieces_row;
  task->groups_row = shape.groups_row;
  task->search_width = shape.search_width;
  task->refine = static_cast<RefineState*>(at(shape.refine));
  task->refine_sums = static_cast<float*>(at(shape.refine_sums));
  task->shares_row = shape.shares_row;
}

int64_t WorkspaceBytes(const carrier::Parameters& carrier, const Pulse& pulse,
                       const Parameters& parameters, int64_t num_samples, int64_t num_frames) {
  const auto bytes = [&](int64_t longest, int64_t frames) {
    return ShapeRound(carrier, pulse.shape(), parameters, longest, frames).bytes;
  };
  // One frame of any shorter class must fit, too.
  int64_t most = bytes(num_samples, num_frames);
  const int64_t least = SamplesFor(pulse.shape(), parameters, carrier::kMinSymbols);
  for (int64_t longest = (int64_t{1} << LengthClass(num_samples)) - 1; longest >= least;
       longest /= 2) {
    most = std::max(most, bytes(longest, 1));
  }
  return most;
}

}  // namespace baseband::timing
