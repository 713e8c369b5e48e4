// Stage S6: how far a frame's phase strays, and whether its symbols are of a part of the points
// only.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_STRAY_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_STRAY_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/remodulate.cuh"
#include "kernels/carrier/gpu/soft_table.cuh"
#include "kernels/carrier/gpu/team.cuh"
#include "kernels/carrier/math/misfit_math.h"
#include "kernels/carrier/math/stray_math.h"

namespace baseband::carrier {

// Of a short frame, whose tiles are longer than its stretches: what SumFit leaves in a slot, for
// each stretch one. By all threads of a block.
template <bool kShared>
__device__ void SumShortStretches(const FrameView& frame, const Estimate& estimate,
                                  const SoftTable<kShared>& table, TeamMemory* memory) {
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const int length = StretchLength(num_symbols);
  const int count = NumStretches(num_symbols);
  const Rotor rotor(estimate.frequency, estimate.phase, frame.num_symbols);
  const SoftPlane<kShared> plane(table.view());
  const auto inverse_gain = static_cast<float>(1.0 / estimate.gain);
  const unsigned lane = threadIdx.x % 32;
  for (int i = static_cast<int>(threadIdx.x / 32); i < count; i += kTeamWarps) {
    float sums[SumIndex::kCount] = {};
    const auto end = static_cast<uint32_t>(min((i + 1) * length, num_symbols));
    for (uint32_t n = static_cast<uint32_t>(i * length) + lane; n < end; n += 32) {
      const Iq received = frame.samples.Read(n);
      const Iq r = {received.i * inverse_gain, received.q * inverse_gain};
      const Iq z = Multiply(r, rotor.At(n));
      Iq known;
      if (frame.known != nullptr) known = frame.known[n];
      if (known.i != 0.0F || known.q != 0.0F) {
        AddKnown<false>(table.two_over_noise(), z, known, 0.0F, sums);
      } else {
        // The hard decision's search is not asked for.
        plane.template Add<SearchKind::kGrid, false>(NearestView(), z, 0.0F, sums);
      }
    }
    const float sum = SumOfWarp<SumIndex::kCount>(sums, lane);
    if (lane % 2 == 0) memory->slots[i][lane / 2] = sum;
  }
  __syncthreads();
}

// One stretch, from the slots.
__device__ inline Stretch StretchOf(const TeamMemory& memory, int stretch, uint32_t num_symbols,
                                    float two_over_noise) {
  int begin = stretch;  // slots
  int end = stretch + 1;
  if (num_symbols > static_cast<uint32_t>(kSlots * kTile)) {
    begin = stretch * kSlotsOfStretch;
    end = begin + kSlotsOfStretch;
  } else if (num_symbols > static_cast<uint32_t>(kShortFrame)) {
    const int tiles = StretchLength(static_cast<int>(num_symbols)) / kTile;
    const auto num_tiles = static_cast<int>((num_symbols + kTile - 1) / kTile);
    begin = stretch * tiles;
    end = min(begin + tiles, num_tiles);
  }
  const auto factor = static_cast<double>(two_over_noise);
  Stretch sum;
  for (int slot = begin; slot < end; ++slot) {
    const float* const sums = memory.slots[slot];
    sum.score += factor * static_cast<double>(sums[SumIndex::kScore]);
    sum.curvature += factor * static_cast<double>(sums[SumIndex::kCurvature]);
    sum.square += factor * factor * static_cast<double>(sums[SumIndex::kSquare]);
  }
  return sum;
}

// By one warp.
__device__ inline Stray StrayOfSlots(const TeamMemory& memory, uint32_t num_symbols,
                                     float two_over_noise) {
  const auto symbols = static_cast<int>(num_symbols);
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const bool counts = lane < NumStretches(symbols);
  Stretch stretch;
  double t = 0.0;
  StretchLine line;
  if (counts) {
    stretch = StretchOf(memory, lane, num_symbols, two_over_noise);
    t = StretchCentre(lane, symbols);
    line.Add(stretch, t);
  }
  double of_line[5] = {line.score[0], line.score[1], line.information[0], line.information[1],
                       line.information[2]};
  SumDoubles(of_line);
  line.score[0] = of_line[0];
  line.score[1] = of_line[1];
  line.information[0] = of_line[2];
  line.information[1] = of_line[3];
  line.information[2] = of_line[4];
  double phase = 0.0;
  double slope = 0.0;
  if (!line.Find(&phase, &slope)) return LostStray();
  StrayModes modes;
  if (counts) modes.Add(stretch, t, phase, slope);
  double of_modes[2 * kModes];
  for (int i = 0; i < kModes; ++i) {
    of_modes[i] = modes.value[i];
    of_modes[kModes + i] = modes.noise[i];
  }
  SumDoubles(of_modes);
  for (int i = 0; i < kModes; ++i) {
    modes.value[i] = of_modes[i];
    modes.noise[i] = of_modes[kModes + i];
  }
  return StrayOf(modes, line.information[0]);
}

// What the last SumFit's estimate and table, which are still there, leave of the phase. By all
// threads of the team, after that sum; the first thread of each block gets it.
template <bool kShared>
__device__ Stray FindStray(const Team& team, const FrameView& frame, const Estimate& estimate,
                           const SoftTable<kShared>& table, TeamMemory* memory) {
  if (frame.num_symbols <= static_cast<uint32_t>(kShortFrame)) {
    SumShortStretches(frame, estimate, table, memory);
  }
  Stray stray;
  if (threadIdx.x < 32) stray = StrayOfSlots(*memory, frame.num_symbols, table.two_over_noise());
  team.Sync();  // slots may be written again, by other blocks too
  return stray;
}

// IsUnbalanced of the symbols turned back. By all threads of a block, with `scratch` shared, [6 *
// kTeamWarps]; the first thread gets it.
__device__ inline bool FindImbalance(const FrameView& frame, const Estimate& estimate, int symmetry,
                                     double* scratch) {
  const int power = BalancePower(symmetry);
  if (power == 0) return false;
  static_assert(kBalanceSymbols == kTeamThreads);
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const auto i = static_cast<int>(threadIdx.x);
  Balance balance;
  if (i < num_symbols) {
    const auto n = static_cast<uint32_t>(BalanceSymbol(i, num_symbols));
    Iq known;
    if (frame.known != nullptr) known = frame.known[n];
    if (known.i == 0.0F && known.q == 0.0F) {
      const Rotor rotor(estimate.frequency, estimate.phase, frame.num_symbols);
      const auto inverse_gain = static_cast<float>(1.0 / estimate.gain);
      const Iq received = frame.samples.Read(n);
      balance.Add(Multiply({received.i * inverse_gain, received.q * inverse_gain}, rotor.At(n)),
                  static_cast<int>(n), power);
    }
  }
  constexpr int kCount = 6;
  double sums[kCount] = {balance.re[0], balance.re[1],  balance.im[0],
                         balance.im[1], balance.square, balance.count};
  SumDoubles(sums);
  __syncthreads();  // of what `scratch` was used for before
  if (threadIdx.x % 32 == 0) {
    for (int k = 0; k < kCount; ++k)
      scratch[kCount * static_cast<int>(threadIdx.x / 32) + k] = sums[k];
  }
  __syncthreads();
  if (threadIdx.x != 0) return false;
  balance = Balance();
  for (int warp = 0; warp < kTeamWarps; ++warp) {
    const double* const of_warp = scratch + kCount * warp;
    for (int odd = 0; odd < 2; ++odd) {
      balance.re[odd] += of_warp[odd];
      balance.im[odd] += of_warp[2 + odd];
    }
    balance.square += of_warp[4];
    balance.count += of_warp[5];
  }
  return IsUnbalanced(balance);
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_STRAY_CUH_
