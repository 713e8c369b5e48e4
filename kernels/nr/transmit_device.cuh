// The second half of sending the code blocks of one thread block: from the bits of their circular
// buffers in shared memory (transmit_info.cuh) to coded bits or symbols.
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
#include "kernels/nr/transmit_gpu.h"
#include "kernels/nr/transmit_info.cuh"
#include "kernels/nr/transmit_math.h"

namespace baseband::nr::device {

// A code block among those of its transport block.
struct alignas(16) Coded {
  uint32_t begin;  // its coded bits
  uint32_t end;
  uint32_t first_column;
  uint32_t columns;
  uint32_t first_sent;  // where the bits that are sent begin in shared memory, in bits
  uint32_t first_group;
  uint32_t end_group;
  uint16_t is_straight;
  uint16_t r;

  __device__ __forceinline__ uint32_t end_column() const { return first_column + columns; }
};

// Of code block r; `kept` is where its kept bits begin in shared memory.
__device__ __forceinline__ Coded MakeCoded(const TransmitTb& tb, uint32_t r, uint32_t kept) {
  const uint32_t qm = tb.of_short.qm;
  const bool is_long = r >= tb.num_short;
  const uint32_t columns_of_short = tb.of_short.columns;
  const uint32_t columns_of_long = tb.of_long.columns;
  Coded coded;
  coded.first_column = is_long
                           ? tb.num_short * columns_of_short + (r - tb.num_short) * columns_of_long
                           : r * columns_of_short;
  coded.columns = r >= tb.num_blocks ? 0 : is_long ? columns_of_long : columns_of_short;
  coded.begin = qm * coded.first_column;
  coded.end = coded.begin + qm * coded.columns;
  coded.first_sent = kept + tb.of_long.kept_before_k0;
  coded.first_group = coded.first_column / 32;
  coded.end_group = coded.columns == 0 ? coded.first_group : (coded.end_column() + 31) / 32;
  coded.is_straight = IsStraight(tb.of_long) ? 1 : 0;
  coded.r = static_cast<uint16_t>(r);
  return coded;
}

// Some bits of word `word` of packed bits: `bits`, as memory has them, are all that code block r
// has of it, `count` of them. `edges` is that of code block 0; whoever has the last bits writes the
// word, and leaves 0 behind.
__device__ __noinline__ void JoinWord(const TransmitTb& tb, uint32_t r, unsigned long long* edges,
                                      uint32_t word, uint32_t bits, uint32_t count) {
  const uint32_t first = 32 * word;
  const uint32_t end = CodedBegin(tb, tb.num_blocks);
  const uint32_t wanted = min(end - first, 32);
  auto* const out = reinterpret_cast<uint32_t*>(tb.out) + word;
  if (count == wanted) {
    *out = bits;
    return;
  }
  while (CodedBegin(tb, r) > first) --r;  // to the code block that has the first bit
  const auto own = static_cast<unsigned long long>(count) << 32 | bits;
  const unsigned long long joined = atomicAdd(edges + r, own) + own;
  if (joined >> 32 != wanted) return;
  *out = static_cast<uint32_t>(joined);
  edges[r] = 0;
}

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

// Writes the words of a group to packed bits, as far as they are the code block's.
template <int kQm>
__device__ __forceinline__ void StorePacked(const TransmitTb& tb, const Coded& coded,
                                            unsigned long long* edges, uint32_t group,
                                            uint32_t (&words)[kQm]) {
#pragma unroll
  for (int i = 0; i < kQm; ++i) words[i] = SwapWord(words[i]);
  auto* const out = reinterpret_cast<uint32_t*>(tb.out);
  const uint32_t first = kQm * group;
  if (32 * first >= coded.begin && 32 * (first + kQm) <= coded.end) {
    return StoreWords<kQm>(out + first, words);
  }
  // Whole words, and those in which the code block begins and ends.
  const uint32_t edge_words[2] = {coded.begin / 32, coded.end / 32};
  uint32_t edge_bits[2] = {0, 0};
#pragma unroll
  for (uint32_t i = 0; i < kQm; ++i) {
    const uint32_t word = first + i;
    if (32 * word >= coded.begin && 32 * (word + 1) <= coded.end) out[word] = words[i];
    if (word == edge_words[0]) edge_bits[0] = words[i];
    if (word == edge_words[1]) edge_bits[1] = words[i];
  }
#pragma unroll
  for (int edge = 0; edge < 2; ++edge) {
    const uint32_t word = edge_words[edge];
    const bool is_in_group = word >= first && word < first + kQm;
    const bool is_whole = (edge == 0 ? coded.begin : coded.end) % 32 == 0;
    if (!is_in_group || is_whole) continue;
    const uint32_t before = word == edge_words[0] ? coded.begin % 32 : 0;
    if (edge == 1 && before != 0) continue;  // that was both
    const uint32_t used = min(coded.end - 32 * word, 32);
    const uint32_t own = FirstBits(0xffffffff >> before, used);
    JoinWord(tb, coded.r, edges, word, edge_bits[edge] & SwapWord(own), used - before);
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

// Groups first .. end - 1 of a code block, a piece of them, in shared memory from group `at` on.
struct PieceGroups {
  uint32_t first;
  uint32_t count;

  __device__ PieceGroups(const Coded& coded, uint32_t piece_begin, uint32_t piece_end)
      : first(max(coded.first_group, piece_begin)), count(0) {
    const uint32_t end = min(coded.end_group, piece_end);
    if (end > first) count = end - first;
  }
};

// The words of group `group` of a code block, before they are scrambled.
template <int kQm>
__device__ __forceinline__ void MakeWords(const TransmitTb& tb, const Coded& coded,
                                          const uint32_t* shared, uint32_t group,
                                          uint32_t (&words)[kQm]) {
  const auto load = [shared](uint32_t w) { return shared[w]; };
  const auto column = static_cast<int32_t>(32 * group - coded.first_column);
  if (coded.is_straight != 0) {
    StraightRows<kQm>(coded.first_sent, coded.columns, column, load, words);
  } else {
    RateMatch rate_match = tb.of_long;
    rate_match.columns = coded.columns;
    KeptRows<kQm>(rate_match, {coded.first_sent - rate_match.kept_before_k0, rate_match.kept},
                  column, load, words);
  }
  InterleaveWords<kQm>(words);
}

// All that follows the encoding of two code blocks, of which the second may have no columns, if
// they are to be packed bits and not scrambled. `coded` lies in shared memory; `edges` is that of
// code block 0.
template <int kQm>
__device__ __forceinline__ void SendPlain(const TransmitTb& tb, const Coded* coded,
                                          const uint32_t* shared, unsigned long long* edges) {
  const uint32_t of_first = coded[0].end_group - coded[0].first_group;
  const uint32_t of_second = coded[1].end_group - coded[1].first_group;
  for (uint32_t item = threadIdx.x; item < of_first + of_second; item += kTransmitThreads) {
    const bool is_second = item >= of_first;
    const Coded& own = coded[is_second ? 1 : 0];
    const uint32_t group = own.first_group + item - (is_second ? of_first : 0);
    uint32_t words[kQm];
    MakeWords<kQm>(tb, own, shared, group, words);
    StorePacked<kQm>(tb, own, edges, group, words);
  }
}

// The same of all others. The first `region` words of `shared` are free.
template <int kQm>
__device__ __forceinline__ void SendPieces(const TransmitTb& tb, const Coded* coded,
                                           uint32_t* shared, uint32_t region,
                                           unsigned long long* edges) {
  constexpr uint32_t kBehind = 4;  // a word behind those of a piece may be read
  const bool is_scrambled = tb.c_init != kNoScrambling;
  const bool as_symbols = tb.as_symbols != 0;

  // As few pieces as there is room for, and these of one size.
  const uint32_t end_group = max(coded[0].end_group, coded[1].end_group);
  uint32_t group = coded[0].first_group;
  const uint32_t groups = end_group - group;
  const uint32_t copies = (is_scrambled ? 2 : 0) + (as_symbols ? 1 : 0);
  uint32_t groups_of_piece = groups;
  if (copies != 0) {
    const uint32_t room = region - kBehind - (as_symbols ? kQm : 0) -
                          (is_scrambled ? GoldWords::SharedWords(kGoldStart) + 8 : 0);
    const uint32_t most = room / (copies * kQm);
    const uint32_t pieces = (groups + most - 1) / most;
    groups_of_piece = (groups + pieces - 1) / pieces;
  }
  const uint32_t gold_size = groups_of_piece * kQm + kGoldStart;
  GoldWords gold(shared + region - GoldWords::SharedWords(gold_size), gold_size);
  if (is_scrambled) gold.Begin(tb.c_init, 32 * kQm * group);

  for (;;) {
    const uint32_t piece_end = min(group + groups_of_piece, end_group);
    const PieceGroups of_first(coded[0], group, piece_end);
    const PieceGroups of_second(coded[1], group, piece_end);
    for (uint32_t item = threadIdx.x; item < of_first.count + of_second.count;
         item += kTransmitThreads) {
      const bool is_second = item >= of_first.count;
      const Coded& own = coded[is_second ? 1 : 0];
      const uint32_t g =
          is_second ? of_second.first + item - of_first.count : of_first.first + item;
      uint32_t words[kQm];
      MakeWords<kQm>(tb, own, shared, g, words);
      if (is_scrambled) gold.Scramble<kQm>((g - group) * kQm, words);
      if (as_symbols) {
        StoreWords<kQm>(shared + item * kQm, words);
      } else {
        StorePacked<kQm>(tb, own, edges, g, words);
      }
    }
    if (as_symbols) {
      __syncthreads();
#pragma unroll 1
      for (uint32_t b = 0; b < kTransmitBlocks; ++b) {
        const PieceGroups groups_of_block = b == 0 ? of_first : of_second;
        if (groups_of_block.count == 0) continue;
        WriteSymbols<kQm>(
            shared + (b == 0 ? 0 : of_first.count * kQm), tb.layout, groups_of_block.first,
            max(coded[b].first_column, 32 * groups_of_block.first),
            min(coded[b].end_column(), 32 * (groups_of_block.first + groups_of_block.count)),
            tb.out);
      }
    }
    if (piece_end == end_group) break;
    group = piece_end;
    __syncthreads();
    if (is_scrambled) gold.GoOn();
  }
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_TRANSMIT_DEVICE_CUH_
