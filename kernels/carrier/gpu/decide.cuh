// Stage S6: how far the symbols are from the points, by hard decisions at the last estimate.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_DECIDE_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_DECIDE_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/fit_sums.cuh"
#include "kernels/carrier/gpu/nearest_device.cuh"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/team.cuh"
#include "kernels/carrier/math/known_math.h"

namespace baseband::carrier {

__device__ __forceinline__ float SquaredDistance(Iq a, Iq b) {
  const float di = a.i - b.i;
  const float dq = a.q - b.q;
  return fmaf(di, di, dq * dq);
}

// A symbol's squared distance to the nearest point.
template <SearchKind kKind>
class HardDistance {
 public:
  // `search`: as CopyNearest returned it.
  __device__ explicit HardDistance(const NearestView& search)
      : nearest_(NearestInShared<kKind>(search)),
        magnitude_(search.folded != 0 ? 0x7fffffffU : 0xffffffffU) {}

  __device__ __forceinline__ float Of(Iq z) const {
    const Iq a = {__uint_as_float(__float_as_uint(z.i) & magnitude_),
                  __uint_as_float(__float_as_uint(z.q) & magnitude_)};
    const SearchPoint point = FindNearest<kKind>(nearest_, a.i, a.q);
    return SquaredDistance(a, {point.i, point.q});
  }

 private:
  NearestView nearest_;
  uint32_t magnitude_;  // bits to keep
};

// Sums over the symbols of the squared distance to the nearest point, or to the known one, and over
// the known ones of TurnedApart. By all threads of the team; SumFit's sums stay in its memory. A
// pass of its own: decisions made on the way to the estimate are not those at it, and one symbol of
// a short frame that is decided otherwise moves the EVM by a hundredth.
template <SearchKind kKind>
__device__ __noinline__ void SumDistance(const Team& team, const FrameView& frame,
                                         const Estimate& estimate, const NearestView& search,
                                         double (&totals)[2]) {
  // All that the loop reads, where a store to memory cannot change it.
  const Team mates = team;
  const Samples samples = frame.samples;
  const uint32_t num_symbols = frame.num_symbols;
  const KnownView known_symbols = frame.known;
  const HardDistance<kKind> distance(search);
  const Rotor rotor(estimate.frequency, estimate.phase, num_symbols);
  const auto inverse_gain = static_cast<float>(1.0 / estimate.gain);
  // A frame of a tile a slot is read backwards: its end is what the last round read last.
  const bool backwards = num_symbols <= static_cast<uint32_t>(kSlots * kTile);
  const uint32_t onward = backwards ? 0U - mates.Onward(num_symbols) : mates.Onward(num_symbols);
  mates.template Sum<2, SumIndex::kDistance>(
      num_symbols,
      [&](uint32_t first, float(&sums)[2]) {
        Iq back = rotor.At(first);
        back = {back.i * inverse_gain, back.q * inverse_gain};
        Iq r[kTileLanes];
        samples.ReadTile(first, num_symbols, r);
        samples.FetchTile(first - threadIdx.x % 32 + onward, num_symbols);
        const KnownOfTile known = known_symbols.Tile(first, num_symbols);
        if (!known.any && first + (kTile - 32) < num_symbols) {
#pragma unroll
          for (int k = 0; k < kTileLanes; ++k) {
            sums[0] += distance.Of(Multiply(r[k], back));
            back = rotor.Next(back);
          }
          return;
        }
#pragma unroll
        for (int k = 0; k < kTileLanes; ++k) {
          const uint32_t n = first + 32 * static_cast<uint32_t>(k);
          if (n >= num_symbols) break;
          const Iq z = Multiply(r[k], back);
          if ((known.bits >> k & 1U) != 0) {
            const Iq sent = known_symbols.symbols[n];
            sums[0] += SquaredDistance(z, sent);
            sums[1] += TurnedApart(z, sent);
          } else {
            sums[0] += distance.Of(z);
          }
          back = rotor.Next(back);
        }
      },
      totals, backwards);
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_DECIDE_CUH_
