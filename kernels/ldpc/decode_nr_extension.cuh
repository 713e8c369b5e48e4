// The extension columns of the half-precision NR decoder. Device code.
//
// Such a column takes part in one check only, of shift 0. So its app is ch + one message, what its
// check sees of it is ch always, and nobody but the thread of its row touches it. That message is
// made when it is asked for, of what all core edges of the check say together, the total. Flooding
// makes it with its row, and keeps it as two bytes in the place of the total's four.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_EXTENSION_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_EXTENSION_CUH_

#include "kernels/ldpc/decode_half.cuh"
#include "kernels/ldpc/decode_staged.cuh"

namespace baseband::ldpc::device {

// What makes messages of a check's x, of a code; x is cut to `limit` before.
struct NrScales {
  MessageScale heavy;
  MessageScale light;   // has no offset
  uint32_t limit;       // magnitude limit * 2^-14 as halves
  uint64_t heavy_rows;  // bit r: row r is heavy
};

// Those of a thread block, as one of its threads sees them. In shared memory, with 384 rows:
//   ch + 128   [kCount][384][2] bytes, of both code words of a pair
//   totals     [kCount][384] words; of flooding, messages [kCount][384][2] bytes
template <class Graph, int kMaxRows, bool kFlooding>
class ExtensionColumns {
  static constexpr int kStride = Graph::kMaxZc;
  static constexpr int kCount = kMaxRows - Graph::kDenseRows;
  static constexpr int kTotalsBegin = (kCount + 1) / 2 * kStride;

 public:
  static constexpr int kSharedWords =
      kTotalsBegin + (kFlooding ? (kCount + 1) / 2 : kCount) * kStride;

  __device__ __forceinline__ ExtensionColumns(const NrScales& scales, uint32_t* shared)
      : scales_(scales),
        channel_(reinterpret_cast<uint16_t*>(shared) + threadIdx.x),
        totals_(shared + kTotalsBegin + threadIdx.x),
        messages_(reinterpret_cast<uint16_t*>(shared + kTotalsBegin) + threadIdx.x) {}

  // Stores what was received of a code of `rows` rows, and of the other columns nothing; `row` is
  // that of the thread.
  __device__ __forceinline__ void Load(const StagedLlr& llr, uint32_t rows, uint32_t row) const {
    if constexpr (kCount > 0) {
      const uint32_t count = rows - Graph::kDenseRows;
      llr.StoreBytes(Graph::kCoreColumns, Graph::kCoreColumns + count, channel_ - row, kStride);
      for (uint32_t e = count; e < kCount; ++e) channel_[e * kStride] = 0x8080;
    }
  }

  // ch + 128 as bytes, and ch * 2^-14 of these.
  __device__ __forceinline__ uint32_t Bytes(uint32_t extension) const {
    return channel_[extension * kStride];
  }
  __device__ __forceinline__ static uint32_t Channel(uint32_t bytes) {
    return Fma2(UnpackMessage(bytes, 0), kHalfTwoTo10, kHalfMinus128);
  }

  // Keeps what the core edges of a check say.
  __device__ __forceinline__ void Keep(int extension, uint32_t total, bool is_heavy) const {
    if constexpr (kFlooding) {
      const uint32_t r = Message(total, is_heavy, kHalf128);
      messages_[extension * kStride] = static_cast<uint16_t>(PackMessages(r, r));
    } else {
      totals_[extension * kStride] = total;
    }
  }

  // (app + 128) * 2^-14 of this thread's bit.
  __device__ __forceinline__ uint32_t App(uint32_t extension) const {
    const uint32_t channel = Max2(Channel(Bytes(extension)), kHalfMinus127);
    uint32_t r;
    if constexpr (kFlooding) {
      r = Add2(UnpackMessage(messages_[extension * kStride], 0), kHalf128 ^ kSigns);
    } else {
      const uint32_t row = extension + Graph::kDenseRows;
      r = Message(totals_[extension * kStride], (scales_.heavy_rows >> row & 1) != 0, 0);
    }
    return Add2(Fma2(r, kHalfTwoTo10, channel), kHalfMinus128 ^ kSigns);
  }

  // Its bit, in the halves' signs. Of integers of 2^-24 here: (ch + 128) + r, then less 128.
  __device__ __forceinline__ uint32_t Bits(uint32_t extension, bool is_heavy) const {
    const uint32_t channel = __vmaxu2(UnpackMessage(Bytes(extension), 0), Both(1));  // -128 is -127
    if constexpr (kFlooding) {
      const uint32_t sum = Add2(channel, UnpackMessage(messages_[extension * kStride], 0));
      return Add2(sum, Both(2 * 128) ^ kSigns);
    }
    return Add2(Message(totals_[extension * kStride], is_heavy, channel), kHalf128 ^ kSigns);
  }

 private:
  __device__ __forceinline__ uint32_t Message(uint32_t total, bool is_heavy, uint32_t bias) const {
    const uint32_t x = BoxPlus(total, scales_.limit);
    return is_heavy ? scales_.heavy.Of(x, bias) : scales_.light.WithoutOffset(x, bias);
  }

  const NrScales& scales_;
  uint16_t* channel_;   // this thread's own, kStride apart
  uint32_t* totals_;    // likewise; not of flooding
  uint16_t* messages_;  // likewise; of flooding alone
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_EXTENSION_CUH_
