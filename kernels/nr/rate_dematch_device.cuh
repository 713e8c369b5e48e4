// Receiving one code block by a thread block. Threads take symbols: they read or make the LLRs of
// one, turn their signs by the scrambling sequence, and bring each to its place in the soft bits,
// which lie in shared memory until all are there. Where a bit is sent several times, 32-bit sums
// lie there instead. Device code.
#ifndef BASEBAND_KERNELS_NR_RATE_DEMATCH_DEVICE_CUH_
#define BASEBAND_KERNELS_NR_RATE_DEMATCH_DEVICE_CUH_

#include <cstdint>

#include "kernels/nr/gold.cuh"
#include "kernels/nr/receive_gpu.h"
#include "kernels/nr/receive_math.h"
#include "kernels/nr/transmit_math.h"

namespace baseband::nr::device {

inline constexpr uint32_t kDematchThreads = 512;
// Words of the scrambling sequence that are made at a time, beside those that it starts from.
inline constexpr uint32_t kGoldPiece = 512;

// Of shared memory, in words.
struct DematchShared {
  bool sends_once;  // every bit at most once: soft bits, else sums
  uint32_t gold_at;
  uint32_t words;

  BASEBAND_HOST_DEVICE DematchShared(const RateMatch& rate_match, uint32_t soft_count)
      : sends_once(rate_match.e <= rate_match.kept),
        gold_at((soft_count + 15) / 16 * (sends_once ? 4 : 16)),
        words(gold_at + 2 * (kGoldPiece + kGoldStart)) {}
};

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
  uint32_t count;

  __device__ LlrMagnitudes Total() const {
    LlrMagnitudes total;
    total.sum = (uint64_t{high} << 16) + low;
    total.count = count;
    return total;
  }
};

// Adds the magnitudes of the `count` int16 LLRs of a code block, 2^23 at most, to `sums`. In which
// order does not matter, so that threads take words of two one after the other.
__device__ __forceinline__ void AddMagnitudes(const uint8_t* llrs, uint32_t count,
                                              MagnitudeSums* sums) {
  uint32_t sum = 0;  // 2^14 + 1 LLRs at most
  uint32_t nonzero = 0;
#pragma unroll 4
  for (uint32_t first = 2 * threadIdx.x; first < count; first += 2 * kDematchThreads) {
    uint32_t word[1];
    LoadBytes<4>(llrs + 2 * first, word);
    if (first + 1 == count) word[0] &= 0xffff;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int value = static_cast<int16_t>(HalfWord(word, i));
      sum += static_cast<uint32_t>(value < 0 ? -value : value);
      nonzero += value != 0 ? 1 : 0;
    }
  }
  const uint32_t low = __reduce_add_sync(0xffffffff, sum & 0xffff);
  const uint32_t high = __reduce_add_sync(0xffffffff, sum >> 16);
  nonzero = __reduce_add_sync(0xffffffff, nonzero);
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&sums->low, low);
    atomicAdd(&sums->high, high);
    atomicAdd(&sums->count, nonzero);
  }
}

// Where the LLRs of a code block go.
struct SoftTarget {
  int8_t* soft;   // one of these
  int32_t* sums;  // is null
  uint32_t count;

  __device__ __forceinline__ void Add(uint32_t place, int8_t llr) const {
    if (place >= count) return;
    if (sums == nullptr) {
      soft[place] = llr;
    } else {
      atomicAdd(sums + place, static_cast<int32_t>(llr));
    }
  }
};

// Brings the LLRs of columns [first, end) of a code block to their places. `gold`, unless null,
// begins with bit `gold_begin` of the code block. Returns how many LLRs or symbols are unusable.
template <int kQm>
__device__ __forceinline__ uint32_t PlaceLlrs(const ReceiveTb& tb, const RateMatch& rate_match,
                                              float scale, uint32_t begin, uint32_t first,
                                              uint32_t end, const GoldWords* gold,
                                              uint32_t gold_begin, const SoftTarget& target) {
  const uint32_t first_rank = AdvanceRank(rate_match.kept, 0, rate_match.kept_before_k0);
  const uint32_t row_step = AdvanceRank(rate_match.kept, 0, rate_match.columns);
  uint32_t unusable = 0;
  for (uint32_t column = first + threadIdx.x; column < end; column += kDematchThreads) {
    const uint32_t bit = column * kQm;
    int8_t llr[kQm];
    if (tb.as_symbols != 0) {
      unusable += DemapOne<kQm>(tb, begin / kQm + column, llr) ? 0 : 1;
    } else {
      unusable += LoadLlrs<kQm>(tb, scale, begin + bit, llr);
    }
    uint32_t signs = 0;
    if (gold != nullptr) {
      const uint32_t at = bit - gold_begin;
      signs = FunnelLeft((*gold)[at / 32], (*gold)[at / 32 + 1], at);
    }
    uint32_t rank = AdvanceRank(rate_match.kept, first_rank, column);
#pragma unroll
    for (int i = 0; i < kQm; ++i) {
      const bool is_turned = (signs >> (31 - i) & 1) != 0;
      target.Add(PlaceOfRank(rate_match, rank), static_cast<int8_t>(is_turned ? -llr[i] : llr[i]));
      rank += row_step;
      if (rank >= rate_match.kept) rank -= rate_match.kept;
    }
  }
  return unusable;
}

// Sixteen soft bits from any address on. An aligned sixteen is read alone: it may be the one that
// this thread is about to write.
__device__ __forceinline__ void LoadOldSoft(const int8_t* from, uint32_t (&words)[4]) {
  if (reinterpret_cast<uintptr_t>(from) % 16 == 0) {
    const uint4 all = *reinterpret_cast<const uint4*>(from);
    words[0] = all.x;
    words[1] = all.y;
    words[2] = all.z;
    words[3] = all.w;
  } else {
    LoadBytes<16>(reinterpret_cast<const uint8_t*>(from), words);
  }
}

// Four sums as soft bits.
__device__ __forceinline__ uint32_t ClipSums(const int32_t* sums, uint32_t old) {
  uint32_t soft = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int before = max(static_cast<int>(static_cast<int8_t>(old >> 8 * i & 0xff)), -127);
    const int sum = min(max(sums[i] + before, -127), 127);
    soft |= static_cast<uint32_t>(sum & 0xff) << 8 * i;
  }
  return soft;
}

// Adds what was there before, and writes the soft bits.
__device__ __forceinline__ void WriteSoft(const DematchBlock& block, const RateMatch& rate_match,
                                          const SoftTarget& target) {
  for (uint32_t i = threadIdx.x; 16 * i < block.soft_count; i += kDematchThreads) {
    uint32_t words[4] = {};
    if (block.old_soft != nullptr) {
      LoadOldSoft(block.old_soft + 16 * i, words);
#pragma unroll
      for (uint32_t w = 0; w < 4; ++w) {
        const uint32_t place = 16 * i + 4 * w;
        words[w] &= BytesWithin(place, 0, block.soft_count) &
                    ~BytesWithin(place, rate_match.filler_begin, rate_match.filler_end);
      }
    }
    if (target.sums == nullptr) {
      const uint4 sums = reinterpret_cast<const uint4*>(target.soft)[i];
      words[0] = AddSoft(words[0], sums.x);
      words[1] = AddSoft(words[1], sums.y);
      words[2] = AddSoft(words[2], sums.z);
      words[3] = AddSoft(words[3], sums.w);
    } else {
#pragma unroll
      for (uint32_t w = 0; w < 4; ++w) {
        words[w] = ClipSums(target.sums + 16 * i + 4 * w, words[w]);
      }
    }
    reinterpret_cast<uint4*>(block.soft)[i] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_RATE_DEMATCH_DEVICE_CUH_
