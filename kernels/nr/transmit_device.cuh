// Sending one code block by a thread block, from its payload to coded bits or symbols; all between
// stays in shared memory:
//
//   words   | region                        | info           | parity
//   first   | table, staging and groups of  | c_0 .. packed  | packed
//           | ldpc::device::Encode          |                |
//   then    | a piece of coded bits, and    |                |
//           | its scrambling sequence       |                |
//
// Device code.
#ifndef BASEBAND_KERNELS_NR_TRANSMIT_DEVICE_CUH_
#define BASEBAND_KERNELS_NR_TRANSMIT_DEVICE_CUH_

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/nr/gold.cuh"
#include "kernels/nr/interleave_words_math.h"
#include "kernels/nr/modulation_math.h"
#include "kernels/nr/transmit_gpu.h"
#include "kernels/nr/transmit_math.h"

// encode_math.h has a macro of this name of its own.
#pragma push_macro("BASEBAND_HOST_DEVICE")
#undef BASEBAND_HOST_DEVICE
#include "kernels/ldpc/encode_device.cuh"
#undef BASEBAND_HOST_DEVICE
#pragma pop_macro("BASEBAND_HOST_DEVICE")

namespace baseband::nr::device {

inline constexpr uint32_t kTransmitThreads = ldpc::device::kEncodeThreads;

// Of shared memory, in words.
struct TransmitShared {
  static constexpr uint32_t kLeastRegion = 1024;
  uint32_t region;
  uint32_t info_at;
  uint32_t parity_at;
  uint32_t words;

  // Reading 32 bits may touch a word behind the last; whole columns of 32 that are not all sent,
  // 31 bits more.
  BASEBAND_HOST_DEVICE explicit TransmitShared(const ldpc::EncodeTableHeader& header)
      : region(header.shared_bytes / 4 < kLeastRegion ? kLeastRegion
                                                      : (header.shared_bytes + 15) / 16 * 4),
        info_at(region),
        parity_at(info_at + (header.k + 31) / 32 + 1),
        words(parity_at + (header.parity_bits + 31) / 32 + 3) {}
};

// The code block's bits: its slice of the payload, and the CRCs behind it.
struct InfoBits {
  const uint32_t* words;
  uint32_t first;  // bits from there to the slice
  uint32_t slice_bits;
  uint64_t tail;

  // c_at .. c_{at+31}; fillers are 0.
  __device__ __forceinline__ uint32_t Word(uint32_t at) const {
    uint32_t word = TailBits(tail, slice_bits, at);
    if (at < slice_bits) {
      const auto load = [this](uint32_t w) { return __ldg(words + w); };
      word |= FirstBits(PackedBitsAt(load, first + at), slice_bits - at);
    }
    return word;
  }
};

// Encodes: `info` and `parity` receive packed bits, `task.groups` what Encode needs of them. Ends
// with a barrier.
template <bool kWholeWords>
__device__ __forceinline__ void EncodeBits(const ldpc::device::Task& task,
                                           const ldpc::device::Program<true>& program,
                                           const InfoBits& bits, uint32_t* info, uint32_t* parity) {
  const ldpc::EncodeTableHeader& header = task.header;
  ldpc::device::ClearGroup(task);
#pragma unroll 4
  for (uint32_t i = threadIdx.x; 32 * i < header.k; i += kTransmitThreads) {
    const uint32_t word = bits.Word(32 * i);
    info[i] = SwapWord(word);
    if constexpr (kWholeWords) {
      const uint32_t group = ldpc::Quotient(i, header.group_magic);
      ldpc::device::KeepWord(task, task.groups + (group + 1) * header.extended_words,
                             i - group * header.group_words, word);
    } else {
      task.staging[i] = word;
    }
  }
  if constexpr (!kWholeWords) {
    __syncthreads();
    const uint32_t num_items = header.k / header.zc * header.extended_words;
    for (uint32_t i = threadIdx.x; i < num_items; i += kTransmitThreads) {
      const uint32_t group = ldpc::Quotient(i, header.extended_magic);
      const uint32_t start =
          __ldg(task.table + ldpc::kStartsAt + i - group * header.extended_words);
      task.groups[i + header.extended_words] =
          ldpc::ReadCyclic(task.staging, group * header.zc, header.zc, start);
    }
  }
  __syncthreads();
  for (uint32_t i = 0; i < header.num_phases; ++i) {
    const ldpc::EncodePhase phase = program.Phase(i);
    if ((phase.items_per_sum & ldpc::kPhaseBarrier) != 0) __syncthreads();
    if ((phase.items_per_sum & ldpc::kPhaseKeeps) != 0) {
      ldpc::device::RunKeptPhase<kWholeWords>(task, program, phase, parity);
    } else {
      ldpc::device::RunFinalPhase<kWholeWords>(task, program, phase, parity);
    }
  }
  __syncthreads();
  if constexpr (!kWholeWords) {
    for (uint32_t i = threadIdx.x; 32 * i < header.parity_bits; i += kTransmitThreads) {
      parity[i] = SwapWord(ldpc::ReadPacked(task.staging, header.group_words, header.zc, 32 * i,
                                            header.parity_bits));
    }
    __syncthreads();
  }
}

// The words of 32 columns, side by side in as few stores as their alignment allows.
template <int kQm>
__device__ __forceinline__ void StoreWords(uint32_t* to, const uint32_t (&words)[kQm]) {
  if constexpr (kQm % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kQm; i += 4) {
      *reinterpret_cast<uint4*>(to + i) =
          make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
    }
  } else if constexpr (kQm % 2 == 0) {
#pragma unroll
    for (int i = 0; i < kQm; i += 2) {
      *reinterpret_cast<uint2*>(to + i) = make_uint2(words[i], words[i + 1]);
    }
  } else {
    to[0] = words[0];
  }
}

// Makes the coded bits of columns 32 first_group .. of a code block: kQm words each group, to
// `coded`, aligned to 16 bytes. `gold`, unless null, begins with the same bit.
template <int kQm>
__device__ __forceinline__ void MakeCoded(const RateMatch& rate_match, const KeptBits& kept,
                                          const uint32_t* shared, uint32_t first_group,
                                          uint32_t num_groups, const GoldWords* gold,
                                          uint32_t* coded) {
  const auto load = [shared](uint32_t w) { return shared[w]; };
  const uint32_t first_rank = AdvanceRank(kept.kept, 0, rate_match.kept_before_k0);
  const uint32_t row_step = AdvanceRank(kept.kept, 0, rate_match.columns);
  for (uint32_t group = threadIdx.x; group < num_groups; group += kTransmitThreads) {
    const uint32_t column = 32 * (first_group + group);
    uint32_t row_rank = first_rank;
    uint32_t words[kQm];
#pragma unroll
    for (int i = 0; i < kQm; ++i) {
      words[i] = KeptWord(kept, AdvanceRank(kept.kept, row_rank, column), load);
      row_rank += row_step;
      if (row_rank >= kept.kept) row_rank -= kept.kept;
    }
    InterleaveWords<kQm>(words);
    if (gold != nullptr) {
#pragma unroll
      for (int i = 0; i < kQm; ++i) words[i] ^= (*gold)[group * kQm + i];
    }
    StoreWords<kQm>(coded + group * kQm, words);
  }
}

// Writes a piece of a code block's coded bits to the packed bits of its transport block:
//
//   out words    |........|....0000|11112222|2222....|     the piece's words 0, 1, 2
//                          begin                           a shift between both
//
//   coded  the piece's words; coded[-1] is the one before them, 0 at the code block's begin
//   begin  of the code block among the coded bits of the transport block
//   first  of the piece among the bits of the code block, a multiple of 32
//   end    of the piece likewise; a multiple of 32 if others follow
// A word that code blocks share was cleared before, and receives each one's bits.
__device__ __forceinline__ void WritePacked(const uint32_t* coded, uint32_t begin, uint32_t first,
                                            uint32_t end, uint32_t e, bool is_last_block,
                                            uint32_t* out) {
  const uint32_t shift = begin % 32;
  uint32_t* const to = out + begin / 32 + first / 32;
  const bool ends = end == e;
  const uint32_t bits = end - first;
  const uint32_t num_words = ends ? (bits + shift + 31) / 32 : bits / 32;
#pragma unroll 4
  for (uint32_t i = threadIdx.x; i < num_words; i += kTransmitThreads) {
    const uint32_t* const at = coded + i;
    uint32_t word = shift == 0 ? at[0] : FunnelRight(at[-1], at[0], shift);
    bool is_shared = i == 0 && first == 0 && shift != 0;
    if (ends && i == num_words - 1) {
      const uint32_t used = bits + shift - 32 * i;  // of this word, from its top on
      word = FirstBits(word, used);
      is_shared |= used < 32 && !is_last_block;
    }
    if (is_shared) {
      atomicOr(to + i, SwapWord(word));
    } else {
      to[i] = SwapWord(word);
    }
  }
}

__device__ __forceinline__ void StoreSymbol(const SymbolLayout& layout, float i, float q,
                                            uint8_t* out, uint32_t index) {
  uint8_t* const at = out + PlaceOf(layout, index) * BytesPerSymbol(layout.format);
  const auto pair = [](uint16_t first, uint16_t second) {
    return static_cast<uint32_t>(second) << 16 | first;
  };
  switch (layout.format) {
    case SymbolFormat::kFloat32:
      *reinterpret_cast<float2*>(at) = make_float2(MulRn(i, layout.scale), MulRn(q, layout.scale));
      break;
    case SymbolFormat::kFloat16:
      *reinterpret_cast<uint32_t*>(at) =
          pair(HalfOfFloat(MulRn(i, layout.scale)), HalfOfFloat(MulRn(q, layout.scale)));
      break;
    case SymbolFormat::kInt16:
      *reinterpret_cast<uint32_t*>(at) = pair(static_cast<uint16_t>(ToInt16(i, layout.scale)),
                                              static_cast<uint16_t>(ToInt16(q, layout.scale)));
      break;
    case SymbolFormat::kInt8:
      *reinterpret_cast<uint16_t*>(at) =
          static_cast<uint16_t>(static_cast<uint8_t>(ToInt8(i, layout.scale)) |
                                static_cast<uint8_t>(ToInt8(q, layout.scale)) << 8);
      break;
  }
}

// Maps a piece of coded bits to `count` symbols, the first being symbol `index` of the code word.
template <int kQm>
__device__ __forceinline__ void WriteSymbols(const uint32_t* coded, const SymbolLayout& layout,
                                             uint32_t index, uint32_t count, uint8_t* out) {
  constexpr auto kUnit = static_cast<float>(AxisUnit(kQm));
  for (uint32_t i = threadIdx.x; i < count; i += kTransmitThreads) {
    const uint32_t bit = i * kQm;
    const uint32_t symbol = FunnelLeft(coded[bit / 32], coded[bit / 32 + 1], bit) >> (32 - kQm);
    const PointLevels levels = LevelsOf(kQm, symbol, index + i);
    StoreSymbol(layout, Amplitude(levels.i, kUnit), Amplitude(levels.q, kUnit), out, index + i);
  }
}

// All that follows the encoding of code block r: `kept` are bits among the words of `shared`, of
// which the first `region` are free.
template <int kQm>
__device__ __forceinline__ void SendCoded(const TransmitTb& tb, uint32_t r, const KeptBits& kept,
                                          uint32_t* shared, uint32_t region) {
  // A piece: four words, of which the last is the one before the piece's words; these; one that may
  // be read behind them.
  constexpr uint32_t kBefore = 4;
  constexpr uint32_t kBehind = 4;
  const RateMatch rate_match = RateMatchOf(tb, r);
  const bool is_scrambled = tb.c_init != kNoScrambling;
  const uint32_t room = region - kBefore - kBehind;
  const uint32_t groups_of_piece = (is_scrambled ? (room - 2 * kGoldStart) / 3 : room) / kQm;
  const uint32_t piece_words = groups_of_piece * kQm;
  const uint32_t groups = (rate_match.columns + 31) / 32;
  const uint32_t begin = CodedBegin(tb, r);
  uint32_t* const coded = shared + kBefore;
  GoldWords gold(shared + region - 2 * (piece_words + kGoldStart), piece_words + kGoldStart);
  if (is_scrambled) gold.Begin(tb.c_init, begin);
  for (uint32_t group = 0; group < groups; group += groups_of_piece) {
    const uint32_t num_groups = min(groups_of_piece, groups - group);
    MakeCoded<kQm>(rate_match, kept, shared, group, num_groups, is_scrambled ? &gold : nullptr,
                   coded);
    if (group == 0 && threadIdx.x == 0) coded[-1] = 0;
    __syncthreads();
    const uint32_t first = 32 * kQm * group;
    const uint32_t end = min(first + 32 * kQm * num_groups, rate_match.e);
    if (tb.as_symbols != 0) {
      WriteSymbols<kQm>(coded, tb.layout, (begin + first) / kQm, (end - first) / kQm, tb.out);
    } else {
      WritePacked(coded, begin, first, end, rate_match.e, r + 1 == tb.num_blocks,
                  reinterpret_cast<uint32_t*>(tb.out));
    }
    if (group + num_groups < groups) {
      // Nobody but this thread reads it.
      if (threadIdx.x == 0) coded[-1] = coded[piece_words - 1];
      if (is_scrambled) gold.GoOn();
      __syncthreads();
    }
  }
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_TRANSMIT_DEVICE_CUH_
