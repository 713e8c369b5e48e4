// The messages of the half-precision NR decoder, of one thread. Device code.
//
// A word has the messages of two edges of a row, as bytes (PackMessages); the last edge of an odd
// row has one alone, as y of decode_half.cuh, for there is nothing to be packed. The first
// kRegisterWords words are in registers, the others in shared memory. One instruction reads or
// writes up to kWidth words of a group of rows, which lie next to each other so that threads do not
// meet in a bank:
//
//   words w and w + 1 of thread 0, of thread 1, ..; behind them word w + 2 of each
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_MESSAGES_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_MESSAGES_CUH_

#include <algorithm>

#include "kernels/ldpc/decode_half.cuh"
#include "kernels/ldpc/decode_nr_graph.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

// Those of the first kMaxRows rows.
template <class Graph, int kMaxRows, int kRegisterWords, int kWidth>
class NrMessages {
  static_assert(kWidth == 1 || kWidth == 2 || kWidth == 4);
  using L = Layout<Graph>;
  static constexpr int kStride = Graph::kMaxZc;
  static constexpr int kWords = L::template kWordBegin<kMaxRows>;
  static constexpr int kRegisters = std::min(kWords, kRegisterWords);

  static constexpr bool IsSingle(int word) {
    int row = 0;
    while (L::WordBegin(row + 1) <= word) ++row;
    return L::IsAlone(row, 2 * (word - L::WordBegin(row)));
  }
  // The first row of the group that `word` is of.
  static constexpr int GroupOf(int word) {
    int row = 0;
    while (L::WordBegin(L::GroupEnd(row)) <= word) row = L::GroupEnd(row);
    return row;
  }
  // How many words are read and written with `word`, itself and some behind it, if it is the first
  // of them; and which is the first, of any.
  static constexpr int WidthAt(int word) {
    if (word < kRegisters) return 1;
    const int end = L::WordBegin(std::min(L::GroupEnd(GroupOf(word)), kMaxRows));
    int width = kWidth;
    while (word + width > end) width /= 2;
    return width;
  }
  static constexpr int AccessOf(int word) {
    int begin = L::WordBegin(GroupOf(word));
    while (begin + WidthAt(begin) <= word) begin += WidthAt(begin);
    return begin;
  }

 public:
  static constexpr int kSharedWords = (kWords - kRegisters) * kStride;

  // `shared` is aligned to kWidth words.
  __device__ __forceinline__ explicit NrMessages(uint32_t* shared) : shared_(shared) {}

  // All become zero.
  __device__ __forceinline__ void Clear() {
    uint32_t words[kWords];
    Unroll<kWords>([&](auto w) {
      words[w] = kIsSingle<w> ? kHalf128 : kNoMessages;
      Store<0, w>(words);
    });
  }

  // Reads words kFrom .. kTo - 1, all of a group, to words[0] and on.
  template <int kFrom, int kTo>
  __device__ __forceinline__ void Load(uint32_t* words) const {
    if constexpr (kFrom < kTo) {
      constexpr int kNow = kWidthAt<kFrom>;
      if constexpr (kFrom < kRegisters) {
        words[0] = registers_[kFrom];
      } else if constexpr (kNow == 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(At<kFrom>());
        words[0] = four.x;
        words[1] = four.y;
        words[2] = four.z;
        words[3] = four.w;
      } else if constexpr (kNow == 2) {
        const uint2 two = *reinterpret_cast<const uint2*>(At<kFrom>());
        words[0] = two.x;
        words[1] = two.y;
      } else {
        words[0] = *At<kFrom>();
      }
      Load<kFrom + kNow, kTo>(words + kNow);
    }
  }

  // Of its group word kWord and all before it are there, word kFrom at words[0]: stores it, or
  // leaves that to the one behind it that is stored with it.
  template <int kFrom, int kWord>
  __device__ __forceinline__ void Store(const uint32_t* words) {
    constexpr int kBegin = kAccessOf<kWord>;
    constexpr int kNow = kWidthAt<kBegin>;
    if constexpr (kWord < kRegisters) {
      registers_[kWord] = words[kWord - kFrom];
    } else if constexpr (kWord == kBegin + kNow - 1) {
      const uint32_t* from = words + (kBegin - kFrom);
      if constexpr (kNow == 4) {
        *reinterpret_cast<uint4*>(At<kBegin>()) = make_uint4(from[0], from[1], from[2], from[3]);
      } else if constexpr (kNow == 2) {
        *reinterpret_cast<uint2*>(At<kBegin>()) = make_uint2(from[0], from[1]);
      } else {
        *At<kBegin>() = from[0];
      }
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
  template <int kWord>
  static constexpr int kWidthAt = WidthAt(kWord);
  template <int kWord>
  static constexpr int kAccessOf = AccessOf(kWord);

  // Where those begin that are read and written with kWord, the first of them.
  template <int kWord>
  __device__ __forceinline__ uint32_t* At() const {
    return shared_ + ((kWord - kRegisters) * kStride + kWidthAt<kWord> * threadIdx.x);
  }

  uint32_t* shared_;
  uint32_t registers_[std::max(1, kRegisters)];
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_MESSAGES_CUH_
