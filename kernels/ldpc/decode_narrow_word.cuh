// One code word in a thread block of the narrow decoder (decode_narrow.cuh): in what form its
// values are, and where they lie in shared memory. Device code.
//
// The arithmetic is that of decode_half.cuh, scaled by 2^-5: app is stored as (app + 128) * 2^-14.
// Then y = fma(x, factor * 2^-21, 128 * 2^-24) is a denormal, and these are 2^-24 apart: it is
// (128 + r) * 2^-24, rounded as there, its bit pattern the message itself, and app + 128 comes in
// one instruction: fma(y, 2^10, q).
//
// In shared memory, in words:
//   slots      [core columns][3][192]
//   channel    [rows - 4][192]: ch * 2^-14 of the extension columns
//   totals     [rows - 4][192]: what all core edges of a check say together
//   staged     the LLRs as they arrive
//   folded     [core columns][2][7], between iterations: the decided bits of the words in the last
//              slot of a column, of the low halves and of the high ones, the first in the least
//              significant bit
//   bits       [26][26]: the same in a row, that is, of positions last shift, last shift + 1, ..
//              mod zc, twice around; and [26] zeros
//   extension  [rows - 4][2][6]: of extension columns, folded
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NARROW_WORD_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NARROW_WORD_CUH_

#include <cuda_runtime_api.h>

#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_narrow_schedule.cuh"

namespace baseband::ldpc::device {

inline constexpr int kNarrowMaxEdges = 316;
inline constexpr int kNarrowMaxColumns = 26;
inline constexpr int kNarrowMaxRows = 46;
inline constexpr int kNarrowMaxChecks = 100;
inline constexpr int kNarrowBitsStride = 26;  // words of a column in `bits`
inline constexpr int kNarrowZeroBits = kNarrowMaxColumns * kNarrowBitsStride * 32;

inline constexpr uint32_t kNarrow128 = Both(0x0080);  // 128 * 2^-24

// What makes a message of a check's x: numbers in both halves.
struct NarrowScale {
  uint32_t factor;  // * 2^-21
  uint32_t offset;  // * -2^-10

  // A check's y: 128 + r.
  __device__ __forceinline__ uint32_t Of(uint32_t x) const {
    constexpr uint32_t kUnit = Both(0x0400);  // 2^-14
    return Fma2(BoxPlus(x, kUnit), offset, WithoutOffset(x));
  }
  __device__ __forceinline__ uint32_t WithoutOffset(uint32_t x) const {
    return Fma2(x, factor, kNarrow128);
  }
};

struct NarrowParameters {
  DecodeIo io;
  DecodeShape shape;
  NarrowScale heavy;
  NarrowScale light;                       // has no offset
  uint32_t limit;                          // magnitude limit * 2^-14 as halves
  uint32_t half;                           // zc / 2
  uint32_t half4;                          // 4 * half
  uint32_t four;                           // 4
  uint32_t team_threads;                   // half, up to whole warps
  uint32_t last_shift[kNarrowMaxColumns];  // of the last edge in a column
  uint32_t last_slot4[kNarrowMaxColumns];  // which slot that edge writes, in bytes from slot 0
  uint32_t heavy_rows;                     // bit r: row r is heavy; no row from 32 on is
  // A row's core edges in fours: where `bits` begins for check 0. The last four are filled up with
  // kNarrowZeroBits, where all bits are zero.
  struct alignas(8) Check {
    uint16_t first_bit[4];
  };
  uint16_t check_begin[kNarrowMaxRows + 1];
  Check check[kNarrowMaxChecks];
  // How thread t finds its word of an edge: with e = 4 * t + step[edge], that is, 4 * (u - h) or,
  // if the step is h or more, 4 * (u - 2 * h), its place in bytes is the lesser of e and e + 4 * h,
  // unsigned; and its halves are to be exchanged if e >= 0, in the other case if e < 0: if the bit
  // of the edge in `turns` is not that of e. That is bit kNarrowFirstTurn + i for place i of a row,
  // where e has its sign.
  uint32_t step[kNarrowMaxEdges];
  uint32_t turns[kNarrowMaxRows];
};
inline constexpr int kNarrowFirstTurn = 12;

template <class Graph, int kMaxRows, bool kAllRows>
struct NarrowWord {
  static constexpr int kStride = Graph::kMaxZc / 2;
  static constexpr int kSlots = NarrowSchedule<Graph>::kSlots;
  static constexpr int kExtensions = kMaxRows - Graph::kDenseRows;
  static constexpr uint32_t kTwoTo10 = Both(0x6400);
  static constexpr uint32_t kMinusTwoTo10 = Both(0xe400);
  static constexpr uint32_t kMinus128 = Both(0xa000);  // -128 * 2^-14
  static constexpr int32_t k128High = 0x20000000;      // 128 * 2^-14 in the high half

  // Shared memory, in words.
  static constexpr int kHalfWords = (kStride + 31) / 32;  // of the bits of half a column
  static constexpr int kFoldedStride = kHalfWords + 1;    // one more is read, and not used
  static constexpr int kBitsStride = kNarrowBitsStride;
  static_assert(kBitsStride * 32 >= 2 * Graph::kMaxZc + 32);
  static constexpr int kChannelBegin = Graph::kCoreColumns * kSlots * kStride;
  static constexpr int kTotalsBegin = kChannelBegin + kExtensions * kStride;
  static constexpr int kStagedBegin = kTotalsBegin + kExtensions * kStride;
  static constexpr int kStaged =
      static_cast<int>(StagedLlr::Words((Graph::kCoreColumns + kExtensions) * Graph::kMaxZc));
  static constexpr int kFoldedBegin = kStagedBegin + kStaged;
  static constexpr int kBitsBegin = kFoldedBegin + Graph::kCoreColumns * 2 * kFoldedStride;
  static constexpr int kExtensionBegin = kBitsBegin + (kNarrowMaxColumns + 1) * kBitsStride;
  static constexpr int kCrcBegin = kExtensionBegin + kExtensions * 2 * kHalfWords;
  static constexpr int kSharedWords = kCrcBegin + 2;

  __device__ __forceinline__ NarrowWord(const NarrowParameters& parameters, uint32_t* shared_words)
      : p(parameters),
        shared(shared_words),
        team(threadIdx.x / parameters.team_threads),
        row(threadIdx.x - team * parameters.team_threads) {}

  __device__ __forceinline__ uint32_t Rows() const { return kAllRows ? kMaxRows : p.shape.rows; }
  __device__ __forceinline__ uint32_t* Slot(int column, int slot) const {
    return shared + (column * kSlots + slot) * kStride;
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
    return position >= p.shape.zc ? position - p.shape.zc : position;
  }
  __device__ __forceinline__ uint32_t* LastWord(uint32_t column) const {
    return shared + (column * (kSlots * kStride) + p.last_slot4[column] / 4 + row);
  }
  __device__ __forceinline__ uint32_t OtherHalf(uint32_t position) const {
    return position >= p.half ? position - p.half : position + p.half;
  }

  const NarrowParameters& p;
  uint32_t* shared;
  uint32_t team;
  uint32_t row;  // which word of a circulant, and which two checks of a row, are this thread's
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NARROW_WORD_CUH_
