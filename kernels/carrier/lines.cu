// Stage S3, second part: lines where the spectrum has its peaks, refined between the bins on sums
// over blocks of symbols; and the same sums for the carrier where a method has put it.
#include "kernels/carrier/line_blocks.cuh"
#include "kernels/carrier/recover_launch.h"
#include "kernels/carrier/recover_task.cuh"
#include "kernels/carrier/team.cuh"

namespace baseband::carrier {
namespace {

// Shared memory of a block; `blocks` and `parts` follow, for as many lines as may be refined.
struct LinesMemory {
  StagedLine staged;
  LineTurn turns[kKnownPeaks];
  RefinedLine lines[kKnownPeaks];
};
__device__ __forceinline__ LineBlock* BlocksOf(LinesMemory* memory) {
  return reinterpret_cast<LineBlock*>(memory + 1);
}
size_t SharedBytes(int lines) {
  return sizeof(LinesMemory) +
         static_cast<size_t>(lines) * (kMaxLineBlocks + kMaxParts) * sizeof(LineBlock);
}

// Refines a line from its blocks around `nu`. By one warp. `peak` is null if there was no search.
__device__ RefinedLine Refine(const Blocks& blocks, double nu, double line_energy, int line_power,
                              int points, const SpectrumPeak* peak) {
  double delta = 0.0;
  if (peak != nullptr) {
    for (int step = 0; step < kLineSteps; ++step) delta = LineStep(blocks.At(delta), delta);
  }
  const LineAt at = blocks.At(delta);
  RefinedLine line;
  line.nu = nu + delta / points;
  line.phase = at.phase_turns();
  line.lambda = at.power() / line_energy;
  line.covariance = blocks.CovarianceAt(delta, line.phase, line_power);
  line.bin_nu = line.nu;
  if (peak != nullptr) {
    int bin = static_cast<int>(floor(line.nu * points));
    const int first = (peak->half_bin >> 1) - 1;
    const auto power = [&](int k) { return peak->bins[min(max(k - first, 0), 3)]; };
    if (power(bin + 1) > power(bin)) ++bin;
    line.bin_nu = static_cast<double>(bin) / points;
  }
  return line;
}

// Sorts the lines by strength into the frame's state. Peaks that were not refined show in the ratio
// of the two strongest only.
__device__ void KeepLines(const LinesMemory& memory, int num_lines, FrameState* state) {
  double second = 1.0;  // the mean of the bins, if there is no other peak
  for (int k = num_lines; k < state->num_peaks; ++k) {
    second = fmax(second, state->peaks[k].power / state->line_energy);
  }
  for (int k = 0; k < num_lines; ++k) {
    int place = 0;
    for (int j = 0; j < num_lines; ++j) {
      const double other = memory.lines[j].lambda;
      place += other > memory.lines[k].lambda || (other == memory.lines[k].lambda && j < k) ? 1 : 0;
    }
    state->lines[place] = memory.lines[k];
  }
  if (num_lines > 1) second = fmax(second, state->lines[1].lambda);
  state->num_lines = num_lines;
  state->best_lambda = state->lines[0].lambda;
  state->second_lambda = second;
}

__global__ void __launch_bounds__(kTeamThreads)
    LinesKernel(const __grid_constant__ RecoverTask task, int most_lines) {
  extern __shared__ uint4 shared[];
  auto* const memory = reinterpret_cast<LinesMemory*>(shared);
  LineBlock* const blocks = BlocksOf(memory);
  LineBlock* const parts = blocks + most_lines * kMaxLineBlocks;
  Team team(nullptr);  // adds nothing up by its own means
  const bool searched = task.parameters.coarse != Coarse::kNone;
  const unsigned num_teams = gridDim.x / team.size();
  for (uint32_t f = blockIdx.x / team.size(); f < task.num_frames; f += num_teams) {
    const FrameView frame(task, f);
    FrameState* const state = task.states + f;
    if (state->bad != 0 || state->silent != 0) continue;
    const int points = 1 << task.log2_line;
    // Peaks that cannot come near the best are not refined; being sorted, they are the last ones.
    int num_lines = 1;
    if (searched) {
      const double doubtful = (state->peaks[0].power - kDoubt * state->line_energy) * kHalfBinShare;
      while (num_lines < state->num_peaks && state->peaks[num_lines].power >= doubtful) {
        ++num_lines;
      }
    }
    const auto warp = static_cast<int>(threadIdx.x / 32);
    const double nu =
        searched && warp < num_lines ? 0.5 * state->peaks[warp].half_bin / points : 0.0;
    if (warp < num_lines && threadIdx.x % 32 == 0) {
      memory->turns[warp] = LineTurnOf(nu, frame.num_symbols);
    }
    __syncthreads();
    SumBlocks(&team, task, frame, state->estimate, num_lines, memory->turns, &memory->staged,
              blocks, parts);
    if (team.rank() == 0 && warp < num_lines) {
      const Blocks own(blocks + warp * kMaxLineBlocks, static_cast<int>(frame.num_symbols), points);
      const int line_power = LineIsKnown(task, frame) ? 1 : task.model.power;
      const RefinedLine line = Refine(own, nu, state->line_energy, line_power, points,
                                      searched ? state->peaks + warp : nullptr);
      if (threadIdx.x % 32 == 0) memory->lines[warp] = line;
    }
    __syncthreads();
    if (team.rank() == 0 && threadIdx.x == 0) KeepLines(*memory, num_lines, state);
    team.Sync();  // `memory` may change again
  }
}

// The line where the carrier was put: its spread and, if `settles`, its phase, which the carrier's
// then follows from where the line was chosen.
__global__ void __launch_bounds__(kTeamThreads)
    CarrierLineKernel(const __grid_constant__ RecoverTask task, bool settles) {
  extern __shared__ uint4 shared[];
  auto* const memory = reinterpret_cast<LinesMemory*>(shared);
  LineBlock* const blocks = BlocksOf(memory);
  Team team(nullptr);
  const unsigned num_teams = gridDim.x / team.size();
  for (uint32_t f = blockIdx.x / team.size(); f < task.num_frames; f += num_teams) {
    const FrameView frame(task, f);
    FrameState* const state = task.states + f;
    if (state->bad != 0 || state->silent != 0) continue;
    const int line_power = LineIsKnown(task, frame) ? 1 : task.model.power;
    const double nu = settles ? state->chosen_bin : state->estimate.frequency * line_power;
    if (threadIdx.x == 0) memory->turns[0] = LineTurnOf(nu, frame.num_symbols);
    __syncthreads();
    SumBlocks(&team, task, frame, state->estimate, 1, memory->turns, &memory->staged, blocks,
              blocks + kMaxLineBlocks);
    if (team.rank() == 0 && threadIdx.x < 32) {
      const Blocks own(blocks, static_cast<int>(frame.num_symbols), 1 << task.log2_line);
      const double phase = own.At(0.0).phase_turns();
      const Covariance covariance = own.CovarianceAt(0.0, phase, line_power);
      if (threadIdx.x == 0) {
        state->covariance = covariance;
        if (settles) {
          const double turns = phase - state->chosen_phase;
          state->estimate.frequency = nu / line_power;
          state->estimate.phase += (turns - floor(turns + 0.5)) / line_power;
          if (task.parameters.fine == Fine::kSweep) {
            state->coarse_frequency = state->estimate.frequency;
          }
        }
      }
    }
    team.Sync();  // `memory` may change again
  }
}

}  // namespace

absl::Status PrepareLines() {
  return cuda::ToStatus(
      cudaFuncSetAttribute(LinesKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(SharedBytes(kKnownPeaks))),
      "cudaFuncSetAttribute");
}

absl::Status LaunchLines(const RecoverTask& task, int cluster, int max_blocks,
                         cudaStream_t stream) {
  const int most_lines = task.parameters.coarse == Coarse::kKnown ? kKnownPeaks : kPeaks;
  return LaunchTeams(LinesKernel, "LinesKernel", task, task.num_frames, cluster, max_blocks,
                     SharedBytes(most_lines), stream, most_lines);
}

absl::Status LaunchCarrierLine(const RecoverTask& task, bool settles, int cluster, int max_blocks,
                               cudaStream_t stream) {
  return LaunchTeams(CarrierLineKernel, "CarrierLineKernel", task, task.num_frames, cluster,
                     max_blocks, SharedBytes(1), stream, settles);
}

}  // namespace baseband::carrier
