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
//   ch         [kChannelWords][384] words, of the first columns
//   ch + 128   [kCount - kChannelWords][384][2] bytes, of both code words of a pair
//   totals     [kCount][384] words; of flooding, messages [kCount][384][2] bytes
// Words take two instructions less to read, and twice the room.
template <class Graph, int kMaxRows, int kChannelWords, bool kFlooding>
class ExtensionColumns {
  static constexpr int kStride = Graph::kMaxZc;
  static constexpr int kCount = kMaxRows - Graph::kDenseRows;
  static constexpr int kTotalsBegin = (kChannelWords + (kCount - kChannelWords + 1) / 2) * kStride;
  static_assert(kChannelWords <= kCount);

 public:
  static constexpr int kSharedWords =
      kTotalsBegin + (kFlooding ? (kCount + 1) / 2 : kCount) * kStride;

  __device__ __forceinline__ ExtensionColumns(const NrScales& scales, uint32_t* shared)
      : scales_(scales),
        words_(shared + threadIdx.x),
        bytes_(reinterpret_cast<uint16_t*>(shared + kChannelWords * kStride) + threadIdx.x),
        totals_(shared + kTotalsBegin + threadIdx.x),
        messages_(reinterpret_cast<uint16_t*>(shared + kTotalsBegin) + threadIdx.x) {}

  // Stores what was received of a code of `rows` rows, and of the other columns nothing; `row` is
  // that of the thread.
  __device__ __forceinline__ void Load(const StagedLlr& llr, uint32_t rows, uint32_t row) const {
    if constexpr (kCount > 0) {
      const uint32_t count = rows - Graph::kDenseRows;
      constexpr uint32_t kBytesBegin = Graph::kCoreColumns + kChannelWords;
      if constexpr (kChannelWords > 0) {
        llr.StoreWords(Graph::kCoreColumns, min(Graph::kCoreColumns + count, kBytesBegin),
                       kHalfMinus128, words_ - row, kStride);
        for (uint32_t e = count; e < kChannelWords; ++e) words_[e * kStride] = 0;
      }
      if constexpr (kChannelWords < kCount) {
        if (kChannelWords == 0 || Graph::kCoreColumns + count > kBytesBegin) {
          llr.StoreBytes(kBytesBegin, Graph::kCoreColumns + count, bytes_ - row, kStride);
        }
        for (uint32_t e = max(count, uint32_t{kChannelWords}); e < kCount; ++e) {
          bytes_[(e - kChannelWords) * kStride] = 0x8080;
        }
      }
    }
  }

  // As it is stored, and ch * 2^-14 of that.
  template <int kExtension>
  __device__ __forceinline__ uint32_t Stored() const {
    if constexpr (kExtension < kChannelWords) {
      return words_[kExtension * kStride];
    } else {
      return bytes_[(kExtension - kChannelWords) * kStride];
    }
  }
  template <int kExtension>
  __device__ __forceinline__ static uint32_t Channel(uint32_t stored) {
    if constexpr (kExtension < kChannelWords) {
      return stored;
    } else {
      return FromBytes(stored);
    }
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
  __device__ __forceinline__ uint32_t App(int extension) const {
    const uint32_t channel =
        extension < kChannelWords
            ? words_[extension * kStride]
            : Max2(FromBytes(bytes_[(extension - kChannelWords) * kStride]), kHalfMinus127);
    uint32_t r;
    if constexpr (kFlooding) {
      r = Add2(UnpackMessage(messages_[extension * kStride], 0), kHalf128 ^ kSigns);
    } else {
      const int row = extension + Graph::kDenseRows;
      r = Message(totals_[extension * kStride], (scales_.heavy_rows >> row & 1) != 0, 0);
    }
    return Add2(Fma2(r, kHalfTwoTo10, channel), kHalfMinus128 ^ kSigns);
  }

  // app + 128 of this thread's bit as an integer of 2^-24; of flooding 256 more.
  template <int kExtension>
  __device__ __forceinline__ uint32_t Sum(bool is_heavy) const {
    const uint32_t stored = Stored<kExtension>();
    uint32_t channel;
    if constexpr (kExtension < kChannelWords) {
      channel = Fma2(stored, kHalfTwoToMinus10, kHalf128);
    } else {
      channel = __vmaxu2(UnpackMessage(stored, 0), Both(1));  // -128 is -127
    }
    if constexpr (kFlooding) {
      return Add2(channel, UnpackMessage(messages_[kExtension * kStride], 0));
    }
    return Message(totals_[kExtension * kStride], is_heavy, channel);
  }

  // Its bit, in the halves' signs.
  template <int kExtension>
  __device__ __forceinline__ uint32_t Bits(bool is_heavy) const {
    return Add2(Sum<kExtension>(is_heavy), (kFlooding ? Both(2 * 128) : kHalf128) ^ kSigns);
  }

 private:
  __device__ __forceinline__ static uint32_t FromBytes(uint32_t bytes) {
    return Fma2(UnpackMessage(bytes, 0), kHalfTwoTo10, kHalfMinus128);
  }
  __device__ __forceinline__ uint32_t Message(uint32_t total, bool is_heavy, uint32_t bias) const {
    const uint32_t x = BoxPlus(total, scales_.limit);
    return is_heavy ? scales_.heavy.Of(x, bias) : scales_.light.WithoutOffset(x, bias);
  }

  const NrScales& scales_;
  uint32_t* words_;     // this thread's own, kStride apart
  uint16_t* bytes_;     // likewise
  uint32_t* totals_;    // likewise; not of flooding
  uint16_t* messages_;  // likewise; of flooding alone
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_EXTENSION_CUH_
