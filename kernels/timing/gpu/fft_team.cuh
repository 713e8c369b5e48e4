// FFTs of 64 to 4096 points by teams of an FFT's sixteenth threads, 16 values each.
//
// Stockham's form, radix 16 and whatever is left last: thread t of T = points / 16 begins with
// x[t + T r] and ends with X[t + T m], r and m < 16, in natural order. Between the passes the
// values change places through shared memory, where 16 are followed by a gap, so that no two
// threads of half a warp want the same bank.
#ifndef BASEBAND_KERNELS_TIMING_GPU_FFT_TEAM_CUH_
#define BASEBAND_KERNELS_TIMING_GPU_FFT_TEAM_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/carrier/constellation.h"
#include "kernels/carrier/math/line_math.h"

namespace baseband::timing {

inline constexpr int kFftValues = 16;  // of a thread

__device__ __forceinline__ carrier::Iq Sum(carrier::Iq a, carrier::Iq b) {
  return {a.i + b.i, a.q + b.q};
}
__device__ __forceinline__ carrier::Iq Difference(carrier::Iq a, carrier::Iq b) {
  return {a.i - b.i, a.q - b.q};
}

// v exp(-j 2 pi k / 16), `k` known when compiled.
__device__ __forceinline__ carrier::Iq TurnedSixteenths(carrier::Iq v, int k) {
  constexpr float kC1 = 0.923879533F;
  constexpr float kC2 = 0.707106781F;
  constexpr float kC3 = 0.382683432F;
  const carrier::Iq quarters = (k & 4) != 0 ? carrier::Iq{v.q, -v.i} : v;
  const carrier::Iq u = (k & 8) != 0 ? carrier::Iq{-quarters.i, -quarters.q} : quarters;
  switch (k & 3) {
    case 0:
      return u;
    case 1:
      return carrier::Multiply(u, {kC1, -kC3});
    case 2:
      return {kC2 * (u.i + u.q), kC2 * (u.q - u.i)};
    default:
      return carrier::Multiply(u, {kC3, -kC1});
  }
}

// In place, in natural order.
__device__ __forceinline__ void Dft4(carrier::Iq& a, carrier::Iq& b, carrier::Iq& c,
                                     carrier::Iq& d) {
  const carrier::Iq even = Sum(a, c);
  const carrier::Iq odd = Difference(a, c);
  const carrier::Iq other = Sum(b, d);
  const carrier::Iq across = Difference(b, d);
  const carrier::Iq turned = {across.q, -across.i};
  a = Sum(even, other);
  b = Sum(odd, turned);
  c = Difference(even, other);
  d = Difference(odd, turned);
}

// kRadix values v[first + kApart k].
template <int kRadix, int kApart>
__device__ __forceinline__ void Dft(carrier::Iq (&v)[kFftValues], int first) {
  if constexpr (kRadix == 2) {
    const carrier::Iq a = v[first];
    const carrier::Iq b = v[first + kApart];
    v[first] = Sum(a, b);
    v[first + kApart] = Difference(a, b);
  } else if constexpr (kRadix == 4) {
    Dft4(v[first], v[first + kApart], v[first + 2 * kApart], v[first + 3 * kApart]);
  } else {
    // kRadix = kOuter * 4.
    constexpr int kOuter = kRadix / 4;
    carrier::Iq part[kRadix];
#pragma unroll
    for (int n = 0; n < kOuter; ++n) {
      carrier::Iq x[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) x[k] = v[first + kApart * (n + kOuter * k)];
      Dft4(x[0], x[1], x[2], x[3]);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        part[n + kOuter * k] = TurnedSixteenths(x[k], n * k * (16 / kRadix));
      }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      carrier::Iq* const x = part + kOuter * k;
      if constexpr (kOuter == 4) {
        Dft4(x[0], x[1], x[2], x[3]);
      } else {
        const carrier::Iq a = x[0];
        x[0] = Sum(a, x[1]);
        x[1] = Difference(a, x[1]);
      }
#pragma unroll
      for (int m = 0; m < kOuter; ++m) v[first + kApart * (k + 4 * m)] = x[m];
    }
  }
}

// v[first + kApart k] times w^k.
template <int kRadix, int kApart>
__device__ __forceinline__ void Twist(carrier::Iq (&v)[kFftValues], int first, carrier::Iq w) {
  carrier::Iq powers[kRadix];
  powers[1] = w;
#pragma unroll
  for (int k = 2; k < kRadix; ++k) powers[k] = carrier::Multiply(powers[k / 2], powers[k - k / 2]);
#pragma unroll
  for (int k = 1; k < kRadix; ++k) {
    v[first + kApart * k] = carrier::Multiply(v[first + kApart * k], powers[k]);
  }
}

template <int kPoints>
class FftTeam {
 public:
  static constexpr int kThreads = kPoints / kFftValues;
  static constexpr int kBlock = kThreads > 128 ? kThreads : 128;  // threads of a block
  static constexpr int kTeams = kBlock / kThreads;                // of a block
  static constexpr int kMemory = kPoints + kPoints / 16;          // values of shared memory

  // `memory` is the team's own; all teams of a block work in step.
  __device__ FftTeam(float2* memory, int thread)
      : memory_(memory),
        thread_(thread),
        middle_(RootOf(thread % 16, 256)),
        last_(RootOf(thread, kPoints)) {}

  // Teams meet, or those of a warp.
  __device__ static void Sync() {
    if constexpr (kThreads <= 32) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
  // Whether it is so for any thread of those that meet.
  __device__ static bool Any(bool so) {
    if constexpr (kThreads <= 32) {
      return __any_sync(0xffffffffU, so ? 1 : 0) != 0;
    } else {
      return __syncthreads_or(so ? 1 : 0) != 0;
    }
  }

  // Leaves the spectrum in `v` and in shared memory, see At. Before the next one the team must
  // Sync.
  __device__ __forceinline__ void Transform(carrier::Iq (&v)[kFftValues]) {
    Dft<16, 1>(v, 0);
#pragma unroll
    for (int r = 0; r < kFftValues; ++r) memory_[17 * thread_ + r] = {v[r].i, v[r].q};
    Sync();
    Read(v);
    if constexpr (kPoints > 256) {
      Twist<16, 1>(v, 0, middle_);
      Dft<16, 1>(v, 0);
      Sync();
      float2* const to = memory_ + thread_ / 16 * (256 + 16) + thread_ % 16;
#pragma unroll
      for (int r = 0; r < kFftValues; ++r) to[17 * r] = {v[r].i, v[r].q};
      Sync();
      Read(v);
    }
    constexpr int kLast = kPoints > 256 ? kPoints / 256 : kPoints / 16;  // radix
    constexpr int kApart = kFftValues / kLast;
#pragma unroll
    for (int i = 0; i < kApart; ++i) {
      Twist<kLast, kApart>(v, i, TurnedSixteenths(last_, i));
      Dft<kLast, kApart>(v, i);
    }
    Sync();
#pragma unroll
    for (int m = 0; m < kFftValues; ++m) memory_[Place(m)] = {v[m].i, v[m].q};
    Sync();
  }

  // X[k], 0 <= k < kPoints.
  __device__ __forceinline__ carrier::Iq At(int k) const { return Load(k + (k >> 4)); }

 private:
  __device__ __forceinline__ carrier::Iq Load(int at) const {
    const float2 value = memory_[at];
    return {value.x, value.y};
  }
  // exp(-j 2 pi k / points).
  __device__ static carrier::Iq RootOf(int k, int points) {
    float s;
    float c;
    sincospif(2.0F * static_cast<float>(k) / static_cast<float>(points), &s, &c);
    return {c, -s};
  }
  // Of thread + kThreads r: the gaps before it are those before kThreads r and, in larger teams,
  // before the thread.
  __device__ __forceinline__ int Place(int r) const {
    const int before = kThreads >= 16 ? thread_ + (thread_ >> 4) : thread_;
    return before + kThreads * r + (kThreads * r >> 4);
  }
  __device__ __forceinline__ void Read(carrier::Iq (&v)[kFftValues]) const {
#pragma unroll
    for (int r = 0; r < kFftValues; ++r) v[r] = Load(Place(r));
  }

  float2* memory_;
  int thread_;
  carrier::Iq middle_;
  carrier::Iq last_;
};

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_GPU_FFT_TEAM_CUH_
