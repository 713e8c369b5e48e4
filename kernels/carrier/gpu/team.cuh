// The threads that work on one frame together, and sums over a frame that come out the same to the
// bit however many threads that are.
//
// A frame is cut into tiles of 256 symbols, and the tiles are dealt to 128 slots: each has its own
// or, where they are more, each of 16 stretches of the frame (stray_math.h) has 8 slots, which take
// its tiles in turn. A warp takes whole slots and adds up their tiles in ascending order; then the
// slots are added up in one fixed order: eight that follow each other, which are always one
// block's, and then the 16 groups of them. Which warp of which thread block had a slot makes no
// difference. A frame of 32400 symbols has 127 tiles:
//
//   one thread block (8 warps):  warp w has slots w, w + 8, .., of one tile each: 16 turns
//   a cluster of 4 (32 warps):   warp w of block b has slots 8 b + w, 8 b + w + 32, ..: 4 turns
//   a cluster of 16:             each warp has one
//   2^20 symbols, cluster of 16: warp w of block b has slot 8 b + w alone: every eighth tile of the
//                                256 of stretch b
#ifndef BASEBAND_KERNELS_CARRIER_GPU_TEAM_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_TEAM_CUH_

#include <cooperative_groups.h>

#include <cstdint>

#include "kernels/carrier/math/stray_math.h"

namespace baseband::carrier {

inline constexpr int kTeamWarps = 8;
inline constexpr int kTeamThreads = 32 * kTeamWarps;
inline constexpr int kSlots = 128;
inline constexpr int kMaxTeamBlocks = kSlots / kTeamWarps;  // with more some warps would be idle
inline constexpr int kTileLanes = 8;                        // symbols of a tile that one lane has
inline constexpr int kTile = 32 * kTileLanes;
inline constexpr int kMaxSums = 16;
inline constexpr int kGroups = kSlots / kTeamWarps;  // of slots
static_assert(kGroups * kMaxSums == kTeamThreads && kGroups % kMaxTeamBlocks == 0,
              "a thread for each sum of each group");
inline constexpr int kSlotsOfStretch = kSlots / kMaxStretches;
static_assert(kTile == kStretchTile, "stretches are made of tiles");

// Tiles first, first + step, .. below end.
struct TilesOfSlot {
  uint32_t first = 0;
  uint32_t end = 0;
  uint32_t step = 1;

  __device__ TilesOfSlot(uint32_t slot, uint32_t num_tiles) {
    if (num_tiles <= static_cast<uint32_t>(kSlots)) {
      first = slot;
      end = min(slot + 1, num_tiles);
      return;
    }
    const uint32_t of_stretch = (num_tiles + kMaxStretches - 1) / kMaxStretches;
    const uint32_t stretch = slot / kSlotsOfStretch;
    first = stretch * of_stretch + slot % kSlotsOfStretch;
    end = min((stretch + 1) * of_stretch, num_tiles);
    step = kSlotsOfStretch;
  }
};

// What a team's sums need of each block's shared memory. A row has a float more than sums: lanes
// that read one sum of 32 slots then find them in 32 banks.
struct TeamMemory {
  float slots[kSlots][kMaxSums + 1];  // the block's own
  // Of several blocks: the groups of all, of two sums in turn. Who comes to write one for the next
  // sum but one has met all others since they read it.
  double groups[2][kGroups][kMaxSums];
  unsigned turn;
  double totals[kMaxSums];
};

// Sums kSums values over the warp, all at once: in each of the first steps a lane hands half of
// its values to the lane across and keeps the others. Lane l then has the sum of value
// l / (32 / kSums). For 16 values that takes 8 + 4 + 2 + 1 + 1 exchanges in place of 80.
template <int kSums, typename T>
__device__ __forceinline__ T SumOfWarp(T (&sums)[kSums], unsigned lane) {
  int apart = 16;
#pragma unroll
  for (int half = kSums / 2; half >= 1; half /= 2, apart /= 2) {
    const bool upper = (lane & static_cast<unsigned>(apart)) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const T handed = upper ? sums[i] : sums[i + half];
      const T kept = upper ? sums[i + half] : sums[i];
      sums[i] = kept + __shfl_xor_sync(0xffffffffU, handed, apart);
    }
  }
#pragma unroll
  for (; apart >= 1; apart /= 2) {
    sums[0] += __shfl_xor_sync(0xffffffffU, sums[0], apart);
  }
  return sums[0];
}

// Sums of the whole warp, or of lanes that differ by kFrom, kFrom / 2, .. kTo; all of them get it.
template <int kFrom = 16, int kTo = 1, int kCount>
__device__ __forceinline__ void SumDoubles(double (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
#pragma unroll
    for (int apart = kFrom; apart >= kTo; apart /= 2) {
      values[i] += __shfl_xor_sync(0xffffffffU, values[i], apart);
    }
  }
}

class Team {
 public:
  // Every thread of the team calls it. Without `memory` it has no sums.
  __device__ explicit Team(TeamMemory* memory)
      : memory_(memory),
        rank_(cooperative_groups::this_cluster().block_rank()),
        size_(cooperative_groups::this_cluster().num_blocks()) {
    if (memory == nullptr || size_ == 1) return;
    if (threadIdx.x == 0) memory->turn = 0;
    Sync();  // a block has no shared memory to write to before it has begun
  }

  __device__ unsigned rank() const { return rank_; }
  __device__ unsigned size() const { return size_; }
  // Index among the team's threads, and how many there are.
  __device__ unsigned thread() const { return rank_ * kTeamThreads + threadIdx.x; }
  __device__ unsigned threads() const { return size_ * kTeamThreads; }

  // All threads of the team meet; what they wrote before, to each other's shared memory too, is
  // seen after.
  __device__ void Sync() const {
    if (size_ == 1) {
      __syncthreads();
    } else {
      cooperative_groups::this_cluster().sync();
    }
  }

  // Sums of kSums floats over all symbols n < num_symbols. `add(first, sums)` adds to `sums` what
  // the lane's symbols first + 32 k, k < kTileLanes, contribute, those beyond num_symbols nothing.
  // Every thread of the team calls it and gets all totals. Float within a slot, double beyond.
  // `backwards`: the last slots first, which changes no sum. What a pass forwards read last is
  // still in a cache then. kFirst: the first column that the sums have of TeamMemory; others keep
  // what they hold.
  template <int kSums, int kFirst = 0, typename Add>
  __device__ void Sum(uint32_t num_symbols, const Add& add, double (&totals)[kSums],
                      bool backwards = false) const {
    const double* const shared = SumShared<kSums, kFirst>(num_symbols, add, backwards);
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      totals[i] = shared[i];
    }
  }
  // The same; the totals stay in shared memory, until the next sum there.
  template <int kSums, int kFirst = 0, typename Add>
  __device__ const double* SumShared(uint32_t num_symbols, const Add& add,
                                     bool backwards = false) const {
    static_assert(kSums == 1 || kSums == 2 || kSums == 4 || kSums == 8 || kSums == 16);
    static_assert(kFirst + kSums <= kMaxSums);
    const unsigned warp = threadIdx.x / 32;
    const unsigned lane = threadIdx.x % 32;
    const uint32_t num_tiles = (num_symbols + kTile - 1) / kTile;
    const uint32_t first_slot = rank_ * kTeamWarps + warp;
    const uint32_t step = size_ * kTeamWarps;
    const uint32_t end_slot = num_tiles < kSlots ? num_tiles : kSlots;
    const uint32_t turns = end_slot > first_slot ? (end_slot - first_slot - 1) / step + 1 : 0;
    for (uint32_t turn = 0; turn < turns; ++turn) {
      const uint32_t slot = first_slot + (backwards ? turns - 1 - turn : turn) * step;
      float sums[kSums] = {};
      const TilesOfSlot tiles(slot, num_tiles);
      for (uint32_t tile = tiles.first; tile < tiles.end; tile += tiles.step) {
        add(tile * kTile + lane, sums);
      }
      const float sum = SumOfWarp<kSums>(sums, lane);
      constexpr unsigned kLanesPerSum = 32 / kSums;
      if (lane % kLanesPerSum == 0) {
        memory_->slots[slot][kFirst + lane / kLanesPerSum] = sum;
      }
    }
    __syncthreads();
    const unsigned group = threadIdx.x % kGroups;
    const unsigned which = threadIdx.x / kGroups;  // sum
    double total[1] = {};
    if (size_ == 1) {
      if (which < kSums) total[0] = SumOfGroup(group, kFirst + which, end_slot);
    } else {
      unsigned* const turn = &memory_->turn;
      auto* const groups = memory_->groups[*turn];
      SendGroups<kSums>(groups, kFirst, end_slot);
      Sync();
      if (threadIdx.x == 0) *turn = 1 - *turn;
      if (which < kSums) total[0] = groups[group][which];
    }
    SumDoubles<kGroups / 2>(total);
    if (which < kSums && group == 0) memory_->totals[kFirst + which] = total[0];
    __syncthreads();
    return memory_->totals + kFirst;
  }

  // What the last sum left in column `column` of a slot, whichever block has it.
  __device__ float SlotOf(unsigned slot, int column) const {
    return Of(memory_, slot / kTeamWarps % size_)->slots[slot][column];
  }

  // How many symbols on a warp's next tile mostly is, forwards.
  __device__ uint32_t Onward(uint32_t num_symbols) const {
    const bool own_slots = num_symbols <= static_cast<uint32_t>(kSlots * kTile);
    return (own_slots ? size_ * kTeamWarps : static_cast<unsigned>(kSlotsOfStretch)) * kTile;
  }

  // `object`, which lies in this block's shared memory, in that of another block of the team.
  template <typename T>
  __device__ T* Of(T* object, unsigned block) const {
    return size_ == 1 ? object : cooperative_groups::this_cluster().map_shared_rank(object, block);
  }

 private:
  // Of the block's own slots in a column.
  __device__ double SumOfGroup(unsigned group, unsigned column, uint32_t end_slot) const {
    double sum = 0.0;
#pragma unroll
    for (unsigned i = 0; i < kTeamWarps; ++i) {
      const unsigned slot = group * kTeamWarps + i;
      if (slot < end_slot) sum += static_cast<double>(memory_->slots[slot][column]);
    }
    return sum;
  }
  // Sums of the block's groups, in each block's `groups`: each thread has one for one block.
  template <int kSums>
  __device__ void SendGroups(double (*groups)[kMaxSums], unsigned first_column,
                             uint32_t end_slot) const {
    const unsigned which = threadIdx.x % kMaxSums;
    if (which >= kSums) return;
    const unsigned share = threadIdx.x / kMaxSums;
    const unsigned group = share / size_ * size_ + rank_;
    *Of(&groups[group][which], share % size_) = SumOfGroup(group, first_column + which, end_slot);
  }

  TeamMemory* memory_;
  unsigned rank_;
  unsigned size_;
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_TEAM_CUH_
