// What the half-precision decoder kernels share. Device code.
//
// The engine of decode.h in half precision. Two code words, a pair, ride in the halves of a 32-bit
// word: the first in the low half. Everything is exact, for a half holds every integer up to 2048:
//
//   app is stored as (app + 128) * 2^-9. |app| <= 1919, so app + 128 and app - r fit.
//   a message r is stored as the byte u = r + 128. Padded to a half's bit pattern 0x00uu it is the
//     denormal u * 2^-24, and one fused multiply-add takes it off again:
//       q = fma(u * 2^-24, -2^15, (app + 128) * 2^-9) = (app - r) * 2^-9
//   scaling and rounding of x = m * 2^-9 is one more, for halves in [1024, 2048) are 1 apart:
//       y = fma(x, factor / 4, 1152) = 1152 + round(m * factor / 2048)
//     rounded once, to the nearest integer; an odd factor has no ties. y's bit pattern is
//     0x6400 + 128 + r, so its low byte is the new u.
//   then app + 128 = q + (r + 128):  fma(y - 1024, 2^-9, q).
#ifndef BASEBAND_KERNELS_LDPC_DECODE_DEVICE_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_DEVICE_CUH_

#include <cstdint>

#include "kernels/ldpc/decode_gpu.h"
#include "kernels/ldpc/decode_math.h"

namespace baseband::ldpc::device {

// A number in both halves.
BASEBAND_HOST_DEVICE constexpr uint32_t Both(uint32_t half_bits) {
  return half_bits << 16 | half_bits;
}

inline constexpr uint32_t kHalfMinus1024 = Both(0xe400);
inline constexpr uint32_t kHalf1152 = Both(0x6480);
inline constexpr uint32_t kHalfMinus1152 = Both(0xe480);
inline constexpr uint32_t kHalfTwoToMinus9 = Both(0x1800);
inline constexpr uint32_t kHalfTwoTo9 = Both(0x6000);
inline constexpr uint32_t kHalfTwoTo15 = Both(0x7800);
inline constexpr uint32_t kHalfMinusTwoTo15 = Both(0xf800);
inline constexpr uint32_t kHalfMinusQuarter = Both(0xb400);  // -128 units of 2^-9
inline constexpr uint32_t kSigns = Both(0x8000);
inline constexpr uint32_t kNoMessages = 0x80808080;  // r = 0 four times

__device__ __forceinline__ uint32_t Fma2(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

__device__ __forceinline__ uint32_t Add2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

__device__ __forceinline__ uint32_t Clamp2(uint32_t a, uint32_t low, uint32_t high) {
  uint32_t d;
  asm("max.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(low));
  asm("min.f16x2 %0, %1, %2;" : "=r"(d) : "r"(d), "r"(high));
  return d;
}

// The check node of two bits: sign(a) * sign(b) * min(|a|, |b|). Associative, so a check of many
// bits is a chain of it; a limit on the magnitude is one more positive operand.
__device__ __forceinline__ uint32_t BoxPlus(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("min.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// Messages 0 or 1 of a word (two edges of two code words) as denormals; and two edges' y packed.
//   word = u(edge 0, first), u(edge 0, second), u(edge 1, first), u(edge 1, second)
__device__ __forceinline__ uint32_t UnpackMessage(uint32_t word, int edge) {
  return __byte_perm(word, 0, edge == 0 ? 0x4140 : 0x4342);
}
__device__ __forceinline__ uint32_t PackMessages(uint32_t y0, uint32_t y1) {
  return __byte_perm(y0, y1, 0x6420);
}

// Where a check's bit lies in its column, in bytes of 4 a row: (row4 + shift4) mod zc4. Below zc4
// the subtraction wraps to a huge number, so the minimum picks the right one.
__device__ __forceinline__ uint32_t Rotate(uint32_t row4, uint32_t shift4, uint32_t minus_zc4) {
  const uint32_t sum = row4 + shift4;
  return __viaddmin_u32(sum, minus_zc4, sum);
}

// x, but the compiler does not know: keeps it from folding the making of x into every use, and
// what is made of x from moving out of a loop.
__device__ __forceinline__ uint32_t Opaque(uint32_t x) {
  asm volatile("" : "+r"(x));
  return x;
}

// x / zc by multiplication: magic = floor(2^32 / zc) + 1, 0 for zc = 1. Exact for x < 2^17.
__device__ __forceinline__ uint32_t Divide(uint32_t x, uint32_t magic) {
  return magic != 0 ? __umulhi(x, magic) : x;
}

// A launch's blocks and buffers; see DecodeBatch.
struct DecodeIo {
  const DecodeBlock* blocks;
  const int8_t* llr;
  uint8_t* bits;
  int8_t* soft;
  DecodeResult* results;
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
      const uint32_t skip = block_[i].llr_offset % 4;
      const uint32_t words = block_[i].llr_count == 0 ? 0 : (skip + block_[i].llr_count + 3) / 4;
      const int8_t* from = io.llr + (block_[i].llr_offset - skip);
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
  // stride]; from column `unbiased` on as ch * 2^-9. In the middle lie the plain columns, all of
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
    return Fma2(first | second << 16, kHalfTwoTo15, without_bias ? kHalfMinusQuarter : 0);
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
      const uint32_t signs = Add2(app[at], kHalfMinusQuarter) & kSigns;
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
// halves: clipped to +-127 around the stored 128, then 1024 + 128 + soft by the rounding of above.
__device__ __forceinline__ uint32_t ToSoft(uint32_t app) {
  const uint32_t clipped = Clamp2(app, Both(0x1800), Both(0x37f8));  // 1 and 255 times 2^-9
  return Fma2(clipped, kHalfTwoTo9, Both(0x6400)) ^ Both(0x80);
}

// Writes the soft values of columns 0 .. columns - 1 of those code words whose `state` is
// kFinished.
__device__ __forceinline__ void WriteSoft(const DecodeIo& io, const DecodeShape& shape,
                                          const uint32_t* app, uint32_t stride, uint32_t columns,
                                          const uint32_t* state) {
  const uint32_t pair = threadIdx.x / shape.zc;
  const uint32_t row = threadIdx.x - pair * shape.zc;
  const uint32_t first_block = (blockIdx.x * shape.pairs + pair) * 2;
  for (uint32_t half = 0; half < 2; ++half) {
    if (state[2 * pair + half] != kFinished) continue;
    const uint32_t offset = io.blocks[first_block + half].soft_offset;
    if (offset == kNoSoft) continue;
    int8_t* soft = io.soft + offset + row;
    for (uint32_t column = 0; column < columns; ++column) {
      const uint32_t value = ToSoft(app[column * stride + threadIdx.x]);
      soft[column * shape.zc] = static_cast<int8_t>(value >> (16 * half));
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

// After iteration `iteration`: evaluates the parity checks, settles what is finished, and says
// whether every code word of the thread block is. A code word is settled once: what is written is
// its state at that iteration, whatever its neighbours still do. All threads of the block call it.
//   check_first(), check_others(): this thread's checks in the first row, and in all others; the
//                                  sign bit of a half set if one of them does not hold
//   write(): writes the code words in state kFinished
template <class CheckFirst, class CheckOthers, class Write>
__device__ __forceinline__ bool Settle(const DecodeIo& io, const DecodeShape& shape,
                                       const Progress& progress, uint32_t iteration,
                                       const CheckFirst& check_first,
                                       const CheckOthers& check_others, const Write& write) {
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
  bool running = false;
  bool finished = false;
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) {
    if (progress.state[i] != kRunning) continue;
    const bool holds = (progress.fail[i / 2] >> (i % 2) & 1) == 0;
    if (holds || last) {
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
  }
  return all_settled;  // the barrier before the next evaluation orders the stores above
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_DEVICE_CUH_
