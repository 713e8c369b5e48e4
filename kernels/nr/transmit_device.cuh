// The second half of sending one code block by a thread block: from the bits of its circular
// buffer, which transmit_encode.cuh leaves behind in shared memory, to coded bits or symbols.
// Threads take groups of 32 columns of the interleaver, which are kQm whole words of what is sent.
// Columns are counted in the transport block, so that words begin where those in memory do:
//
//   code blocks   aaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbcccc..
//   groups        |   0   |   1   |   2   |   3   |         2 is made of a, and again of b
//
// The region of shared memory that the encoder needs no more has a piece of the scrambling sequence
// and, if they are to be symbols, of coded bits. Device code.
#ifndef BASEBAND_KERNELS_NR_TRANSMIT_DEVICE_CUH_
#define BASEBAND_KERNELS_NR_TRANSMIT_DEVICE_CUH_

#include <cstdint>

#include "kernels/nr/gold.cuh"
#include "kernels/nr/interleave_words_math.h"
#include "kernels/nr/modulation_math.h"
#include "kernels/nr/transmit_encode.cuh"
#include "kernels/nr/transmit_gpu.h"
#include "kernels/nr/transmit_math.h"

namespace baseband::nr::device {

// The coded bits of a code block among those of its transport block.
struct CodedRange {
  uint32_t begin;
  uint32_t end;
  bool is_last;  // nothing follows in the last word
};

// The words of a group, side by side in as few stores as their alignment allows.
template <int kQm>
__device__ __forceinline__ void StoreWords(uint32_t* to, const uint32_t (&words)[kQm]) {
  const auto address = reinterpret_cast<uintptr_t>(to);
  if (kQm % 4 == 0 && address % 16 == 0) {
#pragma unroll
    for (int i = 0; i + 3 < kQm; i += 4) {
      *reinterpret_cast<uint4*>(to + i) =
          make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
    }
  } else if (kQm % 2 == 0 && address % 8 == 0) {
#pragma unroll
    for (int i = 0; i + 1 < kQm; i += 2) {
      *reinterpret_cast<uint2*>(to + i) = make_uint2(words[i], words[i + 1]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kQm; ++i) to[i] = words[i];
  }
}

// Writes the words of a group to packed bits, as far as they are the code block's. A word that code
// blocks share was cleared before, and receives each one's bits.
template <int kQm>
__device__ __forceinline__ void StorePacked(const CodedRange& range, uint32_t group,
                                            uint32_t (&words)[kQm], uint32_t* out) {
#pragma unroll
  for (int i = 0; i < kQm; ++i) words[i] = SwapWord(words[i]);
  uint32_t bit = 32 * kQm * group;
  out += kQm * group;
  if (bit >= range.begin && bit + 32 * kQm <= range.end) return StoreWords<kQm>(out, words);
#pragma unroll
  for (int i = 0; i < kQm; ++i, bit += 32) {
    if (bit + 32 <= range.begin || bit >= range.end) continue;
    const uint32_t before = range.begin > bit ? range.begin - bit : 0;
    const uint32_t used = min(range.end - bit, 32);
    const uint32_t own = FirstBits(0xffffffff >> before, used);
    const uint32_t word = words[i] & SwapWord(own);
    if (before != 0 || (used < 32 && !range.is_last)) {
      atomicOr(out + i, word);
    } else {
      out[i] = word;
    }
  }
}

// An amplitude as a buffer has it, in the lowest bits.
__device__ __forceinline__ uint32_t BufferValue(const SymbolLayout& layout, float amplitude) {
  switch (layout.format) {
    case SymbolFormat::kFloat32:
      return BitsOf(MulRn(amplitude, layout.scale));
    case SymbolFormat::kFloat16:
      return HalfOfFloat(MulRn(amplitude, layout.scale));
    case SymbolFormat::kInt16:
      return static_cast<uint16_t>(ToInt16(amplitude, layout.scale));
    default:
      return static_cast<uint8_t>(ToInt8(amplitude, layout.scale));
  }
}

__device__ __forceinline__ void StoreSymbol(const SymbolLayout& layout, uint32_t i, uint32_t q,
                                            uint8_t* out, uint32_t index) {
  uint8_t* const at = out + PlaceOf(layout, index) * BytesPerSymbol(layout.format);
  switch (layout.format) {
    case SymbolFormat::kFloat32:
      *reinterpret_cast<uint2*>(at) = make_uint2(i, q);
      break;
    case SymbolFormat::kFloat16:
    case SymbolFormat::kInt16:
      *reinterpret_cast<uint32_t*>(at) = q << 16 | i;
      break;
    case SymbolFormat::kInt8:
      *reinterpret_cast<uint16_t*>(at) = static_cast<uint16_t>(q << 8 | i);
      break;
  }
}

// Maps coded bits to symbols first .. end - 1 of the code word. `coded` begins with symbol 32
// first_group. An axis has at most 32 levels: each lane has one as it is written.
template <int kQm>
__device__ __forceinline__ void WriteSymbols(const uint32_t* coded, const SymbolLayout& layout,
                                             uint32_t first_group, uint32_t first, uint32_t end,
                                             uint8_t* out) {
  constexpr int kBits = kQm == 1 ? 1 : kQm / 2;
  constexpr auto kUnit = static_cast<float>(AxisUnit(kQm));
  const uint32_t lane = threadIdx.x % 32;
  const int level = PamLevel(kBits, lane & ((1 << kBits) - 1));
  const uint32_t own_value = BufferValue(layout, Amplitude(level, kUnit));
#pragma unroll 2
  for (uint32_t begin = first; begin < end; begin += kTransmitThreads) {
    const uint32_t index = min(begin + threadIdx.x, end - 1);
    const uint32_t bit = (index - 32 * first_group) * kQm;
    const uint32_t symbol = FunnelLeft(coded[bit / 32], coded[bit / 32 + 1], bit) >> (32 - kQm);
    // pi/2-BPSK turns every other symbol by a quarter.
    const uint32_t i_bits = kQm == 1 ? symbol ^ (index & 1) : AxisBits(kBits, symbol >> 1);
    const uint32_t q_bits = kQm == 1 ? symbol : AxisBits(kBits, symbol);
    const uint32_t i = __shfl_sync(0xffffffff, own_value, static_cast<int>(i_bits));
    const uint32_t q = __shfl_sync(0xffffffff, own_value, static_cast<int>(q_bits));
    if (begin + threadIdx.x < end) StoreSymbol(layout, i, q, out, index);
  }
}

// All that follows the encoding of code block r: `kept` are bits among the words of `shared`, of
// which the first `region` are free.
template <int kQm>
__device__ __forceinline__ void SendCoded(const TransmitTb& tb, uint32_t r, const KeptBits& kept,
                                          uint32_t* shared, uint32_t region) {
  constexpr uint32_t kBehind = 4;  // a word behind those of a piece may be read
  const RateMatch rate_match = RateMatchOf(tb, r);
  const bool is_scrambled = tb.c_init != kNoScrambling;
  const bool as_symbols = tb.as_symbols != 0;
  const uint32_t begin = CodedBegin(tb, r);
  const CodedRange range{begin, begin + rate_match.e, r + 1 == tb.num_blocks};
  const uint32_t first_column = begin / kQm;
  const uint32_t end_column = first_column + rate_match.columns;
  const uint32_t end_group = (end_column + 31) / 32;
  uint32_t group = first_column / 32;

  // As few pieces as there is room for, and these of one size.
  const uint32_t groups = end_group - group;
  const uint32_t copies = (is_scrambled ? 2 : 0) + (as_symbols ? 1 : 0);
  uint32_t groups_of_piece = groups;
  if (copies != 0) {
    const uint32_t room =
        region - kBehind - (is_scrambled ? GoldWords::SharedWords(kGoldStart) + 8 : 0);
    const uint32_t most = room / (copies * kQm);
    const uint32_t pieces = (groups + most - 1) / most;
    groups_of_piece = (groups + pieces - 1) / pieces;
  }
  const uint32_t gold_size = groups_of_piece * kQm + kGoldStart;
  GoldWords gold(shared + region - GoldWords::SharedWords(gold_size), gold_size);
  if (is_scrambled) gold.Begin(tb.c_init, 32 * kQm * group);

  const auto load = [shared](uint32_t w) { return shared[w]; };
  for (;;) {
    const uint32_t piece_end = min(group + groups_of_piece, end_group);
    for (uint32_t g = group + threadIdx.x; g < piece_end; g += kTransmitThreads) {
      uint32_t words[kQm];
      KeptRows<kQm>(rate_match, kept, static_cast<int32_t>(32 * g - first_column), load, words);
      InterleaveWords<kQm>(words);
      const uint32_t in_piece = (g - group) * kQm;
      if (is_scrambled) gold.Scramble<kQm>(in_piece, words);
      if (as_symbols) {
        StoreWords<kQm>(shared + in_piece, words);
      } else {
        StorePacked<kQm>(range, g, words, reinterpret_cast<uint32_t*>(tb.out));
      }
    }
    if (as_symbols) {
      __syncthreads();
      WriteSymbols<kQm>(shared, tb.layout, group, max(first_column, 32 * group),
                        min(end_column, 32 * piece_end), tb.out);
    }
    if (piece_end == end_group) break;
    group = piece_end;
    __syncthreads();
    if (is_scrambled) gold.GoOn();
  }
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_TRANSMIT_DEVICE_CUH_
