// Sending, for host and device: which bits a code block consists of, and how those that are kept in
// its circular buffer are read 32 at a time.
#ifndef BASEBAND_KERNELS_NR_TRANSMIT_MATH_H_
#define BASEBAND_KERNELS_NR_TRANSMIT_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/nr/packed_words_math.h"
#include "kernels/nr/rate_match_math.h"
#include "kernels/nr/symbols.h"

// A call on the device, so that it costs others no registers.
#ifdef __CUDACC__
#define BASEBAND_SELDOM_CALLED __noinline__
#else
#define BASEBAND_SELDOM_CALLED
#endif

namespace baseband::nr {

// The part of the payload that code block r carries: bits [first, first + bits).
struct PayloadSlice {
  uint32_t first;
  uint32_t bits;
};
BASEBAND_HOST_DEVICE inline PayloadSlice SliceOf(uint32_t payload_bits, uint32_t info_bits,
                                                 uint32_t r) {
  const uint32_t first = r * info_bits;
  if (first >= payload_bits) return {payload_bits, 0};
  const uint32_t left = payload_bits - first;
  return {first, left < info_bits ? left : info_bits};
}

// Of a transport block (TransmitTb, ReceiveTb): how block r is rate-matched, and where its coded
// bits begin.
template <typename Tb>
BASEBAND_HOST_DEVICE inline const RateMatch& RateMatchOf(const Tb& tb, uint32_t r) {
  return r < tb.num_short ? tb.of_short : tb.of_long;
}
template <typename Tb>
BASEBAND_HOST_DEVICE inline uint32_t CodedBegin(const Tb& tb, uint32_t r) {
  return r < tb.num_short ? r * tb.of_short.e
                          : tb.num_short * tb.of_short.e + (r - tb.num_short) * tb.of_long.e;
}

// Where symbol `index` of the code word lies, as PlaceOfSymbol; 32-bit divisions only.
BASEBAND_HOST_DEVICE inline uint64_t PlaceOf(const SymbolLayout& layout, uint32_t index) {
  if (!layout.by_layer || layout.num_layers == 1) return index;
  const auto layers = static_cast<uint32_t>(layout.num_layers);
  return static_cast<uint64_t>(index % layers) * static_cast<uint64_t>(layout.symbols_per_layer) +
         index / layers;
}

// A rank that was counted on past the end. `more` is any number.
BASEBAND_HOST_DEVICE inline uint32_t AdvanceRank(uint32_t kept, uint32_t rank, uint32_t more) {
  rank += more;
  if (rank >= kept) {
    rank -= kept;
    if (rank >= kept) rank %= kept;
  }
  return rank;
}

// The bits of the circular buffer that are no fillers lie one after the other, 32 to a word, the
// first at the top: information from bit 2 zc on, then parity.
struct KeptBits {
  uint32_t begin;  // bits from the first word on to d_0
  uint32_t kept;   // how many there are: RateMatch::kept
};

// Kept bits rank, rank + 1, .., around and around; rank < kept. `load(i)` reads word i. Seldom
// needed.
template <typename Load>
BASEBAND_SELDOM_CALLED BASEBAND_HOST_DEVICE uint32_t KeptWordAround(KeptBits bits, uint32_t rank,
                                                                    Load load) {
  uint32_t word = 0;
  for (uint32_t filled = 0; filled < 32;) {
    const uint32_t left = bits.kept - rank;
    const uint32_t at = bits.begin + rank;
    word |= FirstBits(FunnelLeft(load(at >> 5), load((at >> 5) + 1), at), left) >> filled;
    filled += left;
    rank = rank + left == bits.kept ? 0 : rank + left;
  }
  return word;
}

// Rows of the interleaver: e_k from column `column` on, 32 of each row. Of columns that there are
// not, column < 0 or >= columns, the bits are any. -32 < column < columns. The words in front of
// d_0 and behind the last kept bit are read, too.
template <int kQm, typename Load>
BASEBAND_HOST_DEVICE inline void KeptRows(const RateMatch& r, const KeptBits& bits, int32_t column,
                                          const Load& load, uint32_t (&rows)[kQm]) {
  const auto kept = static_cast<int32_t>(bits.kept);
  const auto step = static_cast<int32_t>(AdvanceRank(bits.kept, 0, r.columns));
  const auto behind = [kept](int32_t rank) { return rank >= kept ? rank - kept : rank; };
  int32_t rank = behind(static_cast<int32_t>(AdvanceRank(bits.kept, 0, r.kept_before_k0)) + column);
  if (rank >= kept) rank %= kept;  // where bits are sent again
  int32_t ranks[kQm];
  bool is_straight = true;  // no row comes to the end
  for (int i = 0; i < kQm; ++i) {
    ranks[i] = rank;
    is_straight &= rank + 32 <= kept;
    rank = behind(rank + step);
  }
  if (is_straight) {
    for (int i = 0; i < kQm; ++i) {
      const uint32_t at = bits.begin + static_cast<uint32_t>(ranks[i]);
      rows[i] = FunnelLeft(load(at >> 5), load((at >> 5) + 1), at);
    }
  } else {
    for (int i = 0; i < kQm; ++i) {
      const int32_t positive = ranks[i] < 0 ? (ranks[i] + 32 * kept) % kept : ranks[i];
      rows[i] = KeptWordAround(bits, static_cast<uint32_t>(positive), load);
    }
  }
}

// Whether no bit is sent twice, and none from in front of k_0.
BASEBAND_HOST_DEVICE inline bool IsStraight(const RateMatch& r) {
  return r.kept_before_k0 + r.e <= r.kept;
}

// KeptRows of a block that IsStraight, whose first row begins at bit `begin` and has `columns`.
template <int kQm, typename Load>
BASEBAND_HOST_DEVICE inline void StraightRows(uint32_t begin, uint32_t columns, int32_t column,
                                              const Load& load, uint32_t (&rows)[kQm]) {
  uint32_t at = begin + static_cast<uint32_t>(column);
  for (int i = 0; i < kQm; ++i, at += columns) {
    rows[i] = FunnelLeft(load(at >> 5), load((at >> 5) + 1), at);
  }
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_TRANSMIT_MATH_H_
