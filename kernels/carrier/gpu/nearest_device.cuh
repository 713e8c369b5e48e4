// Searches for the nearest point with the constellation in shared memory. They take the point that
// NearestListed takes (nearest.h), and hand back its coordinates rather than its index: a distance
// that is taken from them has no cancellation in it.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_NEAREST_DEVICE_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_NEAREST_DEVICE_CUH_

#include <cstdint>

#include "kernels/carrier/constellation/nearest.h"

namespace baseband::carrier {

// Which search suits a constellation. Few points: compare with all of them, one after the other,
// the same for all threads; kEight: those of an octant, for z that is folded into it. More: the
// grid of cells. Square QAM: slice each axis.
enum class SearchKind { kOne, kFour, kEight, kSixteen, kSliced, kGrid };

inline SearchKind SearchKindOf(const NearestView& view) {
  if (view.folded != 0 && view.num_points == 1) return SearchKind::kOne;
  if (view.folded != 0 && view.num_points <= 4) return SearchKind::kFour;
  if (view.slices > 0) return SearchKind::kSliced;
  if (view.octant_points > 0 && view.octant_points <= 8) return SearchKind::kEight;
  if (view.folded != 0 && view.num_points <= 16) return SearchKind::kSixteen;
  return SearchKind::kGrid;
}
BASEBAND_HOST_DEVICE constexpr int ComparedPoints(SearchKind kind) {
  switch (kind) {
    case SearchKind::kOne:
      return 1;
    case SearchKind::kFour:
      return 4;
    case SearchKind::kEight:
      return 8;
    default:
      return 16;
  }
}

// Bytes of shared memory that CopyNearest fills.
inline int64_t NearestSharedBytes(const NearestView& view, SearchKind kind) {
  if (kind != SearchKind::kSliced && kind != SearchKind::kGrid) {
    return ComparedPoints(kind) * static_cast<int64_t>(sizeof(SearchPoint));
  }
  const int64_t cells = kind == SearchKind::kGrid ? int64_t{view.side} * view.side : 0;
  return view.num_points * static_cast<int64_t>(sizeof(SearchPoint)) + cells * 4;
}

#ifdef __CUDACC__

// `object`, which lies in this block's dynamic shared memory, so that the compiler knows that, too:
// after a way through memory it would not, and a load from anywhere takes longer.
template <typename T>
__device__ __forceinline__ const T* InShared(const T* object) {
  extern __shared__ uint4 dynamic_shared[];
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(object)) -
                  static_cast<uint32_t>(__cvta_generic_to_shared(dynamic_shared));
  return reinterpret_cast<const T*>(reinterpret_cast<const unsigned char*>(dynamic_shared) + at);
}

// Copies what the search reads into `shared`, by all `threads` threads of a block; __syncthreads()
// is the caller's. A list of fewer points than are compared is filled up with points far away.
// What few cells need (`more`) stays in device memory.
template <SearchKind kKind>
__device__ NearestView CopyNearest(const NearestView& from, uint4* shared, unsigned threads) {
  NearestView view = from;
  auto* const points = reinterpret_cast<SearchPoint*>(shared);
  view.points = points;
  int num_points = from.num_points;
  if constexpr (kKind != SearchKind::kSliced && kKind != SearchKind::kGrid) {
    num_points = ComparedPoints(kKind);
  }
  if constexpr (kKind == SearchKind::kEight) {
    if (threadIdx.x == 0) {
      int count = 0;
      for (int k = 0; k < from.num_points; ++k) {
        if (IsInOctant(from.points[k])) points[count++] = from.points[k];
      }
      while (count < num_points) points[count++] = SearchPoint{0.0F, 0.0F, 1e30F, 0.0F};
    }
  } else {
    for (int k = static_cast<int>(threadIdx.x); k < num_points; k += static_cast<int>(threads)) {
      points[k] = k < from.num_points ? from.points[k] : SearchPoint{0.0F, 0.0F, 1e30F, 0.0F};
    }
  }
  if constexpr (kKind == SearchKind::kGrid) {
    auto* const cells = reinterpret_cast<uint32_t*>(points + num_points);
    for (int k = static_cast<int>(threadIdx.x); k < from.side * from.side;
         k += static_cast<int>(threads)) {
      cells[k] = from.cells[k];
    }
    view.cells = cells;
  }
  return view;
}

// What CopyNearest returned, by InShared.
template <SearchKind kKind>
__device__ __forceinline__ NearestView NearestInShared(const NearestView& copied) {
  NearestView view = copied;
  view.points = InShared(copied.points);
  if constexpr (kKind == SearchKind::kGrid) view.cells = InShared(copied.cells);
  return view;
}

// NearestListed. A cell of one point, or of two, repeats it: only threads whose cell has another
// point read it, so that fewer reads meet in a bank.
__device__ __forceinline__ SearchPoint FindListed(const NearestView& view, float i, float q) {
  const int cell = CellAlong(view, q) * view.side + CellAlong(view, i);
  const uint32_t word = view.cells[cell];
  const float mi = -2.0F * i;
  const float mq = -2.0F * q;
  const uint32_t first = word & kCellIndexMask;
  const uint32_t second = word >> kCellIndexBits & kCellIndexMask;
  const uint32_t third = word >> 2 * kCellIndexBits & kCellIndexMask;
  SearchPoint best = view.points[first];
  if (second == first) return best;
  float least = SearchDistance(best, mi, mq);
  const auto consider = [&](uint32_t k) {
    const SearchPoint point = view.points[k];
    const float distance = SearchDistance(point, mi, mq);
    if (distance < least) {
      least = distance;
      best = point;
    }
  };
  consider(second);
  if (third != second) consider(third);
  if ((word & kCellHasMore) != 0) {
    const uint16_t* const more = view.more + __ldg(view.more_begin + cell);
    const int count = __ldg(more);
#pragma unroll 1  // seldom: unrolled it would fill the instruction cache
    for (int k = 1; k <= count; ++k) consider(__ldg(more + k));
  }
  return best;
}

// The point nearest to (i, q), which are |i|, |q| if folded.
template <SearchKind kKind>
__device__ __forceinline__ SearchPoint FindNearest(const NearestView& view, float i, float q) {
  if constexpr (kKind == SearchKind::kOne) {
    return view.points[0];
  } else if constexpr (kKind == SearchKind::kSliced) {
    return view.points[NearestSliced(view, i, q)];
  } else if constexpr (kKind == SearchKind::kGrid) {
    return FindListed(view, i, q);
  } else {
    // The last bits of a distance give way to the number of its point: a comparison is then one
    // minimum. Of two that are equally far to a part in 2^19 either may be taken.
    constexpr uint32_t kNumber = ComparedPoints(kKind) - 1;
    const float mi = -2.0F * i;
    const float mq = -2.0F * q;
    float least = 0.0F;
#pragma unroll
    for (uint32_t k = 0; k <= kNumber; ++k) {
      const uint32_t distance = __float_as_uint(SearchDistance(view.points[k], mi, mq));
      const float numbered = __uint_as_float((distance & ~kNumber) | k);
      least = k == 0 ? numbered : fminf(least, numbered);
    }
    return view.points[__float_as_uint(least) & kNumber];
  }
}

#endif  // __CUDACC__

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_NEAREST_DEVICE_CUH_
