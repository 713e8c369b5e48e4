// The lines of Fine::kSweep at every candidate, whose phases are the candidates' own.
#include <algorithm>
#include <cstdint>

#include "kernels/carrier/gpu/line_symbol.cuh"
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/sweep.cuh"
#include "kernels/carrier/gpu/sweep_arrays.cuh"
#include "kernels/carrier/gpu/sweep_line.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {
namespace {

// Sums over short blocks of the line, turned back by the coarse frequency. A warp adds up one
// block or, of shorter ones, a tile of 256 symbols, 32 at a time: a block of 8 symbols then has
// lanes 8 b .. 8 b + 7.
__global__ void __launch_bounds__(kTeamThreads)
    SweepBlockKernel(const __grid_constant__ RecoverTask task, SweepArrays arrays) {
  LetNextKernelCome();
  AwaitKernelBefore();
  __shared__ alignas(16) unsigned char weight_memory[kWeightNodes * sizeof(WeightNode)];
  auto* const weights = reinterpret_cast<WeightNode*>(weight_memory);
  Team team(nullptr);
  const unsigned lane = threadIdx.x % 32;
  const unsigned num_teams = gridDim.x / team.size();
  for (uint32_t f = blockIdx.x / team.size(); f < task.num_frames; f += num_teams) {
    const FrameView frame(task, f);
    const FrameState& state = task.states[f];
    if (state.bad != 0 || state.silent != 0) continue;
    const bool known_line = LineIsKnown(task, frame);
    const int power = known_line ? 1 : task.model.power;
    const auto length = static_cast<unsigned>(
        SweepBlockLength(task.parameters, power, static_cast<int>(frame.num_symbols)));
    const unsigned lanes = min(length, 32U);  // that add up a block
    const unsigned stretch = max(length, kTile + 0U);
    const Rotor rotor(state.coarse_frequency * power, 0.0, frame.num_symbols);
    const LineMaker maker(task, frame, state.estimate, kTeamThreads, weights);
    Iq* const blocks = arrays.blocks + static_cast<size_t>(f) * arrays.most_blocks;
    for (uint32_t begin = team.thread() / 32 * stretch; begin < frame.num_symbols;
         begin += team.threads() / 32 * stretch) {
      Iq sum;
      for (uint32_t tile = begin; tile < begin + stretch; tile += kTile) {
        Iq r[kTileLanes];
        Iq x[kTileLanes];
        frame.samples.ReadTile(tile + lane, frame.num_symbols, r);
        maker.MakeTile(tile + lane, frame.num_symbols, r, x);
        Iq back = rotor.At(tile + lane);
#pragma unroll
        for (int k = 0; k < kTileLanes; ++k) {
          const Iq y = Multiply(x[k], back);
          back = rotor.Next(back);
          sum.i += y.i;
          sum.q += y.q;
          const uint32_t end = tile + 32 * static_cast<uint32_t>(k + 1);
          if (end % max(length, 32U) != 0) continue;
          for (unsigned apart = lanes / 2; apart > 0; apart /= 2) {
            sum.i += __shfl_xor_sync(0xffffffffU, sum.i, apart);
            sum.q += __shfl_xor_sync(0xffffffffU, sum.q, apart);
          }
          const uint32_t n = end - 32 + (lane & ~(lanes - 1));
          const uint32_t block = n / length;
          if ((lane & (lanes - 1)) == 0 && block * length < frame.num_symbols) blocks[block] = sum;
          sum = {};
        }
      }
    }
    __syncthreads();  // `weights` may change again
  }
}

// The line at every candidate, a warp for some neighbours, in `phases`; its power in `evm`.
constexpr int kLinesTogether = 8;

__global__ void __launch_bounds__(kTeamThreads)
    SweepLineKernel(const __grid_constant__ RecoverTask task, SweepArrays arrays) {
  const uint32_t f = blockIdx.x;
  const FrameView frame(task, f);
  const FrameState& state = task.states[f];
  if (state.bad != 0 || state.silent != 0) return;
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const int power = LineIsKnown(task, frame) ? 1 : task.model.power;
  const int length = SweepBlockLength(task.parameters, power, num_symbols);
  const int num_blocks = (num_symbols + length - 1) / length;
  const Iq* const blocks = arrays.blocks + static_cast<size_t>(f) * arrays.most_blocks;
  const int half = LastCandidate(task.parameters, num_symbols);
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const uint64_t step_per_half = Turns64(0.5 * power * task.parameters.sweep_step);
  for (unsigned k = (blockIdx.y * kTeamWarps + threadIdx.x / 32) * kLinesTogether; k < arrays.room;
       k += gridDim.y * kTeamWarps * kLinesTogether) {
    const double offset = (static_cast<int>(k) - half) * task.parameters.sweep_step;
    const uint64_t per_half = Turns64(0.5 * power * offset);
    float sums[2 * kLinesTogether] = {};
    for (int b = lane; b < num_blocks; b += 32) {
      const auto centre = static_cast<uint64_t>(CentreOfBlock(b, length, num_symbols));
      SweptSymbol block(Multiply(blocks[b], TurnedBack(per_half * centre)),
                        TurnedBack(step_per_half * centre));
#pragma unroll
      for (int c = 0; c < kLinesTogether; ++c) {
        sums[2 * c] += block.u.i;
        sums[2 * c + 1] += block.u.q;
        block.GoOn();
      }
    }
    const float sum = SumOfWarp<2 * kLinesTogether>(sums, static_cast<unsigned>(lane));
    constexpr int kLanesPerLine = 32 / kLinesTogether;
    const Iq line = {sum, __shfl_down_sync(0xffffffffU, sum, kLanesPerLine / 2)};
    if (lane % kLanesPerLine != 0) continue;
    const size_t at =
        static_cast<size_t>(f) * arrays.room + k + static_cast<unsigned>(lane / kLanesPerLine);
    arrays.phases[at] = line;
    arrays.evm[at] = fmaf(line.i, line.i, line.q * line.q);
  }
}

// Coarse::kNone: the strongest line of all candidates takes the place of a peak. By one warp.
__global__ void __launch_bounds__(32)
    StrongestLineKernel(const __grid_constant__ RecoverTask task, SweepArrays arrays) {
  const uint32_t f = blockIdx.x;
  const FrameView frame(task, f);
  FrameState* const state = task.states + f;
  if (state->bad != 0 || state->silent != 0) return;
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const int half = LastCandidate(task.parameters, num_symbols);
  const size_t row = static_cast<size_t>(f) * arrays.room;
  const double* const power = arrays.evm + row;
  int best = min(static_cast<int>(threadIdx.x), 2 * half);
  for (int k = best + 32; k <= 2 * half; k += 32) {
    if (power[k] > power[best]) best = k;
  }
  for (int apart = 16; apart > 0; apart /= 2) {
    const int other = __shfl_xor_sync(0xffffffffU, best, apart);
    if (power[other] > power[best] || (power[other] == power[best] && other < best)) best = other;
  }
  if (threadIdx.x != 0) return;
  RefinedLine line = state->lines[0];
  const int line_power = LineIsKnown(task, frame) ? 1 : task.model.power;
  line.nu = (best - half) * task.parameters.sweep_step * line_power;
  line.phase = PhaseTurns(arrays.phases[row + static_cast<size_t>(best)]);
  line.lambda = power[best] / state->line_energy;
  line.bin_nu = line.nu;
  state->lines[0] = line;
  state->num_lines = 1;
}

}  // namespace

absl::Status PrepareSweepLines(TeamLimits* limits) {
  return PrepareTeams(SweepBlockKernel, 0, limits);
}

absl::Status LaunchSweepLines(const RecoverTask& task, const SweepTask& sweep, int cluster,
                              int max_blocks, cudaStream_t stream) {
  const SweepArrays arrays = Divide(sweep, task.num_frames);
  BASEBAND_RETURN_IF_ERROR(LaunchTeams(SweepBlockKernel, "SweepBlockKernel", task, task.num_frames,
                                       cluster, max_blocks, 0, stream, arrays));
  constexpr unsigned kOfBlock = kTeamWarps * kLinesTogether;
  const dim3 grid(task.num_frames, std::min((arrays.room + kOfBlock - 1) / kOfBlock, 1024U));
  SweepLineKernel<<<grid, kTeamThreads, 0, stream>>>(task, arrays);
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetLastError(), "SweepLineKernel"));
  if (task.parameters.coarse != Coarse::kNone) return absl::OkStatus();
  StrongestLineKernel<<<task.num_frames, 32, 0, stream>>>(task, arrays);
  return cuda::ToStatus(cudaGetLastError(), "StrongestLineKernel");
}

}  // namespace baseband::carrier
