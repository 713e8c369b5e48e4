// What was received, read: the LLRs of one symbol, as they come in any format or made of the
// symbol. Device code.
#ifndef BASEBAND_KERNELS_NR_RECEIVED_LLRS_CUH_
#define BASEBAND_KERNELS_NR_RECEIVED_LLRS_CUH_

#include <cstdint>

#include "kernels/nr/receive_gpu.h"
#include "kernels/nr/receive_math.h"
#include "kernels/nr/transmit_math.h"

namespace baseband::nr::device {

inline constexpr uint32_t kDematchThreads = 512;

// Reads kBytes bytes from any address on, the first in the lowest byte of the first word.
template <int kBytes>
__device__ __forceinline__ void LoadBytes(const uint8_t* from,
                                          uint32_t (&words)[(kBytes + 3) / 4]) {
  constexpr int kWords = (kBytes + 3) / 4;
  const WordsBefore before = WordsOf(from);
  uint32_t low = __ldg(before.words);
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const uint32_t high = __ldg(before.words + i + 1);
    words[i] = FunnelRight(high, low, before.skip);
    low = high;
  }
}

// Brings what was received of a code block near, where it lies together: threads that take a symbol
// after the other wait for each.
__device__ __forceinline__ void Prefetch(const ReceiveTb& tb, uint32_t begin, uint32_t e) {
  uint64_t bits = 16;
  uint32_t count = e;
  uint32_t first = begin;
  if (tb.as_symbols != 0) {
    if (tb.layout.by_layer) return;
    bits = 8 * static_cast<uint32_t>(BytesPerSymbol(tb.layout.format));
    count /= tb.of_long.qm;
    first /= tb.of_long.qm;
  } else if (tb.llr_format != LlrFormat::kInt16 && tb.llr_format != LlrFormat::kFloat16) {
    bits = tb.llr_format == LlrFormat::kInt8 ? 8 : tb.llr_format == LlrFormat::kPacked6 ? 6 : 4;
  }
  constexpr uint32_t kLine = 128;
  const uint8_t* const from = tb.received + bits * first / 8;
  for (uint64_t i = threadIdx.x * kLine; i < bits * count / 8; i += kDematchThreads * kLine) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from + i));
  }
}

__device__ __forceinline__ uint16_t HalfWord(const uint32_t* words, int i) {
  return static_cast<uint16_t>(words[i / 2] >> 16 * (i % 2));
}

// The values of a symbol as floats.
struct SymbolValues {
  float i;
  float q;
};
__device__ __forceinline__ SymbolValues LoadSymbol(const SymbolLayout& layout,
                                                   const uint8_t* symbols, uint64_t place) {
  const uint8_t* const at = symbols + place * static_cast<uint32_t>(BytesPerSymbol(layout.format));
  uint32_t words[2];
  if (layout.format == SymbolFormat::kFloat32) {
    LoadBytes<8>(at, words);
    return {FloatOfBits(words[0]), FloatOfBits(words[1])};
  }
  uint32_t word[1];
  LoadBytes<4>(at, word);
  switch (layout.format) {
    case SymbolFormat::kFloat16:
      return {FloatOfHalf(HalfWord(word, 0)), FloatOfHalf(HalfWord(word, 1))};
    case SymbolFormat::kInt16:
      return {static_cast<float>(static_cast<int16_t>(HalfWord(word, 0))),
              static_cast<float>(static_cast<int16_t>(HalfWord(word, 1)))};
    default:
      return {static_cast<float>(static_cast<int8_t>(word[0] & 0xff)),
              static_cast<float>(static_cast<int8_t>(word[0] >> 8 & 0xff))};
  }
}

__device__ __forceinline__ float LoadVariance(const ReceiveTb& tb, uint64_t place) {
  uint32_t word[1];
  switch (tb.noise_format) {
    case NoiseFormat::kFloat32:
      LoadBytes<4>(tb.noise + 4 * place, word);
      return FloatOfBits(word[0]);
    case NoiseFormat::kFloat16:
      LoadBytes<2>(tb.noise + 2 * place, word);
      return FloatOfHalf(HalfWord(word, 0));
    default:
      return tb.noise_variance;
  }
}

// The exact sums are many instructions, and seldom asked for.
template <int kQm>
__device__ __noinline__ void DemapByLogSums(DemapScale scale, float t_i, float t_q, float gain,
                                            uint32_t index, int8_t* llr) {
  DemapSymbol<kQm, true>(scale, t_i, t_q, gain, index, llr);
}

// The LLRs of symbol `index` of the code word. Returns whether it can be used; else they are 0.
template <int kQm>
__device__ __forceinline__ bool DemapOne(const ReceiveTb& tb, uint32_t index, int8_t (&llr)[kQm]) {
  const uint64_t place = PlaceOf(tb.layout, index);
  const SymbolValues values = LoadSymbol(tb.layout, tb.received, place);
  const float n0 = LoadVariance(tb, place);
  if (!IsFinite(values.i) || !IsFinite(values.q) || !IsVariance(n0)) {
#pragma unroll
    for (int i = 0; i < kQm; ++i) llr[i] = 0;
    return false;
  }
  const float t_i = ToLevel(tb.demap, values.i);
  const float t_q = ToLevel(tb.demap, values.q);
  const float gain = GainOf(tb.demap, n0);
  if (tb.log_sum != 0) {
    int8_t sums[kQm];
    DemapByLogSums<kQm>(tb.demap, t_i, t_q, gain, index, sums);
#pragma unroll
    for (int i = 0; i < kQm; ++i) llr[i] = sums[i];
  } else {
    DemapSymbol<kQm, false>(tb.demap, t_i, t_q, gain, index, llr);
  }
  return true;
}

// LLRs first, .., first + kQm - 1 of a packed row, of kBits bits each.
template <int kBits, int kQm>
__device__ __forceinline__ void LoadPacked(const uint8_t* row, float scale, uint32_t first,
                                           int8_t (&llr)[kQm]) {
  static_assert(kBits * kQm <= 64, "in two words");
  const WordsBefore before = WordsOf(row);
  const uint32_t bit = before.skip + kBits * first;
  const uint32_t* const at = before.words + bit / 32;
  const uint32_t middle = SwapWord(__ldg(at + 1));
  const uint32_t upper = FunnelLeft(SwapWord(__ldg(at)), middle, bit);
  uint32_t lower = 0;
  if constexpr (kBits * kQm > 32) lower = FunnelLeft(middle, SwapWord(__ldg(at + 2)), bit);
#pragma unroll
  for (int i = 0; i < kQm; ++i) {
    const int place = kBits * i;
    const uint32_t from = place >= 32 ? lower << (place - 32)
                          : place + kBits <= 32
                              ? upper << place
                              : FunnelLeft(upper, lower, static_cast<uint32_t>(place));
    llr[i] = ScaledLlr(static_cast<float>(static_cast<int32_t>(from) >> (32 - kBits)), scale);
  }
}

// LLRs first, .., first + kQm - 1 of the transport block. Returns how many are NaN.
template <int kQm>
__device__ __forceinline__ uint32_t LoadLlrs(const ReceiveTb& tb, float scale, uint32_t first,
                                             int8_t (&llr)[kQm]) {
  uint32_t nans = 0;
  switch (tb.llr_format) {
    case LlrFormat::kInt8: {
      uint32_t words[(kQm + 3) / 4];
      LoadBytes<kQm>(tb.received + first, words);
#pragma unroll
      for (int i = 0; i < kQm; ++i) {
        llr[i] = LlrOfInt8(static_cast<int8_t>(words[i / 4] >> 8 * (i % 4) & 0xff));
      }
      break;
    }
    case LlrFormat::kInt16: {
      uint32_t words[(kQm + 1) / 2];
      LoadBytes<2 * kQm>(tb.received + 2 * size_t{first}, words);
#pragma unroll
      for (int i = 0; i < kQm; ++i) {
        llr[i] = ScaledLlr(static_cast<float>(static_cast<int16_t>(HalfWord(words, i))), scale);
      }
      break;
    }
    case LlrFormat::kFloat16: {
      uint32_t words[(kQm + 1) / 2];
      LoadBytes<2 * kQm>(tb.received + 2 * size_t{first}, words);
#pragma unroll
      for (int i = 0; i < kQm; ++i) {
        const float value = FloatOfHalf(HalfWord(words, i));
        nans += IsNan(value) ? 1 : 0;
        llr[i] = ScaledLlr(value, scale);
      }
      break;
    }
    case LlrFormat::kPacked6:
      LoadPacked<6, kQm>(tb.received, scale, first, llr);
      break;
    case LlrFormat::kPacked4:
      LoadPacked<4, kQm>(tb.received, scale, first, llr);
      break;
  }
  return nans;
}

// Sums of magnitudes in shared memory, in 32-bit words: those of 64 bits are added by trying again
// and again, one thread at a time.
struct MagnitudeSums {
  uint32_t low;   // of the lower halves of the threads' sums
  uint32_t high;  // of the upper halves

  __device__ uint64_t Total() const { return (uint64_t{high} << 16) + low; }
};

// Adds the magnitudes of the `count` int16 LLRs of a code block, 2^23 at most, to `sums`. In which
// order does not matter, so that threads take words of two one after the other.
__device__ __forceinline__ void AddMagnitudes(const uint8_t* llrs, uint32_t count,
                                              MagnitudeSums* sums) {
  uint32_t sum = 0;  // 2^14 + 1 LLRs at most
#pragma unroll 4
  for (uint32_t first = 2 * threadIdx.x; first < count; first += 2 * kDematchThreads) {
    uint32_t word[1];
    LoadBytes<4>(llrs + 2 * first, word);
    if (first + 1 == count) word[0] &= 0xffff;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int value = static_cast<int16_t>(HalfWord(word, i));
      sum += static_cast<uint32_t>(value < 0 ? -value : value);
    }
  }
  const uint32_t low = __reduce_add_sync(0xffffffff, sum & 0xffff);
  const uint32_t high = __reduce_add_sync(0xffffffff, sum >> 16);
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&sums->low, low);
    atomicAdd(&sums->high, high);
  }
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_RECEIVED_LLRS_CUH_
