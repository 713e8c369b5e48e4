// The Gold sequence made by a thread block, words at a time. What it is: scrambling_math.h.
// Device code.
#ifndef BASEBAND_KERNELS_NR_GOLD_CUH_
#define BASEBAND_KERNELS_NR_GOLD_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/nr/scrambling_math.h"

namespace baseband::nr::device {

// Words that the recurrence of words starts from.
inline constexpr uint32_t kGoldStart = 31;

struct GoldTables {
  static constexpr int kDigits = 4;  // of a place below 2^24
  static constexpr int kDigitBits = 6;
  GoldJump digit[kDigits][1 << kDigitBits];  // by v << 6 d
  GoldJump word[32];                         // by 32 l
};
constexpr GoldTables MakeGoldTables() {
  GoldTables tables = {};
  for (int d = 0; d < GoldTables::kDigits; ++d) {
    for (uint64_t v = 0; v < 1 << GoldTables::kDigitBits; ++v) {
      tables.digit[d][v] = JumpBy(v << d * GoldTables::kDigitBits);
    }
  }
  for (uint64_t l = 0; l < 32; ++l) tables.word[l] = JumpBy(32 * l);
  return tables;
}
__device__ constexpr GoldTables kGoldTables = MakeGoldTables();

// What 64 bits of a sequence are after a jump, as a state; by a warp, which takes a term a lane.
__device__ __forceinline__ uint32_t JumpOfWarp(uint64_t bits, uint32_t jump) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t term = (jump >> lane & 1) != 0 ? static_cast<uint32_t>(bits >> lane) : 0;
  return __reduce_xor_sync(0xffffffff, term) & kGoldMask;
}

// Words [0, size) of both registers' sequences in shared memory, from some bit of the code word on.
// All threads of the thread block take part in what changes them, of which there are 64 or more.
class GoldWords {
 public:
  // Takes SharedWords(size) words at `words`; size >= kGoldStart.
  __device__ GoldWords(uint32_t* words, uint32_t size)
      : x1_(words), x2_(words + SharedWords(size) / 2), size_(size) {}
  // So that both begin where a uint4 may.
  BASEBAND_HOST_DEVICE static constexpr uint32_t SharedWords(uint32_t size) {
    return 2 * ((size + 3) / 4 * 4);
  }

  // 32 bits of the scrambling sequence, the first one at the top.
  __device__ __forceinline__ uint32_t operator[](uint32_t i) const {
    return __brev(x1_[i] ^ x2_[i]);
  }

  // Scrambles `words`, which are words i, .. of the piece, by as few loads as may be: `i` is a
  // multiple of kCount, and `words` given to this are aligned to 16 bytes.
  template <int kCount>
  __device__ __forceinline__ void Scramble(uint32_t i, uint32_t (&words)[kCount]) const {
    using Part = std::conditional_t<kCount % 4 == 0, uint4,
                                    std::conditional_t<kCount % 2 == 0, uint2, uint32_t>>;
    constexpr int kOfPart = sizeof(Part) / 4;
#pragma unroll
    for (int part = 0; part < kCount / kOfPart; ++part) {
      union {
        Part all;
        uint32_t each[kOfPart];
      } x1, x2;
      x1.all = reinterpret_cast<const Part*>(x1_ + i)[part];
      x2.all = reinterpret_cast<const Part*>(x2_ + i)[part];
#pragma unroll
      for (int w = 0; w < kOfPart; ++w) {
        words[part * kOfPart + w] ^= __brev(x1.each[w] ^ x2.each[w]);
      }
    }
  }

  // Makes word 0 begin with c(first_bit), and waits for all words. first_bit < 2^23.
  __device__ void Begin(uint32_t c_init, uint32_t first_bit) {
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t place = first_bit + kGoldSkip;
    if (warp == 0) {
      uint32_t state = 1;
#pragma unroll
      for (int d = 0; d < GoldTables::kDigits; ++d) {
        state = JumpOfWarp(ExtendX1(state), __ldg(&kGoldTables.digit[d][Digit(place, d)].x1));
      }
      state = ApplyJump(ExtendX1(state), __ldg(&kGoldTables.word[lane].x1));
      if (lane < kGoldStart) x1_[lane] = static_cast<uint32_t>(ExtendX1(state));
    } else if (warp == 1) {
      uint32_t state = c_init & kGoldMask;
#pragma unroll
      for (int d = 0; d < GoldTables::kDigits; ++d) {
        state = JumpOfWarp(ExtendX2(state), __ldg(&kGoldTables.digit[d][Digit(place, d)].x2));
      }
      state = ApplyJump(ExtendX2(state), __ldg(&kGoldTables.word[lane].x2));
      if (lane < kGoldStart) x2_[lane] = static_cast<uint32_t>(ExtendX2(state));
    }
    __syncthreads();
    Extend();
  }

  // Makes word 0 what word size - kGoldStart was, and waits for all words. size >= 2 kGoldStart.
  __device__ void GoOn() {
    if (threadIdx.x < kGoldStart) {
      x1_[threadIdx.x] = x1_[size_ - kGoldStart + threadIdx.x];
      x2_[threadIdx.x] = x2_[size_ - kGoldStart + threadIdx.x];
    }
    __syncthreads();
    Extend();
  }

 private:
  __device__ __forceinline__ static uint32_t Digit(uint32_t place, int d) {
    return place >> d * GoldTables::kDigitBits & ((1 << GoldTables::kDigitBits) - 1);
  }

  // The rule of words, squared as often as there are words enough: 28 2^k words follow from the
  // 31 2^k before.
  __device__ void Extend() {
    uint32_t unit = 1;  // 2^k
    for (uint32_t have = kGoldStart; have < size_;) {
      while (2 * unit * kGoldStart <= have) unit *= 2;
      const uint32_t end = min(have + 28 * unit, size_);
      for (uint32_t i = have + threadIdx.x; i < end; i += blockDim.x) {
        const uint32_t* const a = x1_ + i;
        const uint32_t* const b = x2_ + i;
        const auto back = [unit](uint32_t n) { return -static_cast<int>(n * unit); };
        x1_[i] = a[back(28)] ^ a[back(31)];
        x2_[i] = b[back(28)] ^ b[back(29)] ^ b[back(30)] ^ b[back(31)];
      }
      have = end;
      __syncthreads();
    }
  }

  uint32_t* x1_;
  uint32_t* x2_;
  uint32_t size_;
};

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_GOLD_CUH_
