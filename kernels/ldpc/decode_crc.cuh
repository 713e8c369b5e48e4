// Whether the information bits of code words end in a right CRC, which may stop a word whose parity
// checks do not hold (decode.h). Device code.
//
// A CRC is linear: a bit that `b` bits follow adds x^b modulo the polynomial g, and all that is
// added up is 0 if the CRC is right. The thread of row z takes bit z of every column, and looks its
// powers up. Fillers count as zeros that follow, which multiply the sum by a power of x: it is 0
// or not as before, and both code words of a pair have the same powers.
//
//   column         0                 1                   ..
//   bit            z                 zc + z
//   power          k - 1 - z         k - 1 - zc - z           next to each other in a warp
#ifndef BASEBAND_KERNELS_LDPC_DECODE_CRC_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_CRC_CUH_

#include <cstdint>

#include "kernels/ldpc/decode_device.cuh"

namespace baseband::ldpc::device {

// The code words of a thread block; all its threads make one. In shared memory: [3 * pairs].
class CrcStop {
 public:
  static constexpr bool kIsThere = true;
  static constexpr uint32_t kWordsPerPair = 3;

  // app: [column][stride words], a thread's own column from its own place on.
  __device__ __forceinline__ CrcStop(const DecodeIo& io, const DecodeShape& shape, uint32_t* shared,
                                     const uint32_t* app, uint32_t stride)
      : io_(io),
        shape_(shape),
        sums_(shared),
        ones_(shared + 2 * shape.pairs),
        app_(app + threadIdx.x),
        stride_(stride) {}

  // Forgets what was added for code word `word`; by one thread.
  __device__ __forceinline__ void Clear(uint32_t word) const {
    sums_[word] = 0;
    if (word % 2 == 0) ones_[word / 2] = 0;
  }

  // Adds the bits of both code words of `pair`; by all of its threads.
  __device__ __forceinline__ void Add(uint32_t pair) const {
    DecodeBlock block[2];
    LoadBlocks(io_, blockIdx.x * shape_.pairs + pair, block);
    const uint32_t end[2] = {shape_.k - block[0].num_filler, shape_.k - block[1].num_filler};
    const uint32_t row = threadIdx.x - pair * shape_.zc;
    const uint32_t* app = app_;
    const uint32_t* power = io_.crc_powers + (shape_.k - 1 - row);
    uint32_t sum[2] = {0, 0};
    uint32_t ones = 0;
    const auto add = [&](uint32_t signs) {
      const uint32_t x = __ldg(power);
      if ((signs & 0x8000) != 0) sum[0] ^= x;
      if ((signs & 0x80000000) != 0) sum[1] ^= x;
      ones |= signs;
      app += stride_;
      power -= shape_.zc;
    };
    // Columns that have no filler in either code word, then those that have.
    const uint32_t plain = Divide(min(end[0], end[1]), shape_.zc_magic);
#pragma unroll 8
    for (uint32_t column = 0; column < plain; ++column) add(Add2(*app, kHalfMinus128));
    for (uint32_t bit = plain * shape_.zc + row; bit < max(end[0], end[1]); bit += shape_.zc) {
      const uint32_t wanted = (bit < end[0] ? 0x8000 : 0) | (bit < end[1] ? 0x80000000 : 0);
      add(Add2(*app, kHalfMinus128) & wanted);
    }
    ones = (ones >> 15 & 1) | (ones >> 30 & 2);
    // Where warps belong to one pair, their first threads add for all.
    if (shape_.pairs == 1 || shape_.zc % 32 == 0) {
      sum[0] = __reduce_xor_sync(kWholeWarp, sum[0]);
      sum[1] = __reduce_xor_sync(kWholeWarp, sum[1]);
      ones = __reduce_or_sync(kWholeWarp, ones);
      if (threadIdx.x % 32 != 0) return;
    }
    if (sum[0] != 0) atomicXor(&sums_[2 * pair], sum[0]);
    if (sum[1] != 0) atomicXor(&sums_[2 * pair + 1], sum[1]);
    if (ones != 0) atomicOr(&ones_[pair], ones);
  }

  // Whether code word `word` stops. False if nothing was added for it.
  __device__ __forceinline__ bool Stops(uint32_t word) const {
    return sums_[word] == 0 && (ones_[word / 2] >> (word % 2) & 1) != 0;
  }

 private:
  const DecodeIo& io_;
  const DecodeShape& shape_;
  uint32_t* sums_;  // [2 * pairs]
  uint32_t* ones_;  // [pairs], bit 0 and 1: the first or second code word has a bit that is 1
  const uint32_t* app_;
  uint32_t stride_;
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_CRC_CUH_
