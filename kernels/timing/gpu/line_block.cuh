// What the threads of a block that search one frame's line do together.
#ifndef BASEBAND_KERNELS_TIMING_GPU_LINE_BLOCK_CUH_
#define BASEBAND_KERNELS_TIMING_GPU_LINE_BLOCK_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/carrier/gpu/team.cuh"

namespace baseband::timing {

// Of the greatest value: the lowest index.
struct Greatest {
  double value = -1.0;
  int index = 0;

  __device__ void Take(double other, int other_index) {
    if (other > value || (other == value && other_index < index)) {
      value = other;
      index = other_index;
    }
  }
};

template <int kThreads>
class LineThreads {
 public:
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kMaxSums = 8;
  struct Memory {
    double sums[kWarps][kMaxSums];
    Greatest greatest[kWarps];
  };

  __device__ explicit LineThreads(Memory* memory) : memory_(memory) {}

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int warp() { return thread() / 32; }
  __device__ static int lane() { return thread() % 32; }

  // Sums over all threads; all of them get the same.
  template <int kCount>
  __device__ void SumAll(double (&values)[kCount]) const {
    static_assert(kCount <= kMaxSums);
    carrier::SumDoubles(values);
    if constexpr (kWarps > 1) {
      if (lane() == 0) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) memory_->sums[warp()][i] = values[i];
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        values[i] = 0.0;
        for (int w = 0; w < kWarps; ++w) values[i] += memory_->sums[w][i];
      }
      __syncthreads();
    }
  }

  // The greatest of what the lanes 0 of all warps have; all threads get it.
  __device__ Greatest GreatestOf(Greatest of_warp) const {
    if (lane() == 0) memory_->greatest[warp()] = of_warp;
    __syncthreads();
    Greatest best = memory_->greatest[0];
    for (int w = 1; w < kWarps; ++w) {
      best.Take(memory_->greatest[w].value, memory_->greatest[w].index);
    }
    __syncthreads();
    return best;
  }

 private:
  Memory* memory_;
};

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_GPU_LINE_BLOCK_CUH_
