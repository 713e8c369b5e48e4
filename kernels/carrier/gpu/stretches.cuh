// Stage S6: sums over stretches of a frame, of which stray_math.h tells how far its phase strays.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_STRETCHES_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_STRETCHES_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/fit_sums.cuh"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/soft_table.cuh"
#include "kernels/carrier/gpu/team.cuh"
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
        AddKnown(table.two_over_noise(), z, known, 0.0F, sums);
      } else {
        plane.Add(z, 0.0F, sums);
      }
    }
    const float sum = SumOfWarp<SumIndex::kCount>(sums, lane);
    if (lane % 2 == 0) memory->slots[i][lane / 2] = sum;
  }
  __syncthreads();
}

// Sums of the slots that stretch `stretch` has, of one of SumFit's sums.
__device__ inline double SumOfStretch(const TeamMemory& memory, int stretch, int sum,
                                      uint32_t num_symbols) {
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
  double total = 0.0;
  for (int slot = begin; slot < end; ++slot) total += static_cast<double>(memory.slots[slot][sum]);
  return total;
}

// Keeps what the last SumFit, whose estimate and table are still there, says of each stretch, in
// stretches[kMaxStretches]. By all threads of the team, after that sum.
template <bool kShared>
__device__ void KeepStretches(const Team& team, const FrameView& frame, const Estimate& estimate,
                              const SoftTable<kShared>& table, TeamMemory* memory,
                              Stretch* stretches) {
  if (team.rank() == 0) {
    if (frame.num_symbols <= static_cast<uint32_t>(kShortFrame)) {
      SumShortStretches(frame, estimate, table, memory);
    }
    const auto i = static_cast<int>(threadIdx.x % 32);
    const auto factor = static_cast<double>(table.two_over_noise());
    if (i < NumStretches(static_cast<int>(frame.num_symbols))) {
      const auto sum = [&](int which) {
        return SumOfStretch(*memory, i, which, frame.num_symbols);
      };
      // A warp each.
      switch (threadIdx.x / 32) {
        case 0:
          stretches[i].score = factor * sum(SumIndex::kScore);
          break;
        case 1:
          stretches[i].curvature = factor * sum(SumIndex::kCurvature);
          break;
        case 2:
          stretches[i].square = factor * factor * sum(SumIndex::kSquare);
          break;
        default:
          break;
      }
    }
  }
  team.Sync();  // slots may be written again, by other blocks too
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_STRETCHES_CUH_
