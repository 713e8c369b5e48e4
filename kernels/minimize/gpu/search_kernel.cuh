// The search of one piece on a GPU, for any functional: what nvcc compiles around the built-in ones
// and NVRTC around an expression. So it includes nothing, and uses nothing that needs a header.
//
// A block of threads takes one block of points (problem.h) and writes one result; its threads take
// turns, point after point. Value and index travel together through the reduction, so that ties go
// to the lowest index, and nothing but profiles needs an atomic operation.
#ifndef BASEBAND_KERNELS_MINIMIZE_GPU_SEARCH_KERNEL_CUH_
#define BASEBAND_KERNELS_MINIMIZE_GPU_SEARCH_KERNEL_CUH_

namespace baseband {
namespace minimize {

constexpr int kSearchThreads = 128;
constexpr int kSearchMaxAxes = 4;
// So many points of one axis, or fewer of more axes, does a thread evaluate together if a point is
// cheap: the chains of operations of several overlap.
constexpr int kSearchCheapPoints = 4;
constexpr int kSearchMaxExcluded = 63;

// piece.h's BlockResult, field by field.
struct SearchResult {
  double value;
  long long index;
  long long num_nan;
  long long first_nan;
};

struct SearchTask {
  double begin[kSearchMaxAxes];
  double step[kSearchMaxAxes];
  long long count[kSearchMaxAxes];
  long long stride[kSearchMaxAxes];  // kSearchThreads in the grid's mixed radix, by axis
  long long first;                   // of the piece
  long long end;
  long long block_points;
  int is_maximum;
  SearchResult* results;  // by block

  unsigned long long* profile;  // null: none
  int profile_axis;
  long long profile_bins;

  int num_excluded;
  long long separation[kSearchMaxAxes];
  long long excluded[kSearchMaxExcluded];
};

// A point on a thread's way through a block; the next is kSearchThreads further.
template <int kAxes>
struct SearchPoint {
  long long index;
  double last;             // index on the last axis, exact
  long long upper[kAxes];  // indices on the others; the last element is not used
  double x[kAxes];

  SearchPoint() = default;
  __device__ __forceinline__ SearchPoint(const SearchTask& task, long long at) : index(at) {
    long long rest = at;
    if (kAxes > 1) {
      for (int k = kAxes - 1; k >= 0; --k) {
        upper[k] = rest % task.count[k];
        rest /= task.count[k];
        x[k] = Coordinate(task, k, static_cast<double>(upper[k]));
      }
      last = static_cast<double>(upper[kAxes - 1]);
    } else {
      last = static_cast<double>(at);
      x[0] = Coordinate(task, 0, last);
    }
  }

  static __device__ __forceinline__ double Coordinate(const SearchTask& task, int k, double i) {
    return __fma_rn(i, task.step[k], task.begin[k]);  // rounded once: grid.h
  }

  // By `turns` times kSearchThreads; 1 on grids of several axes.
  __device__ __forceinline__ void Advance(const SearchTask& task, int turns) {
    constexpr int kLast = kAxes - 1;
    index += turns * kSearchThreads;
    if (kAxes == 1) {
      last += static_cast<double>(turns * kSearchThreads);
    } else {
      last += static_cast<double>(task.stride[kLast]);
      const double row = static_cast<double>(task.count[kLast]);
      bool carry = last >= row;
      if (carry) last -= row;
      if (carry || task.stride[kLast] != kSearchThreads) {
        for (int k = kLast - 1; k >= 0; --k) {
          upper[k] += task.stride[k] + (carry ? 1 : 0);
          carry = upper[k] >= task.count[k];
          if (carry) upper[k] -= task.count[k];
          x[k] = Coordinate(task, k, static_cast<double>(upper[k]));
        }
      }
    }
    x[kLast] = Coordinate(task, kLast, last);
  }

  // This one, and those that follow it; ends behind them. On one axis no point waits for the one
  // before it.
  template <int kPoints>
  __device__ __forceinline__ void Take(const SearchTask& task, SearchPoint* points) {
#pragma unroll
    for (int u = 0; u < kPoints; ++u) {
      points[u] = *this;
      if (kAxes == 1) {
        if (u > 0) points[u].Advance(task, u);
      } else {
        Advance(task, 1);
      }
    }
    if (kAxes == 1) Advance(task, kPoints);
  }

  // Index on any axis.
  __device__ __forceinline__ long long On(int axis) const {
    if (kAxes == 1) return index;
    if (axis == kAxes - 1) return static_cast<long long>(last);
    long long at = 0;
    for (int k = 0; k < kAxes - 1; ++k) at = k == axis ? upper[k] : at;
    return at;
  }
};

template <int kAxes>
__device__ inline bool SearchIsExcluded(const SearchTask& task, const SearchPoint<kAxes>& point) {
  for (int i = 0; i < task.num_excluded; ++i) {
    long long rest = task.excluded[i];
    bool inside = true;
    for (int k = kAxes - 1; k >= 0; --k) {
      const long long distance = point.On(k) - rest % task.count[k];
      rest /= task.count[k];
      inside = inside && distance < task.separation[k] && -distance < task.separation[k];
    }
    if (inside) return true;
  }
  return false;
}

// ordered_key.h
__device__ inline unsigned long long SearchKey(double value) {
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(value));
  return (bits >> 63) != 0 ? ~bits : bits | 1ull << 63;
}

// The least value of the bin that a thread is in.
struct SearchBin {
  long long begin = 0;  // indices of the axis
  long long end = 0;
  long long bin = -1;
  unsigned long long key = ~0ull;

  __device__ __forceinline__ void Flush(const SearchTask& task) {
    if (bin >= 0 && key != ~0ull) atomicMin(task.profile + bin, key);
  }
  __device__ __forceinline__ void Take(const SearchTask& task, long long i, double value) {
    if (i < begin || i >= end) {
      Flush(task);
      const long long count = task.count[task.profile_axis];
      bin = i * task.profile_bins / count;
      begin = i;
      end = ((bin + 1) * count + task.profile_bins - 1) / task.profile_bins;
      key = ~0ull;
    }
    const unsigned long long mine = SearchKey(value);
    key = mine < key ? mine : key;
  }
  // At the end; all lanes of the warp.
  __device__ __forceinline__ void FlushWarp(const SearchTask& task) {
    const unsigned all = 0xffffffffu;
    if (__all_sync(all, bin == __shfl_sync(all, bin, 0))) {
      for (int lane = 16; lane > 0; lane /= 2) {
        const unsigned long long other = __shfl_xor_sync(all, key, lane);
        key = other < key ? other : key;
      }
      if (threadIdx.x % 32 != 0) return;
    }
    Flush(task);
  }
};

__device__ inline bool SearchIsBetter(const SearchResult& a, const SearchResult& b) {
  if (a.index < 0 || b.index < 0) return b.index < 0 && a.index >= 0;
  return a.value < b.value || (a.value == b.value && a.index < b.index);
}

__device__ inline void SearchMerge(const SearchResult& other, SearchResult* mine) {
  if (SearchIsBetter(other, *mine)) {
    mine->value = other.value;
    mine->index = other.index;
  }
  mine->num_nan += other.num_nan;
  if (other.first_nan >= 0 && (mine->first_nan < 0 || other.first_nan < mine->first_nan)) {
    mine->first_nan = other.first_nan;
  }
}

// Merges what the threads of a block found; thread 0 has the result.
__device__ inline void SearchReduce(SearchResult* mine) {
  const unsigned all = 0xffffffffu;
  for (int lane = 16; lane > 0; lane /= 2) {
    SearchResult other;
    other.value = __shfl_xor_sync(all, mine->value, lane);
    other.index = __shfl_xor_sync(all, mine->index, lane);
    other.num_nan = __shfl_xor_sync(all, mine->num_nan, lane);
    other.first_nan = __shfl_xor_sync(all, mine->first_nan, lane);
    SearchMerge(other, mine);
  }
  __shared__ SearchResult of_warp[kSearchThreads / 32];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = *mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kSearchThreads / 32; ++warp) SearchMerge(of_warp[warp], mine);
  }
}

__device__ __forceinline__ float SearchSigned(float value, float sign) {
  return __fmaf_rn(value, sign, 0.0f);
}
__device__ __forceinline__ double SearchSigned(double value, double sign) {
  return __fma_rn(value, sign, 0.0);
}

// What a thread has found; places are points of the block.
template <typename Real>
struct SearchFound {
  Real best = Real(0);
  int best_at = -1;
  int num_nan = 0;
  int first_nan_at = -1;

  __device__ __forceinline__ void Take(Real value, int at) {
    if (value != value) {
      if (num_nan++ == 0) first_nan_at = at;
    } else if (value < best || best_at < 0) {
      best = value;
      best_at = at;
    }
  }
};

// The kernel's body; kSearchThreads threads. Functor has
//   using Real;  static constexpr int kAxes, kPoints;
//   void operator()(const SearchPoint<kAxes>* points, Real* values): values of kPoints points.
// Points past the end of the piece are evaluated, too, and ignored.
//
// Most points are neither better than the best so far nor remarkable in another way: one comparison
// each, and one branch for kPoints of them, is all that they cost.
template <typename Functor>
__device__ __forceinline__ void SearchBlock(const SearchTask& task, const Functor& functor) {
  using Real = typename Functor::Real;
  constexpr int kAxes = Functor::kAxes;
  constexpr int kPoints = Functor::kPoints;
  const long long block = task.first / task.block_points + blockIdx.x;
  long long begin = block * task.block_points;
  long long end = begin + task.block_points;
  begin = begin < task.first ? task.first : begin;
  end = end < task.end ? end : task.end;

  const int size = static_cast<int>(end - begin);
  const bool looks_at_all = task.num_excluded != 0 || task.profile != nullptr;
  const Real sign = task.is_maximum != 0 ? Real(-1) : Real(1);
  SearchFound<Real> found;
  SearchBin bin;
  int at = static_cast<int>(threadIdx.x);
  if (at < size) {
    SearchPoint<kAxes> point(task, begin + at);
    for (; at < size; at += kPoints * kSearchThreads) {
      SearchPoint<kAxes> points[kPoints];
      point.template Take<kPoints>(task, points);
      Real values[kPoints];
      functor(points, values);
      bool looks = looks_at_all || found.best_at < 0 || at >= size - (kPoints - 1) * kSearchThreads;
#pragma unroll
      for (int u = 0; u < kPoints; ++u) {
        values[u] = SearchSigned(values[u], sign);
        looks = looks || !(values[u] >= found.best);
      }
      if (!looks) continue;
#pragma unroll
      for (int u = 0; u < kPoints; ++u) {
        const int place = at + u * kSearchThreads;
        if (kPoints > 1 && place >= size) continue;
        if (task.num_excluded != 0 && SearchIsExcluded(task, points[u])) continue;
        found.Take(values[u], place);
        if (task.profile != nullptr && values[u] == values[u]) {
          bin.Take(task, points[u].On(task.profile_axis), static_cast<double>(values[u]));
        }
      }
    }
  }
  if (task.profile != nullptr) bin.FlushWarp(task);
  SearchResult mine;
  mine.value = static_cast<double>(found.best);
  mine.index = found.best_at < 0 ? -1 : begin + found.best_at;
  mine.num_nan = found.num_nan;
  mine.first_nan = found.first_nan_at < 0 ? -1 : begin + found.first_nan_at;
  SearchReduce(&mine);
  if (threadIdx.x == 0) task.results[blockIdx.x] = mine;
}

}  // namespace minimize
}  // namespace baseband

#endif  // BASEBAND_KERNELS_MINIMIZE_GPU_SEARCH_KERNEL_CUH_
