// How a code word leaves the narrow decoder (decode_narrow.cuh): after an iteration the decided
// bits, the checks and the result. How it comes in: decode_narrow_load.cuh. Device code.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NARROW_IO_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NARROW_IO_CUH_

#include <cuda_runtime_api.h>

#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_narrow_word.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

template <class Graph, int kMaxRows, bool kAllRows, bool kCrc>
class NarrowIo {
  using W = NarrowWord<Graph, kMaxRows, kAllRows>;

 public:
  __device__ __forceinline__ explicit NarrowIo(const W& word) : w_(word) {}

  // Evaluates the checks, and if the code word is finished, writes all of it and returns true.
  __device__ __forceinline__ bool Settle(uint32_t iteration) {
    const bool is_last = iteration == w_.p.shape.max_iterations;
    __syncthreads();
    Decide();
    if (W::kExtensions > 0 && is_last) DecideExtensions();
    __syncthreads();
    if (w_.Half() % 32 != 0) {
      Unfold();
      __syncthreads();
    }
    const uint32_t num_bits = w_.shared[W::kBlockBegin];
    if (is_last) WriteBits(num_bits);  // on their way while the checks are made
    // Almost every wrong code word breaks a check of the first rows.
    bool fails = __syncthreads_or(Fails(0, is_last ? w_.Rows() : Graph::kDenseRows));
    if (W::kExtensions > 0 && !fails && !is_last) {
      DecideExtensions();
      __syncthreads();
      fails = __syncthreads_or(Fails(Graph::kDenseRows, w_.Rows()));
    }
    if (!fails && num_bits != w_.p.shape.k) fails = __syncthreads_or(AnyFillerIsOne(num_bits));
    if (fails && !is_last) {
      if constexpr (kCrc) {
        if (!StopsByCrc(num_bits)) return false;
      } else {
        return false;
      }
    }
    if (threadIdx.x == 0) {
      DecodeResult result;
      result.iterations = static_cast<uint16_t>(iteration);
      result.parity_ok = !fails;
      w_.p.io.results[w_.shared[W::kBlockBegin + 2]] = result;
    }
    if (!is_last) WriteBits(num_bits);
    return true;
  }

 private:
  // 32 bits from bit `at` of an array on.
  __device__ __forceinline__ static uint32_t BitsAt(const uint32_t* words, uint32_t at) {
    return __funnelshift_r(words[at / 32], words[at / 32 + 1], at);
  }
  __device__ __forceinline__ static uint32_t LowBits(uint32_t count) {
    return count >= 32 ? ~0u : (1u << count) - 1;
  }

  // `bits`, or `folded` if half a column is not whole words, from the slots. By all threads, after
  // a barrier; one follows.
  __device__ __forceinline__ void Decide() {
    const uint32_t lane = w_.row % 32;
    const uint32_t word = w_.row / 32;
    const bool whole_words = w_.Half() % 32 == 0;
    const uint32_t half_words = w_.Half() / 32;
    constexpr int kColumns = Graph::kCoreColumns / 2;
    static_assert(Graph::kCoreColumns % 2 == 0);
    uint32_t app[kColumns];
    Unroll<kColumns>([&](auto i) { app[i] = *w_.LastWord(w_.team + 2 * i); });
    Unroll<kColumns>([&](auto i) {
      const uint32_t c = w_.team + 2 * i;
      // Halves are in order as integers where one of them is positive.
      const uint32_t low = __ballot_sync(~0u, static_cast<int32_t>(app[i] << 16) < W::k128High);
      const uint32_t high =
          __ballot_sync(~0u, static_cast<int32_t>(app[i] & 0xffff0000) < W::k128High);
      if (whole_words) {  // twice each, in their places
        if (lane < 4) {
          w_.shared[W::kBitsBegin + c * W::kBitsStride + lane * half_words + word] =
              lane % 2 == 0 ? low : high;
        }
      } else if (lane < 2) {
        w_.shared[W::kFoldedBegin + (c * 2 + lane) * W::kFoldedStride + word] =
            lane == 0 ? low : high;
      }
    });
  }
  // `bits` from `folded`.
  __device__ __forceinline__ void Unfold() {
    for (uint32_t i = threadIdx.x; i < Graph::kCoreColumns * W::kBitsStride; i += w_.Threads()) {
      const uint32_t c = i / W::kBitsStride;
      uint32_t segment = 32 * (i - c * W::kBitsStride);
      if (segment >= 2 * w_.Zc() + 32) continue;
      uint32_t which = 0;
      while (segment >= w_.Half()) {
        segment -= w_.Half();
        which ^= 1;
      }
      uint32_t bits = 0;
      for (uint32_t filled = 0; filled < 32; filled += w_.Half() - segment, segment = 0) {
        bits |= (BitsAt(w_.shared + W::kFoldedBegin + (c * 2 + which) * W::kFoldedStride, segment) &
                 LowBits(w_.Half() - segment))
                << filled;
        which ^= 1;
      }
      w_.shared[W::kBitsBegin + i] = bits;
    }
  }

  // The decided bits of the extension columns: the signs of ch + r, r from the rows' core edges. By
  // all threads; a barrier follows.
  __device__ __forceinline__ void DecideExtensions() {
    const uint32_t lane = w_.row % 32;
    constexpr int kAtOnce = 7;
#pragma unroll 1
    for (uint32_t first = Graph::kDenseRows + w_.team; first < w_.Rows(); first += 2 * kAtOnce) {
      uint32_t app[kAtOnce];
      Unroll<kAtOnce>([&](auto i) {
        const uint32_t r = min(first + 2 * i, w_.Rows() - 1);
        const bool is_heavy = (__funnelshift_rc(w_.p.heavy_rows, 0, r) & 1) != 0;
        const uint32_t x = BoxPlus(w_.Total(r - Graph::kDenseRows), w_.p.limit);
        const uint32_t y = is_heavy ? w_.p.heavy.Of(x) : w_.p.light.Of(x);
        app[i] = Add2(w_.Channel(r - Graph::kDenseRows), Fma2(y, kHalfTwoTo10, kHalfMinus128));
      });
      Unroll<kAtOnce>([&](auto i) {
        const uint32_t r = first + 2 * i;
        const uint32_t low = __ballot_sync(~0u, (app[i] & 0x8000) != 0);
        const uint32_t high = __ballot_sync(~0u, (app[i] & 0x80000000) != 0);
        if (lane < 2 && r < w_.Rows()) {
          w_.shared[W::kExtensionBegin + ((r - Graph::kDenseRows) * 2 + lane) * W::kHalfWords +
                    w_.row / 32] = lane == 0 ? low : high;
        }
      });
    }
  }

  // Whether one of this thread's share of the checks of rows from .. to - 1 does not hold. A warp
  // takes a row, a thread of it 32 checks, with half of their edges.
  __device__ __forceinline__ bool Fails(uint32_t from, uint32_t to) const {
    const uint32_t lane = threadIdx.x % 16;
    const uint32_t half_words = w_.TeamThreads() / 32;
    static_assert(2 * W::kHalfWords <= 16);
    const bool is_idle = lane >= 2 * half_words;
    const uint32_t side = !is_idle && lane >= half_words ? 1 : 0;
    const uint32_t word = is_idle ? 0 : lane - side * half_words;
    const uint32_t first = side * w_.Half() + 32 * word;
    const uint32_t mask = LowBits(w_.Half() - 32 * word);
    const uint32_t part = threadIdx.x / 16 % 2;
    uint32_t failed = 0;
#pragma unroll 1
    for (uint32_t r = from + threadIdx.x / 32; r < to; r += w_.Threads() / 32) {
      uint32_t parity = 0;
      if (part == 0 && r >= Graph::kDenseRows) {
        parity = w_.shared[W::kExtensionBegin +
                           ((r - Graph::kDenseRows) * 2 + side) * W::kHalfWords + word];
      }
      for (uint32_t i = w_.p.check_begin[r] + part; i < w_.p.check_begin[r + 1]; i += 2) {
        Unroll<4>([&](auto j) {
          parity ^= BitsAt(w_.shared + W::kBitsBegin, w_.p.check[i].first_bit[j] + first);
        });
      }
      parity ^= __shfl_xor_sync(~0u, parity, 16);
      failed |= parity & mask;
    }
    return failed != 0;
  }

  // Which of `bits` is the one of a position.
  __device__ __forceinline__ uint32_t FirstBit(uint32_t column, uint32_t position) const {
    const uint32_t shift = w_.p.last_shift[column];
    return column * (W::kBitsStride * 32) + position - shift + (position < shift ? w_.Zc() : 0);
  }

  // Whether one of this thread's share of the fillers, bits num_bits .. k - 1, was decided 1.
  __device__ __forceinline__ bool AnyFillerIsOne(uint32_t num_bits) const {
    const uint32_t zc = w_.Zc();
    uint32_t ones = 0;
#pragma unroll 1
    for (uint32_t bit = num_bits + threadIdx.x; bit < w_.p.shape.k; bit += w_.Threads()) {
      const uint32_t column = w_.ColumnOf(bit);
      const uint32_t at = FirstBit(column, bit - column * zc);
      ones |= w_.shared[W::kBitsBegin + at / 32] >> (at % 32) & 1;
    }
    return ones != 0;
  }

  // What decode_crc.cuh says, of one code word.
  __device__ __forceinline__ bool StopsByCrc(uint32_t num_bits) {
    const uint32_t zc = w_.Zc();
    uint32_t* crc = w_.shared + W::kCrcBegin;  // the sum; whether there is a bit that is 1
    uint32_t sum = 0;
    uint32_t ones = 0;
    if (threadIdx.x < zc) {
      const uint32_t* power = w_.p.io.crc_powers + (w_.p.shape.k - 1 - threadIdx.x);
#pragma unroll 4
      for (uint32_t c = 0; c * zc + threadIdx.x < num_bits; ++c) {
        const uint32_t x = __ldg(power);
        const uint32_t at = FirstBit(c, threadIdx.x);
        const uint32_t one = w_.shared[W::kBitsBegin + at / 32] >> (at % 32) & 1;
        sum ^= one != 0 ? x : 0;
        ones |= one;
        power -= zc;
      }
    }
    sum = __reduce_xor_sync(~0u, sum);
    ones = __reduce_or_sync(~0u, ones);
    if (threadIdx.x % 32 == 0) {
      if (sum != 0) atomicXor(&crc[0], sum);
      if (ones != 0) atomicOr(&crc[1], ones);
    }
    __syncthreads();
    const bool stops = crc[0] == 0 && crc[1] != 0;
    __syncthreads();
    if (threadIdx.x < 2) crc[threadIdx.x] = 0;
    return stops;
  }

  __device__ __forceinline__ void WriteBits(uint32_t num_bits) const {
    auto* to = reinterpret_cast<uint32_t*>(w_.p.io.bits + w_.shared[W::kBlockBegin + 1]);
    const uint32_t zc = w_.Zc();
    for (uint32_t w = threadIdx.x; w * 32 < num_bits; w += w_.Threads()) {
      uint32_t column = w_.ColumnOf(w * 32);
      uint32_t position = w * 32 - column * zc;
      uint32_t bits = 0;
      for (uint32_t filled = 0; filled < 32 && column < Graph::kCoreColumns;
           filled += zc - position, position = 0, ++column) {
        bits |=
            (BitsAt(w_.shared + W::kBitsBegin, FirstBit(column, position)) & LowBits(zc - position))
            << filled;
      }
      // the first in the most significant bit of a byte
      to[w] = KeepFirstBits(__byte_perm(__brev(bits), 0, 0x0123), num_bits - w * 32);
    }
  }

  const W& w_;
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NARROW_IO_CUH_
