// Stage S6: what of a frame's symbols is summed at the end: stretches of it, of which stray_math.h
// tells how far the phase strays, and hard decisions.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_STRETCHES_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_STRETCHES_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/decide.cuh"
#include "kernels/carrier/gpu/fit_sums.cuh"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/soft_table.cuh"
#include "kernels/carrier/gpu/team.cuh"
#include "kernels/carrier/math/stray_math.h"

namespace baseband::carrier {

// Sums of the slots that stretch `stretch` has, of one of SumFit's sums; read(slot, sum) is a
// slot's.
template <typename Read>
__device__ double SumOfStretch(const Read& read, int stretch, int sum, uint32_t num_symbols) {
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
  for (int slot = begin; slot < end; ++slot) total += static_cast<double>(read(slot, sum));
  return total;
}

// Keeps what the slots say of each stretch, in stretches[kMaxStretches]. By all threads of a block.
template <typename Read>
__device__ void KeepStretches(const Read& read, uint32_t num_symbols, float two_over_noise,
                              Stretch* stretches) {
  const auto i = static_cast<int>(threadIdx.x % 32);
  if (i >= NumStretches(static_cast<int>(num_symbols))) return;
  const auto factor = static_cast<double>(two_over_noise);
  const auto sum = [&](int which) { return SumOfStretch(read, i, which, num_symbols); };
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

// A short frame's, whose tiles are longer than its stretches, so that SumFit's slots tell nothing
// of them: its sums over each stretch once more, at `summed_at`, whose table is `table`, and in the
// same pass hard decisions at `estimate`. By all threads of one block.
template <bool kShared, SearchKind kKind>
__device__ __noinline__ void LookAtShortFrame(const FrameView& frame, const Estimate& summed_at,
                                              const SoftTable<kShared>& table,
                                              const Estimate& estimate, const NearestView& search,
                                              TeamMemory* memory, Settled* settled) {
  // All that the loop reads, where a store to memory cannot change it.
  const Samples samples = frame.samples;
  const uint32_t num_symbols = frame.num_symbols;
  const KnownView known_symbols = frame.known;
  const auto length = static_cast<uint32_t>(StretchLength(static_cast<int>(num_symbols)));
  const auto count = static_cast<uint32_t>(NumStretches(static_cast<int>(num_symbols)));
  const Rotor soft_rotor(summed_at.frequency, summed_at.phase, num_symbols);
  const Rotor hard_rotor(estimate.frequency, estimate.phase, num_symbols);
  const SoftPlane<kShared> plane(table.view());
  const HardDistance<kKind> distance(search);
  const float two_over_noise = table.two_over_noise();
  const auto soft_scale = static_cast<float>(1.0 / summed_at.gain);
  const auto hard_scale = static_cast<float>(1.0 / estimate.gain);
  const unsigned lane = threadIdx.x % 32;
  for (uint32_t i = threadIdx.x / 32; i < count; i += kTeamWarps) {
    const uint32_t first = i * length + lane;
    const uint32_t end = min((i + 1) * length, num_symbols);
    float sums[SumIndex::kCount] = {};
    Iq soft_back = soft_rotor.At(first);
    Iq hard_back = hard_rotor.At(first);
    soft_back = {soft_back.i * soft_scale, soft_back.q * soft_scale};
    hard_back = {hard_back.i * hard_scale, hard_back.q * hard_scale};
    Iq next;
    if (first < end) next = samples.Read(first);
#pragma unroll 1  // long, and run through a few times: unrolled it would have to be fetched first
    for (uint32_t n = first; n < end; n += 32) {
      const Iq r = next;
      if (n + 32 < end) next = samples.Read(n + 32);
      const Iq known = known_symbols.At(n);
      const Iq soft = Multiply(r, soft_back);
      const Iq hard = Multiply(r, hard_back);
      if (known.i != 0.0F || known.q != 0.0F) {
        AddKnown(two_over_noise, soft, known, 0.0F, sums);
        sums[SumIndex::kDistance] += SquaredDistance(hard, known);
        sums[SumIndex::kDistance + 1] += TurnedApart(hard, known);
      } else {
        plane.Add(soft, 0.0F, sums);
        sums[SumIndex::kDistance] += distance.Of(hard);
      }
      soft_back = soft_rotor.Next(soft_back);
      hard_back = hard_rotor.Next(hard_back);
    }
    const float sum = SumOfWarp<SumIndex::kCount>(sums, lane);
    if (lane % 2 == 0) memory->slots[i][lane / 2] = sum;
  }
  __syncthreads();
  const auto read = [&](int slot, int sum) { return memory->slots[slot][sum]; };
  KeepStretches(read, num_symbols, two_over_noise, settled->stretches);
  if (threadIdx.x / 32 == 3) {
    double totals[2] = {};
    if (lane < count) {
      totals[0] = static_cast<double>(memory->slots[lane][SumIndex::kDistance]);
      totals[1] = static_cast<double>(memory->slots[lane][SumIndex::kDistance + 1]);
    }
    SumDoubles(totals);
    if (lane == 0) {
      settled->distance = totals[0];
      settled->apart = totals[1];
    }
  }
}

// Keeps what the last SumFit, whose estimate and table are still there, says of each stretch, and
// what hard decisions at `estimate` come to. By all threads of the team, after that sum; memory may
// change again after they have met.
template <bool kShared, SearchKind kKind>
__device__ void LookAtFrame(const Team& team, const FrameView& frame, const Estimate& summed_at,
                            const SoftTable<kShared>& table, const Estimate& estimate,
                            const NearestView& search, TeamMemory* memory, Settled* settled) {
  if (frame.num_symbols <= static_cast<uint32_t>(kShortFrame)) {
    if (team.rank() == 0) {
      LookAtShortFrame<kShared, kKind>(frame, summed_at, table, estimate, search, memory, settled);
    }
    return;
  }
  if (team.rank() == 0) {
    const auto read = [&](int slot, int sum) {
      return team.SlotOf(static_cast<unsigned>(slot), sum);
    };
    KeepStretches(read, frame.num_symbols, table.two_over_noise(), settled->stretches);
  }
  double totals[2];
  SumDistance<kKind>(team, frame, estimate, search, totals);
  if (team.rank() == 0 && threadIdx.x == 0) {
    settled->distance = totals[0];
    settled->apart = totals[1];
  }
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_STRETCHES_CUH_
