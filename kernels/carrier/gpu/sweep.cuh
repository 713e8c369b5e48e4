// The paper's sweep: for every candidate frequency the sum over the symbols of equation 8. Device
// code of its sources.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_SWEEP_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_SWEEP_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/nearest_device.cuh"
#include "kernels/carrier/gpu/samples.cuh"

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

// Equation 8's term of a corrected symbol: its distance to the nearest point over that point's
// radius. Of one point the distance alone: RadiusFactor does the rest.
template <SearchKind kKind>
__device__ __forceinline__ float EvmOf(const NearestView& view, Iq z) {
  const bool folded = kKind != SearchKind::kGrid || view.folded != 0;
  float i = folded ? fabsf(z.i) : z.i;
  float q = folded ? fabsf(z.q) : z.q;
  if constexpr (kKind == SearchKind::kEight) {
    const float greater = fmaxf(i, q);
    q = fminf(i, q);
    i = greater;
  }
  const SearchPoint point = FindNearest<kKind>(view, i, q);
  const float di = i - point.i;
  const float dq = q - point.q;
  const float distance = FastRoot(fmaf(di, di, dq * dq));
  return kKind == SearchKind::kOne ? distance : distance * point.inverse_radius;
}
template <SearchKind kKind>
__device__ __forceinline__ float RadiusFactor(const NearestView& view) {
  return kKind == SearchKind::kOne ? view.points[0].inverse_radius : 1.0F;
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

// A symbol on its way over the candidates, each turned by the same angle from the one before:
//   u' = u + d, d' = d - alpha u', alpha = 2 - 2 cos(angle),
// half the price of a complex product. Over 16 small angles, and over 8 of any, the error stays
// below 1e-5 of u.
struct SweptSymbol {
  Iq u;
  Iq d;
  float alpha = 0.0F;

  // `onward`: exp(-j angle).
  __device__ __forceinline__ SweptSymbol(Iq first, Iq onward) : u(first) {
    // 1 - cos is a difference that loses digits at small angles, and only there.
    alpha = onward.i > 0.0F ? __fdividef(2.0F * onward.q * onward.q, 1.0F + onward.i)
                            : 2.0F - 2.0F * onward.i;
    d = Multiply(first, {-0.5F * alpha, onward.q});
  }
  __device__ __forceinline__ void GoOn() {
    u = {u.i + d.i, u.q + d.q};
    d = {fmaf(-alpha, u.i, d.i), fmaf(-alpha, u.q, d.q)};
  }
};

// Sums over the part's symbols, in `sums` of each thread of the block. A symbol is placed for the
// first candidate, and from symbol to symbol of a thread that turn goes on by a constant factor.
template <SearchKind kKind, int kCandidates>
__device__ __forceinline__ void AddSweepPart(const SweepPart& part, const NearestView& view,
                                             float (&sums)[kCandidates]) {
  // Symbols whose short searches overlap; long ones would not fit the instruction cache twice.
  constexpr int kTogether = kKind == SearchKind::kOne || kKind == SearchKind::kFour ? 2 : 1;
  const double centre = 0.5 * (part.num_symbols - 1.0);
  const uint64_t per_symbol = Turns64(part.frequency);
  const uint64_t step_per_symbol = Turns64(part.step);
  uint32_t n = part.tile * kSweepTile + threadIdx.x;
  Iq back = TurnedBack(Turns64(-part.frequency * centre) + per_symbol * n);
  back = {back.i * part.inverse_gain, back.q * part.inverse_gain};
  Iq onward = TurnedBack(Turns64(-part.step * centre) + step_per_symbol * n);
  const Iq back_on = TurnedBack(per_symbol * kSweepThreads);
  const Iq onward_on = TurnedBack(step_per_symbol * kSweepThreads);
  const auto read = [&] { return n < part.num_symbols ? part.samples.Read(n) : Iq{}; };
#pragma unroll 1
  for (int k = 0; k < kSweepSymbols; k += kTogether) {
    float counts[kTogether];
    Iq r[kTogether];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      counts[j] = n < part.num_symbols ? 1.0F : 0.0F;
      r[j] = read();
      n += kSweepThreads;
    }
    Iq u[kTogether];
    Iq turns[kTogether];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      u[j] = Multiply(r[j], back);
      turns[j] = onward;
      back = Multiply(back, back_on);
      onward = Multiply(onward, onward_on);
    }
    SweptSymbol first(u[0], turns[0]);
    SweptSymbol last(u[kTogether - 1], turns[kTogether - 1]);
#pragma unroll
    for (int c = 0; c < kCandidates; ++c) {
      const Iq phase = part.phases[c];
      sums[c] = fmaf(counts[0], EvmOf<kKind>(view, Multiply(first.u, phase)), sums[c]);
      first.GoOn();
      if constexpr (kTogether == 2) {
        sums[c] = fmaf(counts[1], EvmOf<kKind>(view, Multiply(last.u, phase)), sums[c]);
        last.GoOn();
      }
    }
  }
  if constexpr (kKind == SearchKind::kOne) {
    const float factor = RadiusFactor<kKind>(view);
#pragma unroll
    for (int c = 0; c < kCandidates; ++c) sums[c] *= factor;
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

#endif  // BASEBAND_KERNELS_CARRIER_GPU_SWEEP_CUH_
