// The symbols of one tile on their way through a sweep, for constellations of even rings: placed
// once for each candidate's turn to be a sum of whole numbers.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_RING_SYMBOLS_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_RING_SYMBOLS_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/ring_term.cuh"
#include "kernels/carrier/gpu/sweep.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {

inline constexpr int kRingChunk = 64;  // candidates between two meetings of the block
inline constexpr int kWarpSymbols = 32 * kSweepSymbols;
static_assert(kWarpSymbols == kTile, "a warp reads a tile of symbols");

// In shared memory: many warps with a few registers each hide better what a root takes than few
// warps with many. A symbol's own thread alone reads and writes its entries.
struct RingMemory {
  RingDistance distances[kSweepSymbols][kSweepThreads];
  uint2 angles[kSweepSymbols][kSweepThreads];  // at the last candidate, and a candidate's step
  uint8_t points[kSweepSymbols][kSweepThreads];
  RingShape shapes[kMaxEvenRings];
  uint32_t turns[kRingChunk];  // of a candidate from the one before, as RingSweep::Phase counts
  float sums[kSweepWarps][kRingChunk];
  uint32_t num_listed[kSweepWarps];
  uint8_t listed[kSweepTile];  // warp by warp: those of its symbols that are between two rings
};

// A symbol between two rings.
struct BetweenSymbol {
  uint32_t angle[2] = {};
  uint32_t step[2] = {};
  uint32_t points[2] = {1, 1};
  RingDistance distance[2];
  float preference = 1.0F;  // the first ring's radius over the second's, squared
};

// How the candidates from `first` on turn a frame's symbols.
class RingSweep {
 public:
  __device__ RingSweep(const RecoverTask& task, const FrameView& frame, const FrameState& state,
                       const double* turns, int first)
      : samples_(frame.samples),
        num_symbols_(frame.num_symbols),
        inverse_gain_(static_cast<float>(1.0 / state.estimate.gain)),
        turns_(turns),
        first_(first) {
    const double centre = frame.centre();
    const int half = LastCandidate(task.parameters, static_cast<int>(num_symbols_));
    const double step = task.parameters.sweep_step;
    const double lowest = state.coarse_frequency - half * step;
    begin_ = Turns64(turns[0] - lowest * centre);
    per_symbol_ = Turns64(lowest);
    step_begin_ = Turns64(-step * centre);
    step_per_symbol_ = Turns64(step);
    onward_ = Phase(first_) - Phase(0);
  }

  __device__ uint32_t num_symbols() const { return num_symbols_; }
  __device__ __forceinline__ void ReadTile(uint32_t first, Iq (&r)[kSweepSymbols]) const {
    samples_.ReadTile(first, num_symbols_, r);
  }
  __device__ __forceinline__ PolarSymbol ToPolar(Iq r) const {
    return PolarSymbol(r, inverse_gain_);
  }
  __device__ __forceinline__ PolarSymbol Read(uint32_t n) const {
    return ToPolar(samples_.Read(n));
  }

  // Phase of a candidate, in units of 2^-32 of a quarter of a turn: `points` of a ring's make one.
  __device__ __forceinline__ uint32_t Phase(int candidate) const {
    return AlongRing(Turns64(turns_[candidate]), 1);
  }
  // Angle of a symbol at the candidate before the first, and what each candidate adds to it besides
  // its phase. Sums of whole numbers: whatever candidate is the first, each finds the same angles.
  __device__ __forceinline__ void Place(uint32_t n, uint32_t turns, const RingShape& shape,
                                        uint32_t* angle, uint32_t* step) const {
    const uint64_t at = (uint64_t{turns} << 32) - begin_ - per_symbol_ * n;
    *step = 0U - AlongRing(step_begin_ + step_per_symbol_ * n, shape.points);
    *angle = AlongRing(at, shape.points) - shape.begin + static_cast<uint32_t>(first_ - 1) * *step -
             shape.points * onward_;
  }

 private:
  Samples samples_;
  uint32_t num_symbols_;
  float inverse_gain_;
  const double* turns_;
  int first_;
  uint64_t begin_;
  uint64_t per_symbol_;
  uint64_t step_begin_;
  uint64_t step_per_symbol_;
  uint32_t onward_;  // phase of the first candidate from that of candidate 0
};

// The ring that a symbol of that radius is on, or the inner one of two.
__device__ __forceinline__ int RingOf(const EvenRings& rings, float radius) {
  int ring = 0;
  for (int k = 0; k + 1 < rings.count; ++k) ring += radius >= rings.rings[k].own_to ? 1 : 0;
  return ring;
}

// Places the thread's symbols first + 32 k; those between two rings, which have no distance yet,
// are told in the bits of the result.
__device__ __forceinline__ unsigned PlaceSymbols(const RingSweep& sweep, const EvenRings& rings,
                                                 uint32_t first, RingMemory* memory) {
  Iq r[kSweepSymbols];
  sweep.ReadTile(first, r);
  unsigned between = 0;
#pragma unroll
  for (int k = 0; k < kSweepSymbols; ++k) {
    const uint32_t n = first + 32 * static_cast<uint32_t>(k);
    const PolarSymbol polar = sweep.ToPolar(r[k]);
    const int ring = RingOf(rings, polar.radius);
    const RingShape& shape = memory->shapes[ring];
    uint2 angle;
    sweep.Place(n, polar.turns, shape, &angle.x, &angle.y);
    memory->angles[k][threadIdx.x] = angle;
    memory->points[k][threadIdx.x] = static_cast<uint8_t>(shape.points);
    RingDistance distance(shape, polar.radius);
    if (n >= sweep.num_symbols()) {
      distance = RingDistance();
    } else if (polar.radius >= rings.rings[ring].next_from) {
      distance = RingDistance();
      between |= 1U << k;
    }
    memory->distances[k][threadIdx.x] = distance;
  }
  return between;
}

__device__ __forceinline__ BetweenSymbol PlaceBetween(const RingSweep& sweep,
                                                      const EvenRings& rings,
                                                      const RingShape* shapes, uint32_t n) {
  BetweenSymbol symbol;
  const PolarSymbol polar = sweep.Read(n);
  const RingShape* const inner = shapes + RingOf(rings, polar.radius);
  symbol.preference = inner[0].radius * inner[1].inverse_radius;
  symbol.preference *= symbol.preference;
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    sweep.Place(n, polar.turns, inner[k], &symbol.angle[k], &symbol.step[k]);
    symbol.points[k] = inner[k].points;
    symbol.distance[k] = RingDistance(inner[k], polar.radius);
  }
  return symbol;
}

// Lists the tile's symbols that are between two rings, in a fixed order. Returns how many.
__device__ __forceinline__ unsigned ListBetween(unsigned between, RingMemory* memory) {
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  unsigned votes[kSweepSymbols];
  unsigned of_warp = 0;
#pragma unroll
  for (int k = 0; k < kSweepSymbols; ++k) {
    votes[k] = __ballot_sync(0xffffffffU, (between >> k & 1U) != 0);
    of_warp += static_cast<unsigned>(__popc(votes[k]));
  }
  if (lane == 0) memory->num_listed[warp] = of_warp;
  __syncthreads();
  unsigned count = 0;
  unsigned at = 0;
  for (unsigned w = 0; w < static_cast<unsigned>(kSweepWarps); ++w) {
    if (w == warp) at = count;
    count += memory->num_listed[w];
  }
#pragma unroll
  for (int k = 0; k < kSweepSymbols; ++k) {
    const unsigned before = votes[k] & ((1U << lane) - 1);
    if ((between >> k & 1U) != 0) {
      memory->listed[at + static_cast<unsigned>(__popc(before))] =
          static_cast<uint8_t>(32 * static_cast<unsigned>(k) + lane);
    }
    at += static_cast<unsigned>(__popc(votes[k]));
  }
  __syncthreads();
  return count;
}

// The symbol of the tile that was listed as the i-th.
__device__ __forceinline__ unsigned SymbolListed(const RingMemory& memory, unsigned i) {
  unsigned warp = 0;
  for (unsigned end = memory.num_listed[0]; i >= end; end += memory.num_listed[warp]) ++warp;
  return warp * kWarpSymbols + memory.listed[i];
}

static_assert((kMaxPoints - 4) / 4 <= 255,
              "a byte for a ring's points, but if it is alone, when nobody reads them");
static_assert(kWarpSymbols <= 256, "a byte names a symbol of a warp");
static_assert(4 * (sizeof(RingMemory) + 1024) <= 228 << 10, "four blocks on a multiprocessor");

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_RING_SYMBOLS_CUH_
