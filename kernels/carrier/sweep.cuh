// The paper's sweep: for every candidate frequency the sum over the symbols of equation 8. Device
// code of sweep.cu and of the bench that compares it with the paper's own forms.
#ifndef BASEBAND_KERNELS_CARRIER_SWEEP_CUH_
#define BASEBAND_KERNELS_CARRIER_SWEEP_CUH_

#include <cstdint>

#include "kernels/carrier/nearest_device.cuh"
#include "kernels/carrier/samples.cuh"

namespace baseband::carrier {

// A thread block measures a few neighbouring candidates on the symbols of one sweep tile.
inline constexpr int kSweepThreads = 256;
inline constexpr int kSweepWarps = kSweepThreads / 32;
inline constexpr int kSweepSymbols = 8;  // of a thread
inline constexpr int kSweepTile = kSweepThreads * kSweepSymbols;
// Candidates at a time: enough of them to pay for the two sines that place a symbol, few enough
// for their unrolled searches to stay in the instruction cache.
BASEBAND_HOST_DEVICE constexpr int CandidatesAtATime(SearchKind kind) {
  return kind == SearchKind::kOne ? 16 : 8;
}

__device__ __forceinline__ float FastSqrt(float x) {
  float root;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}

// Equation 8's term of a corrected symbol: its distance to the nearest point over that point's
// radius.
template <SearchKind kKind>
__device__ __forceinline__ float EvmOf(const NearestView& view, Iq z) {
  const bool folded = kKind != SearchKind::kGrid || view.folded != 0;
  const float i = folded ? fabsf(z.i) : z.i;
  const float q = folded ? fabsf(z.q) : z.q;
  const SearchPoint point = FindNearest<kKind>(view, i, q);
  const float di = i - point.i;
  const float dq = q - point.q;
  return FastSqrt(fmaf(di, di, dq * dq)) * point.inverse_radius;
}

// What a block is to measure: candidates first .. first + kCandidates - 1 of one frame, on the
// symbols of one tile.
struct SweepPart {
  Samples samples;
  uint32_t num_symbols = 0;
  uint32_t tile = 0;
  double frequency = 0.0;  // of the first candidate
  double step = 0.0;
  float inverse_gain = 1.0F;
  const Iq* phases = nullptr;  // exp(-j phase at the centre) of each candidate
};

// Sums over the part's symbols, in `sums` of each thread of the block. A symbol is placed for the
// first candidate and then goes from one to the next by a factor exp(-j 2 pi step (n - c)) of its
// own: two complex products an evaluation (that, and the candidate's phase) and no sine.
template <SearchKind kKind, int kCandidates>
__device__ __forceinline__ void AddSweepPart(const SweepPart& part, const NearestView& view,
                                             float (&sums)[kCandidates]) {
  // Symbols whose short searches overlap; long ones would not fit the instruction cache twice.
  constexpr int kTogether = kKind == SearchKind::kOne || kKind == SearchKind::kFour ? 2 : 1;
  const double centre = 0.5 * (part.num_symbols - 1.0);
  const uint64_t start = Turns64(-part.frequency * centre);
  const uint64_t per_symbol = Turns64(part.frequency);
  const uint64_t step_start = Turns64(-part.step * centre);
  const uint64_t step_per_symbol = Turns64(part.step);
  for (int k = 0; k < kSweepSymbols; k += kTogether) {
    Iq u[kTogether];
    Iq onward[kTogether];
    float counts[kTogether];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      const uint32_t n =
          part.tile * kSweepTile + threadIdx.x + static_cast<uint32_t>(k + j) * kSweepThreads;
      const bool is_symbol = n < part.num_symbols;
      const Iq r = is_symbol ? part.samples.Read(n) : Iq{};
      u[j] = Multiply({r.i * part.inverse_gain, r.q * part.inverse_gain},
                      TurnedBack(start + per_symbol * n));
      onward[j] = TurnedBack(step_start + step_per_symbol * n);
      counts[j] = is_symbol ? 1.0F : 0.0F;
    }
#pragma unroll
    for (int c = 0; c < kCandidates; ++c) {
      const Iq phase = part.phases[c];
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
        sums[c] = fmaf(counts[j], EvmOf<kKind>(view, Multiply(u[j], phase)), sums[c]);
        u[j] = Multiply(u[j], onward[j]);
      }
    }
  }
}

// Adds up `sums` over the block in a fixed order. Thread c < kCandidates is given the total of
// candidate c. `scratch` is shared memory.
template <int kCandidates>
__device__ __forceinline__ float SumOfSweepBlock(float (&sums)[kCandidates],
                                                 float (*scratch)[kCandidates]) {
  const unsigned lane = threadIdx.x % 32;
  const float sum = SumOfWarp<kCandidates>(sums, lane);
  constexpr unsigned kLanesPerSum = 32 / kCandidates;
  if (lane % kLanesPerSum == 0) scratch[threadIdx.x / 32][lane / kLanesPerSum] = sum;
  __syncthreads();
  float total = 0.0F;
  if (threadIdx.x < kCandidates) {
    for (int warp = 0; warp < kSweepWarps; ++warp) {
      total += scratch[warp][threadIdx.x];
    }
  }
  return total;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_SWEEP_CUH_
