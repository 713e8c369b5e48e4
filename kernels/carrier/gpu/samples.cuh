// Received symbols as they lie in memory, and the carrier that turns them back.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_SAMPLES_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_SAMPLES_CUH_

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/carrier/gpu/team.cuh"
#include "kernels/carrier/math/line_math.h"
#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/recover_gpu.h"

namespace baseband::carrier {

// x in [0, 2^23) as a whole number and what is left of it. Conversions to integers run at a quarter
// of the rate of the additions that take their place here.
struct Floored {
  uint32_t whole = 0;  // above bit 22 nothing of it
  float rest = 0.0F;
};
__device__ __forceinline__ Floored FloorOf(float x) {
  constexpr float kWholes = 8388608.0F;  // 2^23: floats from there on are whole
  const float moved = __fadd_rd(x, kWholes);
  return {__float_as_uint(moved), x - (moved - kWholes)};
}

// To 1e-7 of the root.
__device__ __forceinline__ float FastRoot(float x) {
  float root;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}
__device__ __forceinline__ float FastInverseRoot(float x) {
  float root;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}

// A frame's symbols.
struct Samples {
  const uint8_t* data = nullptr;
  SampleFormat format = SampleFormat::kFloat32;
  float scale = 1.0F;

  __device__ Iq Read(uint32_t n) const {
    switch (format) {
      case SampleFormat::kFloat16: {
        const float2 value = __half22float2(reinterpret_cast<const __half2*>(data)[n]);
        return {value.x * scale, value.y * scale};
      }
      case SampleFormat::kInt16: {
        const short2 value = reinterpret_cast<const short2*>(data)[n];
        return {static_cast<float>(value.x) * scale, static_cast<float>(value.y) * scale};
      }
      default:
        break;
    }
    // A frame may begin at any multiple of 4, half way through an 8-byte word.
    const auto* const parts = reinterpret_cast<const float*>(data) + 2 * static_cast<size_t>(n);
    if (reinterpret_cast<uintptr_t>(data) % 8 != 0) return {parts[0] * scale, parts[1] * scale};
    const float2 value = *reinterpret_cast<const float2*>(parts);
    return {value.x * scale, value.y * scale};
  }

  // Has the tile that begins with symbol `begin` brought to the second cache, by one warp.
  __device__ __forceinline__ void FetchTile(uint32_t begin, uint32_t num_symbols) const {
    const uint32_t n = begin + threadIdx.x % 32 * kTileLanes;
    if (n >= num_symbols) return;
    const uint8_t* const at =
        data + static_cast<size_t>(n) * (format == SampleFormat::kFloat32 ? 8 : 4);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(at)));
  }

  // The lane's symbols of a tile: first + 32 k; zero where there is none. All loads are under way
  // before the first is waited for.
  __device__ __forceinline__ void ReadTile(uint32_t first, uint32_t num_symbols,
                                           Iq (&symbols)[kTileLanes]) const {
    // What most frames are, without a question for each symbol.
    if (format == SampleFormat::kFloat32 && reinterpret_cast<uintptr_t>(data) % 8 == 0) {
      const auto* const values = reinterpret_cast<const float2*>(data) + first;
      if (first + (kTile - 32) < num_symbols) {
#pragma unroll
        for (int k = 0; k < kTileLanes; ++k) {
          const float2 value = __ldg(values + 32 * k);
          symbols[k] = {value.x * scale, value.y * scale};
        }
        return;
      }
#pragma unroll
      for (int k = 0; k < kTileLanes; ++k) {
        const bool is_symbol = first + 32 * static_cast<uint32_t>(k) < num_symbols;
        const float2 value = is_symbol ? __ldg(values + 32 * k) : make_float2(0.0F, 0.0F);
        symbols[k] = {value.x * scale, value.y * scale};
      }
      return;
    }
#pragma unroll
    for (int k = 0; k < kTileLanes; ++k) {
      const uint32_t n = first + 32 * static_cast<uint32_t>(k);
      symbols[k] = n < num_symbols ? Read(n) : Iq{};
    }
  }
};

// Which symbols of a tile are known. By a whole warp.
struct KnownOfTile {
  unsigned bits = 0;  // bit k: the lane's symbol first + 32 k
  bool any = false;   // of any lane

  __device__ __forceinline__ explicit KnownOfTile(unsigned of_lane)
      : bits(of_lane), any(__any_sync(0xffffffffU, of_lane != 0 ? 1 : 0) != 0) {}

  // The first symbol of the lane's that are left, and the others.
  __device__ __forceinline__ uint32_t Take(uint32_t first) {
    const int k = __ffs(static_cast<int>(bits)) - 1;
    bits &= bits - 1;
    return first + 32 * static_cast<uint32_t>(k);
  }
};

// Bytes of a frame's KnownView::tiles.
BASEBAND_HOST_DEVICE inline uint32_t KnownRow(uint32_t num_symbols) {
  return (num_symbols + kTile - 1) / kTile * 32;
}

// The symbols of a frame that are known, (0, 0) being none, and where they are.
struct KnownView {
  const Iq* symbols = nullptr;  // null: nothing is known
  uint8_t* tiles = nullptr;     // [tile][lane]: KnownOfTile::bits; S1 writes them

  __device__ explicit operator bool() const { return symbols != nullptr; }

  // From the symbols themselves. All loads are under way before the first is waited for.
  __device__ __forceinline__ KnownOfTile Look(uint32_t first, uint32_t num_symbols) const {
    const auto* const values = reinterpret_cast<const float2*>(symbols) + first;
    unsigned bits = 0;
#pragma unroll
    for (int k = 0; k < kTileLanes; ++k) {
      const bool is_symbol = first + 32 * static_cast<uint32_t>(k) < num_symbols;
      const float2 value = is_symbol ? __ldg(values + 32 * k) : make_float2(0.0F, 0.0F);
      if (value.x != 0.0F || value.y != 0.0F) bits |= 1U << k;
    }
    return KnownOfTile(bits);
  }
  __device__ __forceinline__ void Keep(uint32_t first, unsigned bits) const {
    tiles[PlaceOf(first)] = static_cast<uint8_t>(bits);
  }
  // By `threads` threads, each with its `thread`.
  __device__ __forceinline__ void KeepNone(unsigned thread, unsigned threads,
                                           uint32_t num_symbols) const {
    const uint32_t end = KnownRow(num_symbols);
    for (uint32_t place = thread; place < end; place += threads) tiles[place] = 0;
  }
  // As it was kept; nothing of a tile beyond the frame.
  __device__ __forceinline__ KnownOfTile Tile(uint32_t first, uint32_t num_symbols) const {
    return KnownOfTile(symbols == nullptr || first >= num_symbols ? 0U : tiles[PlaceOf(first)]);
  }
  // (0, 0) if symbol n is not known.
  __device__ __forceinline__ Iq At(uint32_t n) const {
    if (symbols == nullptr) return {};
    const unsigned bits = tiles[PlaceOf(n)];
    return (bits >> (n % kTile / 32) & 1U) != 0 ? symbols[n] : Iq{};
  }

 private:
  __device__ static uint32_t PlaceOf(uint32_t n) { return n / kTile * 32 + n % 32; }
};

// Writes symbols in the format and scale of the input.
struct SampleWriter {
  uint8_t* data = nullptr;
  SampleFormat format = SampleFormat::kFloat32;
  float inverse_scale = 1.0F;

  __device__ void Write(uint32_t n, Iq value) const {
    const float i = value.i * inverse_scale;
    const float q = value.q * inverse_scale;
    if (format == SampleFormat::kFloat16) {
      reinterpret_cast<__half2*>(data)[n] = __floats2half2_rn(i, q);
    } else if (format == SampleFormat::kInt16) {
      reinterpret_cast<short2*>(data)[n] = make_short2(Saturated(i), Saturated(q));
    } else if (reinterpret_cast<uintptr_t>(data) % 8 == 0) {
      reinterpret_cast<float2*>(data)[n] = make_float2(i, q);
    } else {
      auto* const parts = reinterpret_cast<float*>(data) + 2 * static_cast<size_t>(n);
      parts[0] = i;
      parts[1] = q;
    }
  }

 private:
  __device__ static short Saturated(float value) {
    return static_cast<short>(__float2int_rn(fminf(fmaxf(value, -32768.0F), 32767.0F)));
  }
};

// Turns in units of 2^-64: what exceeds a turn falls off by itself.
__device__ inline uint64_t Turns64(double turns) {
  // |turns - rint| <= 1/2; 2^64 times that as two halves, since no conversion takes 2^63 itself.
  const double rest = turns - rint(turns);
  return static_cast<uint64_t>(static_cast<int64_t>(rest * 0x1p62)) << 2;
}

// exp(-j 2 pi turns / 2^64), within 2e-7.
__device__ inline Iq TurnedBack(uint64_t turns) {
  float s;
  float c;
  sincospif(static_cast<float>(static_cast<int32_t>(turns >> 32)) * 0x1p-31F, &s, &c);
  return {c, -s};
}

// exp(-j 2 pi (frequency (n - c) + phase)) along a frame: exact at the lane's first symbol of a
// tile, from there on turned by a constant for each 32 symbols. Seven such steps add less than
// 1e-6.
class Rotor {
 public:
  // Turns in double, so `frequency` resolves 2^-53 of a turn at any symbol.
  __device__ Rotor(double frequency, double phase, uint32_t num_symbols)
      : start_(Turns64(phase - frequency * (0.5 * (num_symbols - 1.0)))),
        step_(Turns64(frequency)),
        step32_(TurnedBack(32 * step_)) {}

  __device__ Iq At(uint32_t n) const { return TurnedBack(start_ + step_ * n); }
  // The lane's symbol 32 further on in the tile, given this one's.
  __device__ Iq Next(Iq at) const { return Multiply(at, step32_); }

 private:
  uint64_t start_;
  uint64_t step_;
  Iq step32_;
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_SAMPLES_CUH_
