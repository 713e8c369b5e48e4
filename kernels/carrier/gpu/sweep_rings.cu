// The sweep's sums of equation 8 for constellations of even rings. A thread places its symbols
// once, as radius and angle, and then takes them through the candidates: each turns a symbol by a
// whole number that is constant for the symbol, and by one that is constant for the candidate.
//
// Of nearly every symbol the radius alone tells on which ring the nearest point is. Those between
// two rings are listed, and dealt to the block's threads, one to each, in rounds of their own.
#include <algorithm>
#include <cstdint>

#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/ring_symbols.cuh"
#include "kernels/carrier/gpu/ring_term.cuh"
#include "kernels/carrier/gpu/sweep.cuh"
#include "kernels/carrier/gpu/sweep_arrays.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {
namespace {

constexpr int kTogether = 8;  // candidates between two sums over a warp
static_assert(kRingChunk % kTogether == 0);

// Goes on to the next candidate, which is turned by `turns`. kAlike: `turns` are the ring's own.
template <bool kAlike>
__device__ __forceinline__ void GoOn(uint32_t turns, uint32_t points, uint32_t step,
                                     uint32_t* angle) {
  *angle += step + (kAlike ? turns : turns * points);
}

template <bool kAlike>
__device__ __forceinline__ void AddSymbols(const uint32_t* turns, RingMemory* memory,
                                           float (&sums)[kTogether]) {
  constexpr int kInFlight = 4;
#pragma unroll 1
  for (int k = 0; k < kSweepSymbols; k += kInFlight) {
    uint2 angles[kInFlight];
    RingDistance distances[kInFlight];
    uint32_t points[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      angles[j] = memory->angles[k + j][threadIdx.x];
      distances[j] = memory->distances[k + j][threadIdx.x];
      points[j] = kAlike ? 1 : memory->points[k + j][threadIdx.x];
    }
#pragma unroll
    for (int c = 0; c < kTogether; ++c) {
      const uint32_t turn = turns[c];
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) {
        GoOn<kAlike>(turn, points[j], angles[j].y, &angles[j].x);
        sums[c] += FastRoot(distances[j].At(PlaceSquared(angles[j].x)));
      }
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) memory->angles[k + j][threadIdx.x].x = angles[j].x;
  }
}

template <bool kAlike>
__device__ __forceinline__ void AddBetween(const uint32_t* turns, BetweenSymbol* symbol,
                                           float (&sums)[kTogether]) {
#pragma unroll
  for (int c = 0; c < kTogether; ++c) {
    float distances[2];
    float square = 0.0F;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      if (k == 0 || !kAlike) {
        GoOn<kAlike>(turns[c], symbol->points[k], symbol->step[k], &symbol->angle[k]);
        square = PlaceSquared(symbol->angle[k]);
      }
      distances[k] = symbol->distance[k].At(square);
    }
    const bool inner = distances[0] * symbol->preference < distances[1];
    sums[c] += FastRoot(inner ? distances[0] : distances[1]);
  }
}

// What a thread adds up in a round: its own symbols in the first, then one of those listed, as many
// as there are threads at a time.
enum class Round { kSymbols, kBetween };

// One round over the candidates first .. end - 1. `adds`: whether the warp has symbols in it.
template <bool kAlike, Round kRound>
__device__ __forceinline__ void SumRound(const RingSweep& sweep, const EvenRings& rings, int first,
                                         int end, bool adds, BetweenSymbol between, float* totals,
                                         unsigned row_tiles, RingMemory* memory) {
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  for (int chunk = first; chunk < end; chunk += kRingChunk) {
    if (threadIdx.x < kRingChunk) {
      const int k = min(chunk + static_cast<int>(threadIdx.x), end - 1);
      const uint32_t onward = k > first ? sweep.Phase(k - 1) - sweep.Phase(k) : 0U;
      memory->turns[threadIdx.x] = kAlike ? onward * rings.rings[0].points : onward;
    }
    __syncthreads();
    for (int c = 0; c < min(kRingChunk, end - chunk); c += kTogether) {
      float sums[kTogether] = {};
      if (adds) {
        if constexpr (kRound == Round::kSymbols) {
          AddSymbols<kAlike>(memory->turns + c, memory, sums);
        } else {
          AddBetween<kAlike>(memory->turns + c, &between, sums);
        }
      }
      const float sum = SumOfWarp<kTogether>(sums, lane);
      constexpr unsigned kLanesPerSum = 32 / kTogether;
      if (lane % kLanesPerSum == 0) {
        memory->sums[warp][static_cast<unsigned>(c) + lane / kLanesPerSum] = sum;
      }
    }
    __syncthreads();
    const int k = chunk + static_cast<int>(threadIdx.x);
    if (threadIdx.x >= kRingChunk || k >= end) continue;
    float* const total = totals + static_cast<size_t>(k) * row_tiles;
    float sum = kRound == Round::kSymbols ? 0.0F : *total;
    for (int w = 0; w < kSweepWarps; ++w) sum += memory->sums[w][threadIdx.x];
    *total = sum;
  }
}

// Block b is b = (frame * shares + share) * tiles + tile; a share is `some` candidates.
template <bool kAlike>
__global__ void __launch_bounds__(kSweepThreads, 4)
    SweepRingKernel(const __grid_constant__ RecoverTask task, SweepArrays arrays, unsigned some) {
  extern __shared__ uint4 shared[];
  auto* const memory = reinterpret_cast<RingMemory*>(shared);
  const unsigned shares = (arrays.room + some - 1) / some;
  const unsigned tile = blockIdx.x % arrays.tiles;
  const unsigned share = blockIdx.x / arrays.tiles % shares;
  const unsigned f = blockIdx.x / arrays.tiles / shares;
  const FrameView frame(task, f);
  const FrameState& state = task.states[f];
  const int num_candidates = NumCandidates(task.parameters, static_cast<int>(frame.num_symbols));
  const int first = static_cast<int>(share * some);
  if (tile >= NumSweepTiles(frame.num_symbols) || first >= num_candidates || state.bad != 0 ||
      state.silent != 0) {
    return;
  }
  const int end = min(first + static_cast<int>(some), num_candidates);
  const EvenRings& rings = task.model.rings;
  if (threadIdx.x < rings.count) memory->shapes[threadIdx.x].Set(rings.rings[threadIdx.x]);
  __syncthreads();
  const size_t row = static_cast<size_t>(f) * arrays.room;
  const RingSweep sweep(task, frame, state, arrays.turns + row, first);
  const uint32_t tile_begin = tile * kSweepTile;
  const uint32_t warp_begin = tile_begin + threadIdx.x / 32 * kWarpSymbols;
  const bool has_symbols = warp_begin < frame.num_symbols;
  const unsigned between =
      has_symbols ? PlaceSymbols(sweep, rings, warp_begin + threadIdx.x % 32, memory) : 0;
  const unsigned num_listed = rings.count > 1 ? ListBetween(between, memory) : 0;
  float* const totals = arrays.sums + row * arrays.tiles + tile;
  SumRound<kAlike, Round::kSymbols>(sweep, rings, first, end, has_symbols, {}, totals, arrays.tiles,
                                    memory);
  for (unsigned listed = threadIdx.x; listed - threadIdx.x < num_listed; listed += kSweepThreads) {
    BetweenSymbol symbol;
    if (listed < num_listed) {
      symbol =
          PlaceBetween(sweep, rings, memory->shapes, tile_begin + SymbolListed(*memory, listed));
    }
    const bool adds = listed - threadIdx.x % 32 < num_listed;
    SumRound<kAlike, Round::kBetween>(sweep, rings, first, end, adds, symbol, totals, arrays.tiles,
                                      memory);
  }
}

}  // namespace

absl::Status PrepareRingSums() {
  for (auto* const kernel : {SweepRingKernel<false>, SweepRingKernel<true>}) {
    BASEBAND_RETURN_IF_ERROR(
        cuda::ToStatus(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(sizeof(RingMemory))),
                       "cudaFuncSetAttribute"));
  }
  return absl::OkStatus();
}

absl::Status LaunchRingSums(const RecoverTask& task, const SweepArrays& arrays,
                            cudaStream_t stream) {
  // All candidates in one block, so that a symbol is placed once, as long as there are blocks
  // enough.
  constexpr int64_t kEnough = 1024;
  const int64_t tiles = int64_t{task.num_frames} * arrays.tiles;
  const int64_t shares = std::clamp<int64_t>(kEnough / tiles, 1, arrays.room / kTogether);
  const auto some =
      static_cast<unsigned>((arrays.room / kTogether + shares - 1) / shares * kTogether);
  const auto blocks = static_cast<unsigned>(tiles * ((arrays.room + some - 1) / some));
  auto* const kernel = task.model.rings.alike != 0 ? SweepRingKernel<true> : SweepRingKernel<false>;
  kernel<<<blocks, kSweepThreads, sizeof(RingMemory), stream>>>(task, arrays, some);
  return cuda::ToStatus(cudaGetLastError(), "SweepRingKernel");
}

}  // namespace baseband::carrier
