// What a launch and a code are to every kernel, and what the half-precision ones share beside their
// arithmetic (decode_half.cuh) and the way of LLRs into a thread block (decode_staged.cuh): the way
// of bits and soft values out of it, and when a code word is done. Device code. The narrow kernels
// have their own way (decode_narrow_io.cuh) and share no more than a launch's and a code's
// measures.
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

// All threads of a warp. Those that the last warp of a thread block lacks count as exited, which
// may be named.
inline constexpr uint32_t kWholeWarp = 0xffffffff;

enum State : uint32_t { kRunning, kFinished, kWritten };

__device__ __forceinline__ uint32_t KeepFirstBits(uint32_t word, uint32_t count) {
  if (count >= 32) return word;
  return word & __byte_perm(__brev((1u << count) - 1), 0, 0x0123);
}

// The way of a thread block's information bits out of it.
class BitWriter {
 public:
  // app: [column][stride words], the pairs of the thread block side by side in a column.
  __device__ __forceinline__ BitWriter(const DecodeIo& io, const DecodeShape& shape,
                                       const uint32_t* app, uint32_t stride, const uint32_t* state)
      : io_(io), shape_(shape), app_(app), stride_(stride), state_(state) {}

  // Writes those code words whose `state` is kFinished.
  __device__ __forceinline__ void Write() const {
    const uint32_t columns = Divide(shape_.k, shape_.zc_magic);
    if (shape_.pairs == 1 && shape_.zc % 32 == 0 && columns <= 32) {
      WriteColumns(columns);
    } else {
      WriteWords();
    }
  }

  // Of those of `pair`, bits 32 * index .. 32 * index + 31, the first in the least significant bit
  // of word[half].
  __device__ __forceinline__ void Put(uint32_t pair, uint32_t index,
                                      const uint32_t (&word)[2]) const {
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      if (state_[2 * pair + half] != kFinished) continue;
      const DecodeBlock& block = io_.blocks[(blockIdx.x * shape_.pairs + pair) * 2 + half];
      const uint32_t num_bits = shape_.k - block.num_filler;
      if (32 * index >= num_bits) continue;
      const uint32_t bytes = __byte_perm(__brev(word[half]), 0, 0x0123);  // most significant first
      reinterpret_cast<uint32_t*>(io_.bits + block.bits_offset)[index] =
          KeepFirstBits(bytes, num_bits - 32 * index);
    }
  }

 private:
  // A warp takes consecutive words of 32 bits, a bit of both code words of a pair in each thread;
  // the n-th thread keeps the n-th word.
  __device__ __forceinline__ void WriteWords() const {
    const uint32_t words = (shape_.k + 31) / 32;
    const uint32_t all = shape_.pairs * words;
    const uint32_t warps = blockDim.x / 32;  // whole ones
    if (warps == 0) return WriteByThreads(words);
    if (threadIdx.x / 32 >= warps) return;
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t share = min(32u, (all + warps - 1) / warps);
    for (uint32_t begin = threadIdx.x / 32 * share; begin < all; begin += warps * share) {
      const uint32_t end = min(begin + share, all);
      uint32_t mine[2] = {0, 0};
      uint32_t i = begin;
      while (i < end) {  // the words of one pair
        const uint32_t pair = i / words;
        const uint32_t stop = min(end, (pair + 1) * words);
        uint32_t bit = (i - pair * words) * 32 + lane;
#pragma unroll 4
        for (; i < stop; ++i, bit += 32) {
          const uint32_t signs = Signs(pair, bit);
          const uint32_t first = __ballot_sync(0xffffffff, (signs & 0x8000) != 0);
          const uint32_t second = __ballot_sync(0xffffffff, static_cast<int32_t>(signs) < 0);
          mine[0] = i - begin == lane ? first : mine[0];
          mine[1] = i - begin == lane ? second : mine[1];
        }
      }
      if (begin + lane < end) {
        const uint32_t pair = (begin + lane) / words;
        Put(pair, begin + lane - pair * words, mine);
      }
    }
  }

  // Of one pair, where no word of 32 bits is in two columns: a warp takes its place in all columns,
  // and the n-th thread keeps the word of column n.
  __device__ __forceinline__ void WriteColumns(uint32_t columns) const {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t mine[2] = {0, 0};
#pragma unroll 4
    for (uint32_t column = 0; column < columns; ++column) {
      const uint32_t signs = Add2(app_[column * stride_ + threadIdx.x], kHalfMinus128);
      const uint32_t first = __ballot_sync(kWholeWarp, (signs & 0x8000) != 0);
      const uint32_t second = __ballot_sync(kWholeWarp, static_cast<int32_t>(signs) < 0);
      mine[0] = column == lane ? first : mine[0];
      mine[1] = column == lane ? second : mine[1];
    }
    // With a plain 0 the compiler makes two kinds of Put, and for these gives up uniform registers
    // that the iterations around this need: 3 % more instructions.
    if (lane < columns) Put(Opaque(0), lane * (shape_.zc / 32) + threadIdx.x / 32, mine);
  }

  // Of fewer than 32 threads, each makes whole words.
  __device__ __forceinline__ void WriteByThreads(uint32_t words) const {
    for (uint32_t i = threadIdx.x; i < shape_.pairs * words; i += blockDim.x) {
      const uint32_t pair = i / words;
      uint32_t word[2] = {0, 0};
      for (uint32_t b = 0; b < 32; ++b) {
        const uint32_t signs = Signs(pair, (i - pair * words) * 32 + b);
        word[0] |= (signs >> 15 & 1) << b;
        word[1] |= (signs >> 31) << b;
      }
      Put(pair, i - pair * words, word);
    }
  }

  // In the signs, an information bit of both code words of a pair; past the last, that again.
  __device__ __forceinline__ uint32_t Signs(uint32_t pair, uint32_t bit) const {
    bit = min(bit, shape_.k - 1);
    const uint32_t column = Divide(bit, shape_.zc_magic);
    return Add2(app_[column * (stride_ - shape_.zc) + pair * shape_.zc + bit], kHalfMinus128);
  }

  const DecodeIo& io_;
  const DecodeShape& shape_;
  const uint32_t* app_;
  uint32_t stride_;
  const uint32_t* state_;
};

// Both code words' soft values of one stored app, as two's complement in the low bytes of the
// halves: clipped to +-127 around the stored 128, then 128 + soft as a denormal.
__device__ __forceinline__ uint32_t ToSoft(uint32_t app) {
  const uint32_t clipped = Min2(Max2(app, kHalfUnit), Both(0x23f8));  // 1 and 255 times 2^-14
  return Fma2(clipped, kHalfTwoToMinus10, 0) ^ Both(0x80);
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
  static constexpr uint32_t kWordsPerPair = 4;

  __device__ __forceinline__ Progress(uint32_t* shared, uint32_t pairs)
      : state(shared), fail(shared + 2 * pairs) {}

  uint32_t* state;  // [2 * pairs], a State each
  uint32_t* fail;   // [2][pairs], by turns: bit 0 and SecondFails: a check of the first or second
                    // code word does not hold
};

__device__ __forceinline__ void InitProgress(const DecodeIo& io, const DecodeShape& shape,
                                             const Progress& progress) {
  const uint32_t words = 2 * shape.pairs;
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) {
    const bool exists = blockIdx.x * words + i < io.num_blocks;
    progress.state[i] = exists ? kRunning : kWritten;
    progress.fail[i] = 0;
  }
}

// Whether the threads of a thread block say which checks fail in bytes, all the same, or in bits,
// one for others: for that one it takes longer, and less shared memory is written to.
BASEBAND_HOST_DEVICE constexpr uint32_t SecondFails(bool in_bytes) { return in_bytes ? 0x100 : 2; }

// In the place of a CrcStop (decode_crc.cuh): parity checks alone stop code words.
struct NoCrcStop {
  static constexpr bool kIsThere = false;
};

// Settles what is finished of code words whose checks are in `fail`; see Settle.
template <bool kInBytes, class Write, class Crc>
__device__ __forceinline__ bool SettleNoted(const DecodeIo& io, const DecodeShape& shape,
                                            const Progress& progress, const uint32_t* fail,
                                            uint32_t iteration, const Write& write,
                                            const Crc& crc) {
  const uint32_t words = 2 * shape.pairs;
  const bool last = iteration == shape.max_iterations;
  if constexpr (Crc::kIsThere) {
    const uint32_t pair = threadIdx.x / shape.zc;
    const bool looks =
        !last &&
        ((progress.state[2 * pair] == kRunning && (fail[pair] & 1) != 0) ||
         (progress.state[2 * pair + 1] == kRunning && (fail[pair] & SecondFails(kInBytes)) != 0));
    if (__syncthreads_or(looks)) {
      if (looks) crc.Add(pair);
    }
  }
  __syncthreads();  // all have read the states and added to the CRCs
  bool running = false;
  bool finished = false;
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) {
    if (progress.state[i] != kRunning) continue;
    const bool holds = (fail[i / 2] >> (i % 2 * (kInBytes ? 8 : 1)) & 1) == 0;
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
    if constexpr (Crc::kIsThere) crc.Clear(i);
  }
  return all_settled;
}

// After iteration `iteration`: evaluates the parity checks, settles what is finished, and says
// whether every code word of the thread block is. A code word is settled once: what is written is
// its state at that iteration, whatever its neighbours still do. All threads of the block call it,
// behind a barrier that orders it with the iteration.
//   failed: this thread's check in the first row; the sign bit of a half set if it does not hold;
//           0 if `checks` begin with that row
//   checks...: more of this thread's checks, likewise: evaluated one after the other, while those
//              before hold
//   write(): writes the code words in state kFinished
//   crc: cleared for all code words before the first call, which leaves it so
template <bool kInBytes = false, class Write, class Crc, class... Checks>
__device__ __forceinline__ bool Settle(const DecodeIo& io, const DecodeShape& shape,
                                       const Progress& progress, uint32_t iteration,
                                       uint32_t failed, const Write& write, const Crc& crc,
                                       const Checks&... checks) {
  const uint32_t pair = threadIdx.x / shape.zc;
  uint32_t* const fail = progress.fail + (iteration % 2 != 0 ? shape.pairs : 0);
  // Where warps belong to one pair, their first threads speak for all.
  const bool speaks_alone = shape.pairs > 1 && shape.zc % 32 != 0;
  const auto note = [&](uint32_t signs) {
    if constexpr (kInBytes) {
      auto* const bytes = reinterpret_cast<uint8_t*>(&fail[pair]);
      if ((signs & 0x8000) != 0) bytes[0] = 1;
      if (static_cast<int32_t>(signs) < 0) bytes[1] = 1;
    } else {
      uint32_t bits = (signs >> 15 & 1) | (signs >> 30 & 2);
      if (!speaks_alone) {
        bits = __reduce_or_sync(kWholeWarp, bits);
        if (threadIdx.x % 32 != 0) bits = 0;
      }
      if (bits != 0) atomicOr(&fail[pair], bits);
    }
    __syncthreads();
  };
  // Whether a running code word of this pair may hold.
  const auto may_hold = [&] {
    return (progress.state[2 * pair] == kRunning && (fail[pair] & 1) == 0) ||
           (progress.state[2 * pair + 1] == kRunning && (fail[pair] & SecondFails(kInBytes)) == 0);
  };
  // Whether any of the thread block does.
  const auto any = [&](bool one) { return shape.pairs == 1 ? one : __syncthreads_or(one) != 0; };

  // Almost every wrong code word breaks a check of the first row.
  note(failed);
  // For the next evaluation; who read it last was before a barrier of the last iteration.
  uint32_t* const other = progress.fail + (iteration % 2 != 0 ? 0 : shape.pairs);
  for (uint32_t i = threadIdx.x; i < shape.pairs; i += blockDim.x) other[i] = 0;
  const bool last = iteration == shape.max_iterations;
  bool worth_it = may_hold();
  bool all_settled = false;
  if (Crc::kIsThere || last || any(worth_it)) {
    const auto check = [&](const auto& more) {
      if (!any(worth_it)) return;
      __syncthreads();  // all have read `fail`
      note(worth_it ? more() : 0);
      worth_it = may_hold();
    };
    (check(checks), ...);
    all_settled = SettleNoted<kInBytes>(io, shape, progress, fail, iteration, write, crc);
  }
  // Without a barrier here the compiler takes the threads of a warp for diverged, and makes the
  // iterations around this without uniform registers: 8 % more instructions.
  __syncthreads();
  return all_settled;
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_DEVICE_CUH_
