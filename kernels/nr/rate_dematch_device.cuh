// Receiving one code block by a thread block. Threads take symbols: they read or make the LLRs of
// one and turn their signs by the scrambling sequence. Until all are there, LLRs lie in shared
// memory: row by row of the interleaver, from where soft bits are put together sixteen at a time,
// for places that follow each other in the circular buffer do so in a row:
//
//   rows    aaaaaaaaaaaa.... bbbbbbbbbbbb.... cccccccccccc....     each from a multiple of 16 on
//   soft    aaaaaaaa aaaabbbb bbbbbbbb cccccccc cccc0000 ..
//
// Where a bit is sent several times, 32-bit sums lie there instead, each in its place. Device code.
#ifndef BASEBAND_KERNELS_NR_RATE_DEMATCH_DEVICE_CUH_
#define BASEBAND_KERNELS_NR_RATE_DEMATCH_DEVICE_CUH_

#include <cstdint>

#include "kernels/nr/gold.cuh"
#include "kernels/nr/received_llrs.cuh"

namespace baseband::nr::device {

// Words of the scrambling sequence that are made at a time, beside those that it starts from.
inline constexpr uint32_t kGoldPiece = 512;

// Of shared memory, in words.
struct DematchShared {
  bool sends_once;      // every bit at most once: rows, else sums
  uint32_t row_stride;  // bytes
  uint32_t gold_at;     // rows may be read up to 16 bytes further
  uint32_t words;

  BASEBAND_HOST_DEVICE DematchShared(const RateMatch& rate_match, uint32_t soft_count)
      : sends_once(rate_match.e <= rate_match.kept),
        row_stride((rate_match.columns + 15) / 16 * 16),
        gold_at(sends_once ? row_stride * rate_match.qm / 4 : (soft_count + 15) / 16 * 16),
        words(gold_at + GoldWords::SharedWords(kGoldPiece + kGoldStart)) {}
};

// Where the LLRs of a code block go.
struct SoftTarget {
  uint32_t* rows;  // one of these
  int32_t* sums;   // is null
  uint32_t row_stride;
  uint32_t count;  // of places that are wanted
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
    if (gold != nullptr) {
      const uint32_t at = bit - gold_begin;
      const uint32_t signs = FunnelLeft((*gold)[at / 32], (*gold)[at / 32 + 1], at);
#pragma unroll
      for (int i = 0; i < kQm; ++i) {
        const bool is_turned = (signs >> (31 - i) & 1) != 0;
        llr[i] = static_cast<int8_t>(is_turned ? -llr[i] : llr[i]);
      }
    }
    if (target.rows != nullptr) {
      auto* to = reinterpret_cast<int8_t*>(target.rows) + column;
#pragma unroll
      for (int i = 0; i < kQm; ++i, to += target.row_stride) *to = llr[i];
    } else {
      uint32_t rank = AdvanceRank(rate_match.kept, first_rank, column);
#pragma unroll
      for (int i = 0; i < kQm; ++i) {
        const uint32_t place = PlaceOfRank(rate_match, rank);
        if (place < target.count) atomicAdd(target.sums + place, static_cast<int32_t>(llr[i]));
        rank += row_step;
        if (rank >= rate_match.kept) rank -= rate_match.kept;
      }
    }
  }
  return unusable;
}

// Soft bits as they are read from the rows.
class RowReader {
 public:
  __device__ RowReader(const RateMatch& rate_match, const SoftTarget& target)
      : rate_match_(rate_match),
        target_(target),
        per_column_(((1u << 30) + rate_match.columns - 1) / rate_match.columns) {}

  // Those of places 16 i .. 16 i + 15, by a warp, each thread for an `i` of its own.
  __device__ __forceinline__ uint4 Read(uint32_t i) const {
    const Stretch stretch = StretchFrom(16 * i);
    uint4 soft = make_uint4(0, 0, 0, 0);
    if (stretch.places >= 16 && stretch.is_sent) {
      const uint32_t* const words = target_.rows + stretch.at / 4;
      const uint32_t by = 8 * (stretch.at % 4);
      soft = make_uint4(FunnelRight(words[1], words[0], by), FunnelRight(words[2], words[1], by),
                        FunnelRight(words[3], words[2], by), FunnelRight(words[4], words[3], by));
    }
    // Where rows meet, half of the warp takes a place each.
    const uint32_t lane = threadIdx.x % 32;
    const bool is_mixed = stretch.places < 16 && 16 * i < target_.count;
    for (uint32_t left = __ballot_sync(kAll, is_mixed); left != 0; left &= left - 1) {
      const int one = __ffs(static_cast<int>(left)) - 1;
      const uint32_t place = 16 * __shfl_sync(kAll, i, one) + lane % 16;
      const Stretch of_place = StretchFrom(place);
      uint32_t byte = 0;
      if (place < target_.count && of_place.is_sent) {
        byte = reinterpret_cast<const uint8_t*>(target_.rows)[of_place.at];
      }
      byte <<= 8 * (lane % 4);
      const auto word = [&](uint32_t w) {
        return __reduce_or_sync(kAll, lane % 16 / 4 == w ? byte : 0);
      };
      const uint4 bytes = make_uint4(word(0), word(1), word(2), word(3));
      if (static_cast<int>(lane) == one) soft = bytes;
    }
    return soft;
  }

 private:
  static constexpr uint32_t kAll = 0xffffffff;

  // Places that follow each other and are treated alike.
  struct Stretch {
    uint32_t places;  // how many
    bool is_sent;     // then they lie
    uint32_t at;      // from this byte of the rows on
  };
  __device__ __forceinline__ Stretch StretchFrom(uint32_t place) const {
    const RateMatch& r = rate_match_;
    Stretch stretch{target_.count - place, false, 0};
    const auto limit = [&stretch](uint32_t places) {
      stretch.places = min(stretch.places, places);
    };
    uint32_t rank = place;
    if (place < r.filler_begin) {
      limit(r.filler_begin - place);
    } else if (place < r.filler_end) {
      limit(r.filler_end - place);
      return stretch;
    } else {
      rank -= r.filler_end - r.filler_begin;
    }
    const bool is_behind = rank >= r.kept_before_k0;
    limit((is_behind ? r.kept : r.kept_before_k0) - rank);
    const uint32_t sent = rank - r.kept_before_k0 + (is_behind ? 0 : r.kept);
    if (sent >= r.e) return stretch;
    // sent / columns: both are less than 2^15, and so is what is lost.
    const uint32_t row = __umulhi(4 * sent, per_column_);
    const uint32_t column = sent - row * r.columns;
    limit(r.columns - column);
    stretch.is_sent = true;
    stretch.at = row * target_.row_stride + column;
    return stretch;
  }

  const RateMatch& rate_match_;
  const SoftTarget& target_;
  uint32_t per_column_;  // 2^30 / columns
};

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
  const RowReader rows(rate_match, target);
  for (uint32_t first = 0; 16 * first < block.soft_count; first += kDematchThreads) {
    const uint32_t i = first + threadIdx.x;
    uint4 soft = make_uint4(0, 0, 0, 0);
    if (target.rows != nullptr) soft = rows.Read(i);
    if (16 * i >= block.soft_count) continue;
    if (block.old_soft != nullptr || target.rows == nullptr) {
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
      if (target.rows != nullptr) {
        soft = make_uint4(AddSoft(words[0], soft.x), AddSoft(words[1], soft.y),
                          AddSoft(words[2], soft.z), AddSoft(words[3], soft.w));
      } else {
        const int32_t* const sums = target.sums + 16 * i;
        soft = make_uint4(ClipSums(sums, words[0]), ClipSums(sums + 4, words[1]),
                          ClipSums(sums + 8, words[2]), ClipSums(sums + 12, words[3]));
      }
    }
    reinterpret_cast<uint4*>(block.soft)[i] = soft;
  }
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_RATE_DEMATCH_DEVICE_CUH_
