// The messages of the half-precision NR decoder, of one thread. Device code.
//
// A word has the messages of two edges of a row, as bytes (PackMessages); the last edge of an odd
// row has one alone, as y of decode_half.cuh, for there is nothing to be packed. The first
// kRegisterWords words are in registers, the others in shared memory, kWidth next to each other, so
// that one instruction reads or writes several:
//
//   words w, .., w + kWidth - 1 of thread 0, of thread 1, ..; behind them those from w + kWidth on
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_MESSAGES_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_MESSAGES_CUH_

#include <algorithm>

#include "kernels/ldpc/decode_half.cuh"
#include "kernels/ldpc/decode_nr_graph.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

// Those of the first kMaxRows rows. A range of words, kFrom .. kTo - 1, is those of a group.
template <class Graph, int kMaxRows, int kRegisterWords, int kWidth>
class NrMessages {
  static_assert(kWidth == 1 || kWidth == 2);
  using L = Layout<Graph>;
  static constexpr int kStride = Graph::kMaxZc;
  static constexpr int kWords = L::template kWordBegin<kMaxRows>;
  static constexpr int kRegisters = std::min(kWords, kRegisterWords);

  static constexpr bool IsSingle(int word) {
    int row = 0;
    while (L::WordBegin(row + 1) <= word) ++row;
    return L::IsAlone(row, 2 * (word - L::WordBegin(row)));
  }
  // How many words are read and written with `word`, itself and some behind it, of a range that
  // ends before `to`; and whether it is itself one of those behind another, in one from `from` on.
  static constexpr int WidthAt(int word, int to) {
    const int shared = word - kRegisters;
    return shared >= 0 && shared % kWidth == 0 && word + kWidth <= to ? kWidth : 1;
  }
  static constexpr bool IsBehind(int word, int from) {
    const int shared = word - kRegisters;
    return shared >= 0 && shared % kWidth != 0 && word > from;
  }

 public:
  static constexpr int kSharedWords =
      (kWords - kRegisters + kWidth - 1) / kWidth * kWidth * kStride;

  // `shared` is aligned to kWidth words.
  __device__ __forceinline__ explicit NrMessages(uint32_t* shared)
      : shared_(shared + kWidth * threadIdx.x) {}

  // All become zero.
  __device__ __forceinline__ void Clear() {
    uint32_t words[kWords];
    Unroll<kWords>([&](auto w) {
      words[w] = kIsSingle<w> ? kHalf128 : kNoMessages;
      Store<0, kWords, w>(words);
    });
  }

  // Reads a range to words[0] and on.
  template <int kFrom, int kTo>
  __device__ __forceinline__ void Load(uint32_t* words) const {
    if constexpr (kFrom < kTo) {
      constexpr int kNow = kWidthAt<kFrom, kTo>;
      if constexpr (kFrom < kRegisters) {
        words[0] = registers_[kFrom];
      } else if constexpr (kNow == 2) {
        const uint2 two = *reinterpret_cast<const uint2*>(At(kFrom));
        words[0] = two.x;
        words[1] = two.y;
      } else {
        words[0] = *At(kFrom);
      }
      Load<kFrom + kNow, kTo>(words + kNow);
    }
  }

  // Of the range that begins at words[0], word kWord and all before it are there: stores it, or
  // leaves that to the one behind it that is stored with it.
  template <int kFrom, int kTo, int kWord>
  __device__ __forceinline__ void Store(const uint32_t* words) {
    if constexpr (kWord < kRegisters) {
      registers_[kWord] = words[kWord - kFrom];
    } else if constexpr (kIsBehind<kWord, kFrom>) {
      *reinterpret_cast<uint2*>(At(kWord - 1)) =
          make_uint2(words[kWord - 1 - kFrom], words[kWord - kFrom]);
    } else if constexpr (kWidthAt<kWord, kTo> == 1) {
      *At(kWord) = words[kWord - kFrom];
    }
  }

  // Unpack: the y of edge kPlace of row kRow, from the word that has it. Pack: the word of edge
  // kPlace and of the one before it, which is not asked for if kPlace is alone.
  template <int kRow, int kPlace>
  __device__ __forceinline__ static uint32_t Unpack(uint32_t word) {
    return L::template kIsAlone<kRow, kPlace> ? word : UnpackMessage(word, kPlace % 2);
  }
  template <int kRow, int kPlace>
  __device__ __forceinline__ static uint32_t Pack(uint32_t before, uint32_t y) {
    return L::template kIsAlone<kRow, kPlace> ? y : PackMessages(before, y);
  }

 private:
  // The same as constants, for device code may use a host function's value but not call it.
  template <int kWord>
  static constexpr bool kIsSingle = IsSingle(kWord);
  template <int kWord, int kTo>
  static constexpr int kWidthAt = WidthAt(kWord, kTo);
  template <int kWord, int kFrom>
  static constexpr bool kIsBehind = IsBehind(kWord, kFrom);

  __device__ __forceinline__ uint32_t* At(int word) const {
    const int n = word - kRegisters;
    return shared_ + (n / kWidth * kWidth * kStride + n % kWidth);
  }

  uint32_t* shared_;
  uint32_t registers_[std::max(1, kRegisters)];
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_MESSAGES_CUH_
