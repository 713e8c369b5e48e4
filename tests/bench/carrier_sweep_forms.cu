#include <algorithm>

#include "tests/bench/carrier_sweep_forms.h"

namespace baseband::bench {
namespace {

using carrier::Iq;
using carrier::kMaxPoints;

struct PaperPoints {
  int count;
  float2 points[kMaxPoints];
};
__constant__ PaperPoints constant_points;
__constant__ PaperPoints constant_quadrant;
__device__ PaperPoints global_points;

// The least distance to `points`, over that point's radius.
__device__ __forceinline__ float LeastOver(const PaperPoints& points, float i, float q) {
  float least = 1e30F;
  float energy = 1.0F;
  const int count = points.count;
  for (int k = 0; k < count; ++k) {
    const float2 point = points.points[k];
    const float di = i - point.x;
    const float dq = q - point.y;
    const float distance = fmaf(di, di, dq * dq);
    if (distance < least) {
      least = distance;
      energy = fmaf(point.x, point.x, point.y * point.y);
    }
  }
  return sqrtf(least) / sqrtf(energy);
}

template <PointsIn kPoints>
__global__ void __launch_bounds__(kPaperBlock) TermKernel(PaperSweep sweep, int first_frame) {
  const int n = static_cast<int>(blockIdx.x * kPaperBlock + threadIdx.x);
  const int k = static_cast<int>(blockIdx.y);
  const int f = static_cast<int>(blockIdx.z);
  if (n >= sweep.num_symbols) return;
  const int frame = first_frame + f;
  const float2 r = sweep.symbols[static_cast<int64_t>(frame) * sweep.num_symbols + n];
  const double frequency = sweep.frequency[frame] + k * sweep.step;
  const double turns =
      frequency * n + sweep.turns[static_cast<int64_t>(frame) * sweep.num_candidates + k];
  float s;
  float c;
  sincospif(static_cast<float>(2.0 * (turns - rint(turns))), &s, &c);
  const float i = fmaf(r.x, c, r.y * s);
  const float q = fmaf(r.y, c, -r.x * s);
  float term;
  if constexpr (kPoints == PointsIn::kGlobal) {
    term = LeastOver(global_points, i, q);
  } else if constexpr (kPoints == PointsIn::kConstant) {
    term = LeastOver(constant_points, i, q);
  } else {
    term = LeastOver(constant_quadrant, fabsf(i), fabsf(q));
  }
  sweep.terms[(static_cast<int64_t>(f) * sweep.num_candidates + k) * sweep.num_symbols + n] = term;
}

// The paper's listings, with the barriers that they lack. A block adds up kPaperBlock numbers, or
// kPaperSeveral times as many.
template <Reduction kReduction>
__global__ void __launch_bounds__(kPaperBlock)
    ReduceKernel(const float* from, int count, float* to, int per_row) {
  __shared__ float values[kPaperBlock];
  const int tid = static_cast<int>(threadIdx.x);
  const float* const row = from + static_cast<int64_t>(blockIdx.y) * count;
  constexpr int kSeveral = kReduction == Reduction::kSeveralAThread ? kPaperSeveral : 1;
  const int begin = static_cast<int>(blockIdx.x) * kPaperBlock * kSeveral + tid;
  float local = 0.0F;
#pragma unroll
  for (int i = 0; i < kSeveral; ++i) {
    const int n = begin + i * kPaperBlock;
    if (n < count) local += row[n];
  }
  values[tid] = local;
  __syncthreads();
  if constexpr (kReduction == Reduction::kBase) {
    for (int stride = 1; stride < kPaperBlock; stride *= 2) {
      if (tid % (2 * stride) == 0) values[tid] += values[tid + stride];
      __syncthreads();
    }
  } else {
    for (int stride = kPaperBlock / 2; stride > 0; stride /= 2) {
      if (tid < stride) values[tid] += values[tid + stride];
      __syncthreads();
    }
  }
  if (tid == 0) to[static_cast<int64_t>(blockIdx.y) * per_row + blockIdx.x] = values[0];
}

template <Reduction kReduction>
void Reduce(const PaperSweep& sweep, int rows, float* sums, cudaStream_t stream) {
  constexpr int kEach =
      kPaperBlock * (kReduction == Reduction::kSeveralAThread ? kPaperSeveral : 1);
  int count = sweep.num_symbols;
  const float* from = sweep.terms;
  float* to = sweep.partials;
  // Passes until one number a row is left; partial sums of the passes alternate.
  for (int pass = 0; count > 1; ++pass) {
    const int blocks = (count + kEach - 1) / kEach;
    float* const target = blocks == 1 ? sums : to;
    // Rows beyond a grid's height go in slices.
    for (int row = 0; row < rows; row += 65535) {
      const dim3 grid(static_cast<unsigned>(blocks),
                      static_cast<unsigned>(std::min(rows - row, 65535)));
      ReduceKernel<kReduction>
          <<<grid, kPaperBlock, 0, stream>>>(from + static_cast<int64_t>(row) * count, count,
                                             target + static_cast<int64_t>(row) * blocks, blocks);
    }
    from = target;
    to = target + static_cast<int64_t>(rows) * blocks;
    count = blocks;
  }
}

}  // namespace

bool SetPaperPoints(const std::vector<Iq>& points) {
  PaperPoints all = {};
  PaperPoints quadrant = {};
  for (const Iq& point : points) {
    all.points[all.count++] = make_float2(point.i, point.q);
    if (point.i >= -1e-6F && point.q >= -1e-6F) {
      quadrant.points[quadrant.count++] = make_float2(point.i, point.q);
    }
  }
  return cudaMemcpyToSymbol(constant_points, &all, sizeof(all)) == cudaSuccess &&
         cudaMemcpyToSymbol(constant_quadrant, &quadrant, sizeof(quadrant)) == cudaSuccess &&
         cudaMemcpyToSymbol(global_points, &all, sizeof(all)) == cudaSuccess &&
         cudaDeviceSynchronize() == cudaSuccess;
}

void RunPaperReduction(const PaperSweep& sweep, Reduction reduction, int rows, float* sums,
                       cudaStream_t stream) {
  switch (reduction) {
    case Reduction::kBase:
      return Reduce<Reduction::kBase>(sweep, rows, sums, stream);
    case Reduction::kNoDivergence:
      return Reduce<Reduction::kNoDivergence>(sweep, rows, sums, stream);
    case Reduction::kSeveralAThread:
      return Reduce<Reduction::kSeveralAThread>(sweep, rows, sums, stream);
  }
}

void RunPaperSweep(const PaperSweep& sweep, PointsIn points, Reduction reduction,
                   cudaStream_t stream) {
  for (int frame = 0; frame < sweep.num_frames; frame += kPaperFramesAtATime) {
    const int frames = std::min(kPaperFramesAtATime, sweep.num_frames - frame);
    const dim3 grid(static_cast<unsigned>((sweep.num_symbols + kPaperBlock - 1) / kPaperBlock),
                    static_cast<unsigned>(sweep.num_candidates), static_cast<unsigned>(frames));
    if (points == PointsIn::kGlobal) {
      TermKernel<PointsIn::kGlobal><<<grid, kPaperBlock, 0, stream>>>(sweep, frame);
    } else if (points == PointsIn::kConstant) {
      TermKernel<PointsIn::kConstant><<<grid, kPaperBlock, 0, stream>>>(sweep, frame);
    } else {
      TermKernel<PointsIn::kConstantFolded><<<grid, kPaperBlock, 0, stream>>>(sweep, frame);
    }
    RunPaperReduction(sweep, reduction, frames * sweep.num_candidates,
                      sweep.sums + static_cast<int64_t>(frame) * sweep.num_candidates, stream);
  }
}

}  // namespace baseband::bench
