// How a code word comes into the narrow decoder (decode_narrow.cuh): its LLRs into shared memory as
// they are, then into its slots. Device code.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NARROW_LOAD_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NARROW_LOAD_CUH_

#include <cuda_runtime_api.h>

#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_narrow_turns.cuh"
#include "kernels/ldpc/decode_narrow_word.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

template <class Graph, int kMaxRows, bool kAllRows>
class NarrowLoader {
  using W = NarrowWord<Graph, kMaxRows, kAllRows>;

 public:
  __device__ __forceinline__ explicit NarrowLoader(const W& word) : w_(word) {}

  // The LLRs as app without messages, at the places where the last row would have left them.
  __device__ __forceinline__ void Load() {
    const DecodeShape& shape = w_.p.shape;
    const DecodeBlock block = w_.p.io.blocks[blockIdx.x];
    // They come in units of 16 bytes, but for a first one that is cut: in words.
    const auto skip = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(block.llr) % 16);
    const int8_t* const source = block.llr - skip;
    const uint32_t bytes = block.llr_count == 0 ? 0 : skip + block.llr_count;
    const auto target =
        static_cast<uint32_t>(__cvta_generic_to_shared(w_.shared + W::kStagedBegin));
    for (uint32_t at = 16 * threadIdx.x; at < bytes; at += 16 * w_.Threads()) {
      if (at >= skip) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target + at),
                     "l"(source + at)
                     : "memory");
      } else {
        for (uint32_t word = skip / 4 * 4; word < 16; word += 4) {
          asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(target + word),
                       "l"(source + word)
                       : "memory");
        }
      }
    }
    if (threadIdx.x < 32) {
      if (threadIdx.x < W::kBitsStride)
        w_.shared[W::kBitsBegin + kNarrowZeroBits / 32 + threadIdx.x] = 0;
      if (threadIdx.x < 2) w_.shared[W::kCrcBegin + threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) {
      w_.shared[W::kBlockBegin] = shape.k - block.num_filler;
      w_.shared[W::kBlockBegin + 1] = block.bits_offset;
      w_.shared[W::kBlockBegin + 2] = block.result_index;
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    if (w_.row >= w_.Half()) return;

    // Columns begin .. end - 1 are plain: all of their bits were received.
    const auto* staged = reinterpret_cast<const int8_t*>(w_.shared + W::kStagedBegin) + skip;
    const uint32_t columns = Graph::kCoreColumns + w_.Rows() - Graph::kDenseRows;
    const uint32_t begin = (shape.punctured_bits + w_.Zc() - 1) / w_.Zc();
    uint32_t end = begin;
    if (!shape.hard_input) {
      end = (block.llr_count + shape.punctured_bits) / w_.Zc();
      if (block.num_filler != 0) end = min(end, (shape.k - block.num_filler) / w_.Zc());
      end = max(begin, min(columns, end));
    }
    // Some loads, then some stores: the compiler does not move a load before a store.
    const auto load_plain = [&](uint32_t c, uint32_t position, uint32_t other) {
      const int8_t* column = staged + (c * w_.Zc() - shape.punctured_bits);
      return Biased(column[position]) | Biased(column[other]) << 16;
    };
    uint32_t next = begin + (begin + w_.team) % 2;
    uint32_t core_done = next;
    if constexpr (W::kCopies) {
      const int8_t* first = staged - shape.punctured_bits;
      core_done = w_.team == 0 ? LoadCore<0>(first, begin, end) : LoadCore<1>(first, begin, end);
      if constexpr (W::kExtensions > 0) LoadChannels(first, end);
      next = max(end, static_cast<uint32_t>(Graph::kCoreColumns));
      next += (next ^ w_.team) & 1;
    } else {
      constexpr int kCoreAtOnce = 4;
      constexpr int kAtOnce = 3;
#pragma unroll 1
      for (; next + 2 * kCoreAtOnce <= min(end, static_cast<uint32_t>(Graph::kCoreColumns)) + 1;
           next += 2 * kCoreAtOnce) {
        uint32_t both[kCoreAtOnce];
        Unroll<kCoreAtOnce>([&](auto i) {
          const uint32_t position = w_.LastPosition(next + 2 * i);
          both[i] = load_plain(next + 2 * i, position, w_.OtherHalf(position));
        });
        Unroll<kCoreAtOnce>(
            [&](auto i) { w_.PutLastWord(next + 2 * i, Fma2(both[i], kHalfTwoTo10, 0)); });
      }
      core_done = next;
      next = Graph::kCoreColumns + w_.team;
#pragma unroll 1
      for (; next + 2 * kAtOnce <= end + 1; next += 2 * kAtOnce) {
        uint32_t both[kAtOnce];
        Unroll<kAtOnce>(
            [&](auto i) { both[i] = load_plain(next + 2 * i, w_.row, w_.row + w_.Half()); });
        Unroll<kAtOnce>([&](auto i) {
          w_.Channel(next + 2 * i - Graph::kCoreColumns) =
              Fma2(both[i], kHalfTwoTo10, kHalfMinus128);
        });
      }
    }
    // What is left.
#pragma unroll 1
    for (uint32_t c = w_.team; c < columns; c += 2) {
      if (c >= begin && c < core_done) c = core_done;
      if (c >= Graph::kCoreColumns && c < next) c = next;
      if (c >= columns) break;
      const uint32_t position = c < Graph::kCoreColumns ? w_.LastPosition(c) : w_.row;
      const auto load = [&](uint32_t at) {
        return static_cast<uint32_t>(LoadChannel(shape, block, staged, c * w_.Zc() + at) + 128);
      };
      const uint32_t both = load(position) | load(w_.OtherHalf(position)) << 16;
      if (c < Graph::kCoreColumns) {
        w_.PutLastWord(c, Fma2(both, kHalfTwoTo10, 0));
      } else {
        w_.Channel(c - Graph::kCoreColumns) = Fma2(both, kHalfTwoTo10, kHalfMinus128);
      }
    }
  }

 private:
  // Of the core columns of one team, the plain ones, in groups that are plain. Returns the first
  // that is left. `first`: where the LLR of position 0 of column 0 would be.
  template <int kTeam>
  __device__ __forceinline__ uint32_t LoadCore(const int8_t* first, uint32_t begin,
                                               uint32_t end) const {
    using T = NarrowTurns<Graph, kMaxRows>;
    constexpr int kAtOnce = 6;
    constexpr int kPunctured = 2;
    static_assert((Graph::kCoreColumns - kPunctured) % (2 * kAtOnce) == 0);
    uint32_t next = begin + kTeam;
    Unroll<(Graph::kCoreColumns - kPunctured) / (2 * kAtOnce)>([&](auto group) {
      constexpr int kFirst = kPunctured + kTeam + 2 * kAtOnce * group;
      if (next != kFirst || kFirst + 2 * (kAtOnce - 1) >= end) return;
      uint32_t both[kAtOnce];
      Unroll<kAtOnce>([&](auto i) {
        constexpr int kColumn = kFirst + 2 * i;
        constexpr uint32_t kShift = T::template kLastShift<kColumn>;
        uint32_t position = w_.row + kShift;
        if (kShift > W::kStride && position >= Graph::kZc) position -= Graph::kZc;
        const int8_t* column = first + kColumn * Graph::kZc;
        both[i] = Biased(column[position]) | Biased(column[w_.OtherHalf(position)]) << 16;
      });
      Unroll<kAtOnce>([&](auto i) {
        constexpr int kColumn = kFirst + 2 * i;
        const uint32_t word = Fma2(both[i], kHalfTwoTo10, 0);
        T::template Put<T::template kLastEdge<kColumn>>(
            w_.Slot(kColumn, T::template kLastSlot<kColumn>) + w_.row, word, W::Exchange(word));
      });
      next = kFirst + 2 * kAtOnce;
    });
    return next;
  }
  // Of the extension columns below `end`, four positions and the same of the other half at a time.
  __device__ __forceinline__ void LoadChannels(const int8_t* first, uint32_t end) const {
    constexpr uint32_t kFours = W::kStride / 4;
    constexpr uint32_t kColumnsAtOnce = Graph::kZc / kFours;
    constexpr int kAtOnce = 3;
    const uint32_t four = threadIdx.x % kFours;
    uint32_t column = Graph::kCoreColumns + threadIdx.x / kFours;
    // Of words that begin before them.
    const uint32_t cut = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(first)) % 4;
    const auto* words = reinterpret_cast<const uint32_t*>(first - cut) + four;
    const auto load = [&](const uint32_t* at) {
      return __funnelshift_r(at[0], at[1], 8 * cut) ^ 0x80808080;  // ch + 128
    };
#pragma unroll 1
    for (; column < end; column += kAtOnce * kColumnsAtOnce) {
      uint32_t low[kAtOnce];
      uint32_t high[kAtOnce];
      Unroll<kAtOnce>([&](auto i) {
        const uint32_t c = min(column + i * kColumnsAtOnce, end - 1);
        low[i] = load(words + c * (Graph::kZc / 4));
        high[i] = load(words + c * (Graph::kZc / 4) + kFours);
      });
      Unroll<kAtOnce>([&](auto i) {
        const uint32_t c = column + i * kColumnsAtOnce;
        const uint32_t two[2] = {__byte_perm(low[i], high[i], 0x5140),
                                 __byte_perm(low[i], high[i], 0x7362)};
        uint32_t channel[4];
        Unroll<4>([&](auto j) {
          // -128 reads as -127
          const uint32_t biased = Max2(UnpackMessage(two[j / 2], j % 2), Both(1));
          channel[j] = Fma2(biased, kHalfTwoTo10, kHalfMinus128);
        });
        if (c < end) {
          *reinterpret_cast<uint4*>(w_.shared + W::kChannelBegin +
                                    (c - Graph::kCoreColumns) * W::kStride + 4 * four) =
              make_uint4(channel[0], channel[1], channel[2], channel[3]);
        }
      });
    }
  }

  // One LLR as ch + 128.
  __device__ __forceinline__ static uint32_t Biased(int8_t llr) {
    return static_cast<uint32_t>(__viaddmax_s32(llr, 128, 1));  // -128 reads as -127
  }

  const W& w_;
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NARROW_LOAD_CUH_
