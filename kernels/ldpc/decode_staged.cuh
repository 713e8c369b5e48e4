// The way of LLRs into a thread block of the half-precision decoder kernels. Device code.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_STAGED_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_STAGED_CUH_

#include "kernels/ldpc/decode_device.cuh"

namespace baseband::ldpc::device {

// The LLRs of the thread block's code words on their way into the decoder. First all are copied to
// shared memory without a stop, in units of 16 bytes, whatever their offsets; so that a thread
// waits for device memory once, not at every column. The copies lie where the messages will be.
//
//   device memory   ..|................|.......xxxxxxxxx|xxxxxxxxxxxxxxxx|xxx.............|..
//   staged            x: LLRs of a code word   |....xxxx|xxxxxxxxxxxxxxxx|xxx.............|
//
// Of the first unit no more than whole words are read: what is before them may be unreadable.
class StagedLlr {
 public:
  // Words that a code word takes: the first and the last unit may be cut, the first one of all may
  // have to be moved to a multiple of 16 bytes, and one word is read past the end.
  BASEBAND_HOST_DEVICE static constexpr uint32_t Words(uint32_t num_sent) {
    return num_sent / 16 * 4 + 16;
  }

  // Starts the copies of the thread block's pair `pair`, by that pair's own zc threads.
  __device__ __forceinline__ StagedLlr(const DecodeIo& io, const DecodeShape& shape,
                                       uint32_t* staged, uint32_t pair, uint32_t row)
      : shape_(shape), row_(row) {
    LoadBlocks(io, blockIdx.x * shape.pairs + pair, block_);
    const uint32_t stride = 4 * Words(shape.num_sent);
    const uint32_t begin = static_cast<uint32_t>(__cvta_generic_to_shared(staged));
    const uint32_t move = (begin + 15) / 16 * 16 - begin;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const auto skip = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(block_[i].llr) % 16);
      const int8_t* from = block_[i].llr - skip;
      const uint32_t offset = move + (2 * pair + i) * stride;
      const uint32_t to = begin + offset;
      llr_[i] = reinterpret_cast<const int8_t*>(staged) + offset + skip;
      cut_[i] = skip % 4;
      if (block_[i].llr_count == 0) continue;
      const uint32_t bytes = skip + block_[i].llr_count;
      const uint32_t whole = skip < 4 ? 0 : 16;  // where whole units begin
      for (uint32_t at = 4 * row; at < whole; at += 4 * shape.zc) {
        if (at + 3 >= skip) CopyAsync<4>(to + at, from + at);
      }
      for (uint32_t at = whole + 16 * row; at < bytes; at += 16 * shape.zc) {
        CopyAsync<16>(to + at, from + at);
      }
    }
  }

  // Waits until all threads' copies are there.
  __device__ __forceinline__ void Wait() const {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
  }

  // Stores columns begin .. end - 1 of both code words as halves, 2^-14 times ch + 128 plus `bias`,
  // at words[(column - begin) * stride + row]. With a bias of 0 that is an app without messages.
  __device__ __forceinline__ void StoreWords(uint32_t begin, uint32_t end, uint32_t bias,
                                             uint32_t* words, uint32_t stride) const {
    const auto to_word = [bias](uint32_t both) {
      return Fma2(__vmaxu2(both, Both(1)), kHalfTwoTo10, bias);
    };
    Store(
        begin, end,
        [&](uint32_t column, uint32_t row, uint32_t low, uint32_t high) {
          *reinterpret_cast<uint4*>(words + (column - begin) * stride + row) =
              make_uint4(to_word(UnpackMessage(low, 0)), to_word(UnpackMessage(low, 1)),
                         to_word(UnpackMessage(high, 0)), to_word(UnpackMessage(high, 1)));
        },
        [&](uint32_t column, uint32_t first, uint32_t second) {
          words[(column - begin) * stride + row_] = to_word(first | second << 16);
        });
  }

  // Stores columns begin .. end - 1 as ch + 128, a byte of either code word, at bytes[(column -
  // begin) * stride + row]. What is received as -128 may stay so.
  __device__ __forceinline__ void StoreBytes(uint32_t begin, uint32_t end, uint16_t* bytes,
                                             uint32_t stride) const {
    Store(
        begin, end,
        [&](uint32_t column, uint32_t row, uint32_t low, uint32_t high) {
          *reinterpret_cast<uint2*>(bytes + (column - begin) * stride + row) =
              make_uint2(low, high);
        },
        [&](uint32_t column, uint32_t first, uint32_t second) {
          bytes[(column - begin) * stride + row_] = static_cast<uint16_t>(first | second << 8);
        });
  }

 private:
  template <int kBytes>
  __device__ __forceinline__ static void CopyAsync(uint32_t to, const int8_t* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(kBytes)
                 : "memory");
  }

  // Columns begin .. end - 1. In the middle lie the plain columns, all of whose bits were received
  // of both code words: there nothing needs to be compared, and four rows are done at a time.
  //   four(column, row, low, high): ch + 128 of rows row .. row + 3 in bytes, the code words' in
  //                                 turn, the first two rows' in `low`; -128 stays so
  //   one(column, first, second): those of this thread's row
  template <class Four, class One>
  __device__ __forceinline__ void Store(uint32_t begin, uint32_t end, const Four& four,
                                        const One& one) const {
    const uint32_t zc = shape_.zc;
    const uint32_t plain =
        zc % 4 == 0 ? min(end, max(begin, Divide(shape_.punctured_bits + zc - 1, shape_.zc_magic)))
                    : end;
    const uint32_t rest = max(plain, min(end, min(PlainEnd(0), PlainEnd(1))));
    for (uint32_t c = begin; c < plain; ++c) one(c, Load(0, c), Load(1, c));
#pragma unroll 4
    for (uint32_t bit = plain * zc + 4 * row_; bit < rest * zc; bit += 4 * zc) {
      const uint32_t column = Divide(bit, shape_.zc_magic);
      const uint32_t first = LoadFour(0, bit);
      const uint32_t second = LoadFour(1, bit);
      four(column, bit - column * zc, __byte_perm(first, second, 0x5140),
           __byte_perm(first, second, 0x7362));
    }
    for (uint32_t c = rest; c < end; ++c) one(c, Load(0, c), Load(1, c));
  }

  __device__ __forceinline__ uint32_t PlainEnd(int i) const {
    if (shape_.hard_input) return 0;
    return Divide(min(block_[i].llr_count + shape_.punctured_bits,
                      block_[i].num_filler == 0 ? ~0u : shape_.k - block_[i].num_filler),
                  shape_.zc_magic);
  }
  __device__ __forceinline__ uint32_t Load(int i, uint32_t column) const {
    return static_cast<uint32_t>(
        LoadChannel(shape_, block_[i], llr_[i], column * shape_.zc + row_) + 128);
  }
  // ch + 128 of bits bit .. bit + 3, `bit` a multiple of 4; from two words.
  __device__ __forceinline__ uint32_t LoadFour(int i, uint32_t bit) const {
    const auto* word =
        reinterpret_cast<const uint32_t*>(llr_[i] - cut_[i] + (bit - shape_.punctured_bits));
    return __funnelshift_r(word[0], word[1], 8 * cut_[i]) ^ 0x80808080;
  }

  const DecodeShape& shape_;
  uint32_t row_;
  DecodeBlock block_[2];
  const int8_t* llr_[2];
  uint32_t cut_[2];  // how far these are past a multiple of 4
};

// Has the LLRs of code words that a later thread block of the launch decodes brought into the L2
// cache. Two steps, so that other waiting comes in between; each thread takes one code word, and
// there are no fewer threads than code words in a thread block. Of LLRs in the host's memory, as
// few blocks' may be, nothing is gained.
class LlrAhead {
 public:
  // `ahead`: how many thread blocks later.
  __device__ __forceinline__ LlrAhead(const DecodeIo& io, const DecodeShape& shape,
                                      uint32_t ahead) {
    const uint32_t words = 2 * shape.pairs;
    const uint32_t index = (blockIdx.x + ahead) * words + threadIdx.x;
    if (threadIdx.x >= words || index >= static_cast<uint32_t>(io.num_blocks)) return;
    const DecodeBlock& block = io.blocks[index];
    llr_ = reinterpret_cast<uintptr_t>(block.llr);
    count_ = block.llr_count;
  }
  // Whole units of 16 bytes: what is around the LLRs may be unreadable.
  __device__ __forceinline__ void Fetch() const {
    const uintptr_t begin = (llr_ + 15) / 16 * 16;
    const uintptr_t end = (llr_ + count_) / 16 * 16;
    if (begin >= end) return;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin),
                 "r"(static_cast<uint32_t>(end - begin))
                 : "memory");
  }

 private:
  uintptr_t llr_ = 0;
  uint32_t count_ = 0;
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_STAGED_CUH_
