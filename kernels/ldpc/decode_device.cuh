// What the half-precision decoder kernels share beside their arithmetic (decode_half.cuh): the way
// of LLRs into a thread block, of bits and soft values out of it, and when a code word is done.
// Device code. The narrow kernels have their own way (decode_narrow_io.cuh) and share no more than
// a launch's and a code's measures.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_DEVICE_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_DEVICE_CUH_

#include <cstdint>

#include "kernels/ldpc/decode_gpu.h"
#include "kernels/ldpc/decode_half.cuh"
#include "kernels/ldpc/decode_math.h"

namespace baseband::ldpc::device {

// A launch's blocks and buffers; see DecodeBatch.
struct DecodeIo {
  const DecodeBlock* blocks;
  uint8_t* bits;
  int8_t* soft;
  DecodeResult* results;
  const uint32_t* crc_powers;  // [k]: see decode_crc.cuh; null if no CRC stops code words
  int num_blocks;
};

// A code's measures, and how it is cut into thread blocks: `pairs` pairs of code words side by side
// in each, thread t working on row t % zc of pair t / zc.
struct DecodeShape {
  uint32_t zc;
  uint32_t zc_magic;
  uint32_t pairs;
  uint32_t rows;
  uint32_t columns;
  uint32_t k;
  uint32_t punctured_bits;
  uint32_t num_sent;
  uint32_t max_iterations;
  bool early_termination;
  bool hard_input;
};

// The channel value of one code bit, 0 where nothing was received. `llr` is the block's first LLR.
__device__ __forceinline__ int LoadChannel(const DecodeShape& shape, const DecodeBlock& block,
                                           const int8_t* llr, uint32_t bit) {
  if (bit < shape.k && bit >= shape.k - block.num_filler) return kLlrMax;
  const uint32_t sent = bit - shape.punctured_bits;  // huge for a punctured bit
  return ChannelValue(sent < block.llr_count ? llr[sent] : 0, shape.hard_input);
}

// The two blocks of a pair. Past the end of the launch the last block stands in, which costs less
// than to ask at every column; nothing is written of a stand-in, for its state is kWritten.
__device__ __forceinline__ void LoadBlocks(const DecodeIo& io, uint32_t pair,
                                           DecodeBlock (&block)[2]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    block[i] = io.blocks[min(2 * pair + i, static_cast<uint32_t>(io.num_blocks - 1))];
  }
}

// The LLRs of the thread block's code words on their way into the decoder. First all are copied to
// shared memory without a stop, in aligned words, whatever their offsets; so that a thread waits
// for device memory once, not at every column. The copies lie where the messages will be.
//
//   device memory   ..|....|..xx|xxxx|xxx.|..    x: LLRs of a code word, four in a word
//   staged                |..xx|xxxx|xxx.|
class StagedLlr {
 public:
  // Words that a code word takes: the first and the last may be cut.
  BASEBAND_HOST_DEVICE static constexpr uint32_t Words(uint32_t num_sent) {
    return num_sent / 4 + 2;
  }

  // Starts the copies of the thread block's pair `pair`, by that pair's own zc threads.
  __device__ __forceinline__ StagedLlr(const DecodeIo& io, const DecodeShape& shape,
                                       uint32_t* staged, uint32_t pair, uint32_t row)
      : shape_(shape), row_(row) {
    LoadBlocks(io, blockIdx.x * shape.pairs + pair, block_);
    const uint32_t stride = Words(shape.num_sent);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const auto skip = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(block_[i].llr) % 4);
      const uint32_t words = block_[i].llr_count == 0 ? 0 : (skip + block_[i].llr_count + 3) / 4;
      const int8_t* from = block_[i].llr - skip;
      uint32_t* to = staged + (2 * pair + i) * stride;
      llr_[i] = reinterpret_cast<const int8_t*>(to) + skip;
      const uint32_t target = static_cast<uint32_t>(__cvta_generic_to_shared(to));
      for (uint32_t w = row; w < words; w += shape.zc) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(target + 4 * w),
                     "l"(from + 4 * w)
                     : "memory");
      }
    }
  }

  // Waits until all threads' copies are there.
  __device__ __forceinline__ void Wait() const {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
  }

  // Stores column 0 .. columns - 1 of both code words as app without messages, at app[column *
  // stride]; from column `unbiased` on as ch * 2^-14. In the middle lie the plain columns, all of
  // whose bits were received of both code words: there nothing needs to be compared.
  __device__ __forceinline__ void Store(uint32_t columns, uint32_t unbiased, uint32_t* app,
                                        uint32_t stride) const {
    const uint32_t begin = min(columns, (shape_.punctured_bits + shape_.zc - 1) / shape_.zc);
    const uint32_t end = max(begin, min(columns, min(PlainEnd(0), PlainEnd(1))));
    for (uint32_t c = 0; c < begin; ++c) app[c * stride] = Load(c, unbiased);
    const int8_t* first = llr_[0] + begin * shape_.zc - shape_.punctured_bits + row_;
    const int8_t* second = llr_[1] + begin * shape_.zc - shape_.punctured_bits + row_;
#pragma unroll 4
    for (uint32_t c = begin; c < end; ++c, first += shape_.zc, second += shape_.zc) {
      // -128 reads as -127
      app[c * stride] =
          ToApp(static_cast<uint32_t>(__viaddmax_s32(*first, 128, 1)),
                static_cast<uint32_t>(__viaddmax_s32(*second, 128, 1)), c >= unbiased);
    }
    for (uint32_t c = end; c < columns; ++c) app[c * stride] = Load(c, unbiased);
  }

 private:
  __device__ __forceinline__ uint32_t PlainEnd(int i) const {
    if (shape_.hard_input) return 0;
    const uint32_t received = (block_[i].llr_count + shape_.punctured_bits) / shape_.zc;
    const uint32_t filler =
        block_[i].num_filler == 0 ? received : (shape_.k - block_[i].num_filler) / shape_.zc;
    return min(received, filler);
  }
  __device__ __forceinline__ uint32_t Load(uint32_t column, uint32_t unbiased) const {
    const uint32_t bit = column * shape_.zc + row_;
    return ToApp(LoadChannel(shape_, block_[0], llr_[0], bit) + 128,
                 LoadChannel(shape_, block_[1], llr_[1], bit) + 128, column >= unbiased);
  }
  // Of ch + 128 twice.
  __device__ __forceinline__ static uint32_t ToApp(uint32_t first, uint32_t second,
                                                   bool without_bias) {
    return Fma2(first | second << 16, kHalfTwoTo10, without_bias ? kHalfMinus128 : 0);
  }

  const DecodeShape& shape_;
  uint32_t row_;
  DecodeBlock block_[2];
  const int8_t* llr_[2];
};

// Writes the information bits of those code words whose `state` is kFinished. A thread makes one
// 32-bit word of both code words of a pair at a time; it starts at its own lane's bit, so that the
// threads of a warp read different banks.
enum State : uint32_t { kRunning, kFinished, kWritten };

__device__ __forceinline__ uint32_t KeepFirstBits(uint32_t word, uint32_t count) {
  if (count >= 32) return word;
  return word & __byte_perm(__brev((1u << count) - 1), 0, 0x0123);
}

// app: [column][stride words], the pairs of the thread block side by side in a column.
__device__ __forceinline__ void WriteBits(const DecodeIo& io, const DecodeShape& shape,
                                          const uint32_t* app, uint32_t stride,
                                          const uint32_t* state) {
  const uint32_t words = (shape.k + 31) / 32;
  const uint32_t first_block = blockIdx.x * shape.pairs * 2;
  for (uint32_t i = threadIdx.x; i < shape.pairs * words; i += blockDim.x) {
    const uint32_t pair = i / words;
    const uint32_t first_bit = (i - pair * words) * 32;
    const bool wanted[2] = {state[2 * pair] == kFinished, state[2 * pair + 1] == kFinished};
    if (!wanted[0] && !wanted[1]) continue;
    uint32_t word[2] = {0, 0};
#pragma unroll 4
    for (uint32_t j = 0; j < 32; ++j) {
      const uint32_t b = (j + threadIdx.x) % 32;
      const uint32_t bit = first_bit + b;
      if (bit >= shape.k) continue;
      const uint32_t column = Divide(bit, shape.zc_magic);
      const uint32_t at = column * stride + pair * shape.zc + bit - column * shape.zc;
      const uint32_t signs = Add2(app[at], kHalfMinus128) & kSigns;
      word[0] |= (signs >> 15 & 1) << (b ^ 7);  // most significant bit of a byte first
      word[1] |= (signs >> 31) << (b ^ 7);
    }
    for (uint32_t half = 0; half < 2; ++half) {
      if (!wanted[half]) continue;
      const DecodeBlock& block = io.blocks[first_block + 2 * pair + half];
      const uint32_t num_bits = shape.k - block.num_filler;
      if (first_bit >= num_bits) continue;
      reinterpret_cast<uint32_t*>(io.bits + block.bits_offset)[first_bit / 32] =
          KeepFirstBits(word[half], num_bits - first_bit);
    }
  }
}

// Both code words' soft values of one stored app, as two's complement in the low bytes of the
// halves: clipped to +-127 around the stored 128, then 128 + soft as a denormal.
__device__ __forceinline__ uint32_t ToSoft(uint32_t app) {
  const uint32_t clipped = Clamp2(app, kHalfUnit, Both(0x23f8));  // 1 and 255 times 2^-14
  return Fma2(clipped, Both(0x1400), 0) ^ Both(0x80);             // 2^-10
}

// Writes the soft values of those code words whose `state` is kFinished. soft_of(column, half):
// that of this thread's row, in the low byte.
template <class SoftOf>
__device__ __forceinline__ void WriteSoft(const DecodeIo& io, const DecodeShape& shape,
                                          const uint32_t* state, const SoftOf& soft_of) {
  const uint32_t pair = threadIdx.x / shape.zc;
  const uint32_t row = threadIdx.x - pair * shape.zc;
  const uint32_t first_block = (blockIdx.x * shape.pairs + pair) * 2;
  for (uint32_t half = 0; half < 2; ++half) {
    if (state[2 * pair + half] != kFinished) continue;
    const uint32_t offset = io.blocks[first_block + half].soft_offset;
    if (offset == kNoSoft) continue;
    int8_t* soft = io.soft + offset + row;
#pragma unroll 4
    for (uint32_t column = 0; column < shape.columns; ++column) {
      soft[column * shape.zc] = static_cast<int8_t>(soft_of(column, half));
    }
  }
}

// What the threads of a block know together, in shared memory.
struct Progress {
  uint32_t* state;  // [2 * pairs], a State each
  uint32_t* fail;   // [pairs] bit 0 and 1: a check of the first or second code word does not hold
};

__device__ __forceinline__ void InitProgress(const DecodeIo& io, const DecodeShape& shape,
                                             const Progress& progress) {
  const uint32_t words = 2 * shape.pairs;
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) {
    const bool exists = blockIdx.x * words + i < io.num_blocks;
    progress.state[i] = exists ? kRunning : kWritten;
    if (i < shape.pairs) progress.fail[i] = 0;
  }
}

// In the place of a CrcStop (decode_crc.cuh): parity checks alone stop code words.
struct NoCrcStop {
  static constexpr bool kIsThere = false;
};

// After iteration `iteration`: evaluates the parity checks, settles what is finished, and says
// whether every code word of the thread block is. A code word is settled once: what is written is
// its state at that iteration, whatever its neighbours still do. All threads of the block call it.
//   check_first(), check_others(): this thread's checks in the first row, and in all others; the
//                                  sign bit of a half set if one of them does not hold
//   write(): writes the code words in state kFinished
//   crc: cleared for all code words before the first call, which leaves it so
template <class CheckFirst, class CheckOthers, class Write, class Crc>
__device__ __forceinline__ bool Settle(const DecodeIo& io, const DecodeShape& shape,
                                       const Progress& progress, uint32_t iteration,
                                       const CheckFirst& check_first,
                                       const CheckOthers& check_others, const Write& write,
                                       const Crc& crc) {
  const uint32_t pair = threadIdx.x / shape.zc;
  const auto note = [&](uint32_t failed) {
    if (failed != 0) atomicOr(&progress.fail[pair], (failed >> 15 & 1) | (failed >> 30 & 2));
    __syncthreads();
  };
  const auto may_hold = [&] {
    const uint32_t fail = progress.fail[pair];
    return (progress.state[2 * pair] == kRunning && (fail & 1) == 0) ||
           (progress.state[2 * pair + 1] == kRunning && (fail & 2) == 0);
  };
  // Almost every wrong code word breaks a check of the first row: look at that one first.
  __syncthreads();
  note(check_first());
  const bool worth_it = may_hold();
  if (__syncthreads_or(worth_it)) note(worth_it ? check_others() : 0);

  const uint32_t words = 2 * shape.pairs;
  const bool last = iteration == shape.max_iterations;
  if constexpr (Crc::kIsThere) {
    const uint32_t fail = progress.fail[pair];
    const bool looks = !last && ((progress.state[2 * pair] == kRunning && (fail & 1) != 0) ||
                                 (progress.state[2 * pair + 1] == kRunning && (fail & 2) != 0));
    if (__syncthreads_or(looks)) {
      if (looks) crc.Add(pair);
      __syncthreads();
    }
  }
  bool running = false;
  bool finished = false;
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) {
    if (progress.state[i] != kRunning) continue;
    const bool holds = (progress.fail[i / 2] >> (i % 2) & 1) == 0;
    bool stops = holds || last;
    if constexpr (Crc::kIsThere) stops = stops || crc.Stops(i);
    if (stops) {
      progress.state[i] = kFinished;
      DecodeResult result;
      result.iterations = static_cast<uint16_t>(iteration);
      result.parity_ok = holds;
      io.results[io.blocks[blockIdx.x * words + i].result_index] = result;
      finished = true;
    } else {
      running = true;
    }
  }
  if (__syncthreads_or(finished)) write();
  const bool all_settled = !__syncthreads_or(running);
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) {
    if (progress.state[i] == kFinished) progress.state[i] = kWritten;
    if (i < shape.pairs) progress.fail[i] = 0;
    if constexpr (Crc::kIsThere) crc.Clear(i);
  }
  return all_settled;  // the barrier before the next evaluation orders the stores above
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_DEVICE_CUH_
