// One code word in a thread block of the narrow decoder (decode_narrow.cuh): in what form its
// values are, and where they lie in shared memory. Device code.
//
// The arithmetic is that of decode_half.cuh.
//
// In shared memory, in words:
//   slots      [core columns][3][192]; of graphs with a lifting size, which have copies, [384]
//   channel    [rows - 4][192]: ch * 2^-14 of the extension columns
//   totals     [rows - 4][192]: what all core edges of a check say together
//   staged     the LLRs as they arrive
//   folded     [core columns][2][7], between iterations: the decided bits of the words in the last
//              slot of a column, of the low halves and of the high ones, the first in the least
//              significant bit
//   bits       [26][26]: the same in a row, that is, of positions last shift, last shift + 1, ..
//              mod zc, twice around; and [26] zeros
//   extension  [rows - 4][2][6]: of extension columns, folded
//   crc        [2]: what decode_narrow_io.cuh adds up of them
//   block      [3]: how many bits the code word has without fillers, and its bits_offset and
//              result_index
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NARROW_WORD_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NARROW_WORD_CUH_

#include <cuda_runtime_api.h>

#include <type_traits>

#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_narrow_schedule.cuh"

namespace baseband::ldpc::device {

inline constexpr int kNarrowMaxEdges = 316;
inline constexpr int kNarrowMaxColumns = 26;
inline constexpr int kNarrowMaxRows = 46;
inline constexpr int kNarrowMaxChecks = 100;
inline constexpr int kNarrowBitsStride = 26;  // words of a column in `bits`
inline constexpr int kNarrowZeroBits = kNarrowMaxColumns * kNarrowBitsStride * 32;

struct NarrowParameters {
  DecodeIo io;
  DecodeShape shape;
  MessageScale heavy;
  MessageScale light;                      // has no offset
  uint32_t limit;                          // magnitude limit * 2^-14 as halves
  uint32_t half;                           // zc / 2
  uint32_t team_threads;                   // half, up to whole warps
  uint32_t last_shift[kNarrowMaxColumns];  // of the last edge in a column
  uint32_t last_word[kNarrowMaxColumns];   // where that edge's word 0 is, from slot 0
  uint32_t last_copy[kNarrowMaxColumns];   // likewise with its halves exchanged, if it has copies
  uint32_t heavy_rows;                     // bit r: row r is heavy; no row from 32 on is
  // A row's core edges in fours: where `bits` begins for check 0. The last four are filled up with
  // kNarrowZeroBits, where all bits are zero.
  struct alignas(8) Check {
    uint16_t first_bit[4];
  };
  uint16_t check_begin[kNarrowMaxRows + 1];
  Check check[kNarrowMaxChecks];
};
// Of graphs whose shifts are no constants.
struct NarrowTurningParameters : NarrowParameters {
  uint32_t half4;                          // 4 * half
  uint32_t four;                           // 4
  uint32_t last_slot4[kNarrowMaxColumns];  // which slot a column's last edge writes, in bytes from
                                           // slot 0
  // How thread t finds its word of an edge: with e = 4 * t + step[edge], that is, 4 * (u - h) or,
  // if the step is h or more, 4 * (u - 2 * h), its place in bytes is the lesser of e and e + 4 * h,
  // unsigned; and its halves are to be exchanged if e >= 0, in the other case if e < 0: if the bit
  // of the edge in `turns` is not that of e. That is bit kNarrowFirstTurn + i for place i of a row,
  // where e has its sign.
  uint32_t step[kNarrowMaxEdges];
  uint32_t turns[kNarrowMaxRows];
};
inline constexpr int kNarrowFirstTurn = 12;
template <class Graph>
using NarrowParametersOf =
    std::conditional_t<Graph::kZc == 0, NarrowTurningParameters, NarrowParameters>;

template <class Graph, int kMaxRows, bool kAllRows>
struct NarrowWord {
  using P = NarrowParametersOf<Graph>;
  static constexpr bool kCopies = Graph::kZc != 0;
  static constexpr int kStride = Graph::kMaxZc / 2;
  static constexpr int kSlotStride = kCopies ? 2 * kStride : kStride;
  static constexpr int kSlots = NarrowSchedule<Graph>::kSlots;
  static constexpr int kExtensions = kMaxRows - Graph::kDenseRows;
  static constexpr int32_t k128High = 0x20000000;  // 128 * 2^-14 in the high half

  // Shared memory, in words.
  static constexpr int kHalfWords = (kStride + 31) / 32;  // of the bits of half a column
  static constexpr int kFoldedStride = kHalfWords + 1;    // one more is read, and not used
  static constexpr int kBitsStride = kNarrowBitsStride;
  static_assert(kBitsStride * 32 >= 2 * Graph::kMaxZc + 32);
  static constexpr int kChannelBegin = Graph::kCoreColumns * kSlots * kSlotStride;
  static constexpr int kTotalsBegin = kChannelBegin + kExtensions * kStride;
  static constexpr int kStagedBegin = kTotalsBegin + kExtensions * kStride;
  static_assert(kStagedBegin % 4 == 0);
  // Units of 16 bytes, of which the first and the last may be cut.
  static constexpr int kStaged = (Graph::kCoreColumns + kExtensions) * Graph::kMaxZc / 4 + 2 * 4;
  static constexpr int kFoldedBegin = kStagedBegin + kStaged;
  static constexpr int kBitsBegin = kFoldedBegin + Graph::kCoreColumns * 2 * kFoldedStride;
  static constexpr int kExtensionBegin = kBitsBegin + (kNarrowMaxColumns + 1) * kBitsStride;
  static constexpr int kCrcBegin = kExtensionBegin + kExtensions * 2 * kHalfWords;
  static constexpr int kBlockBegin = kCrcBegin + 2;
  static constexpr int kSharedWords = kBlockBegin + 3;

  __device__ __forceinline__ NarrowWord(const P& parameters, uint32_t* shared_words)
      : p(parameters),
        shared(shared_words),
        team(threadIdx.x / TeamThreads()),
        row(threadIdx.x - team * TeamThreads()) {}

  __device__ __forceinline__ uint32_t Zc() const { return kCopies ? Graph::kZc : p.shape.zc; }
  __device__ __forceinline__ uint32_t Half() const { return kCopies ? Graph::kZc / 2 : p.half; }
  __device__ __forceinline__ uint32_t TeamThreads() const {
    return kCopies ? Graph::kZc / 2 : p.team_threads;
  }
  __device__ __forceinline__ uint32_t Threads() const { return kCopies ? Graph::kZc : blockDim.x; }
  // The column of a bit.
  __device__ __forceinline__ uint32_t ColumnOf(uint32_t bit) const {
    return kCopies ? bit / Zc() : Divide(bit, p.shape.zc_magic);
  }

  __device__ __forceinline__ uint32_t Rows() const { return kAllRows ? kMaxRows : p.shape.rows; }
  __device__ __forceinline__ uint32_t* Slot(int column, int slot) const {
    return shared + (column * kSlots + slot) * kSlotStride;
  }
  // This thread's own.
  __device__ __forceinline__ uint32_t& Channel(int extension) const {
    return shared[kChannelBegin + extension * kStride + row];
  }
  __device__ __forceinline__ uint32_t& Total(int extension) const {
    return shared[kTotalsBegin + extension * kStride + row];
  }

  // The position of a thread's word in the last slot of a column, and where that lies.
  __device__ __forceinline__ uint32_t LastPosition(uint32_t column) const {
    const uint32_t position = row + p.last_shift[column];
    return position >= Zc() ? position - Zc() : position;
  }
  __device__ __forceinline__ uint32_t* LastWord(uint32_t column) const {
    return shared + (column * (kSlots * kSlotStride) + p.last_word[column] + row);
  }
  __device__ __forceinline__ void PutLastWord(uint32_t column, uint32_t word) const {
    *LastWord(column) = word;
    if constexpr (kCopies) {
      shared[column * (kSlots * kSlotStride) + p.last_copy[column] + row] = Exchange(word);
    }
  }
  __device__ __forceinline__ static uint32_t Exchange(uint32_t word) {
    return __byte_perm(word, 0, 0x1032);
  }
  __device__ __forceinline__ uint32_t OtherHalf(uint32_t position) const {
    return position >= Half() ? position - Half() : position + Half();
  }

  const P& p;
  uint32_t* shared;
  uint32_t team;
  uint32_t row;  // which word of a circulant, and which two checks of a row, are this thread's
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NARROW_WORD_CUH_
