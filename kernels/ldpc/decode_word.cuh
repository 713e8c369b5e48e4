// What the decoders share whose thread blocks decode single code words side by side, not pairs: the
// way of bits out of them, and when a code word is done. Device code.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_WORD_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_WORD_CUH_

#include "kernels/ldpc/decode_device.cuh"

namespace baseband::ldpc::device {

// A code word, as one of its zc threads sees it.
class WordProgress {
 public:
  // `shared`: two words for each of the thread block's `words` code words.
  __device__ __forceinline__ WordProgress(uint32_t* shared, uint32_t words, uint32_t word,
                                          uint32_t row)
      : state_(shared + word), fail_(shared + words + word), row_(row) {}
  BASEBAND_HOST_DEVICE static constexpr uint32_t Bytes(uint32_t words) {
    return (8 * words + 15) / 16 * 16;
  }

  // All threads call it; a barrier has to come between it and Settle. `exists`: there is such a
  // code word.
  __device__ __forceinline__ void Begin(bool exists) const {
    if (row_ != 0) return;
    *state_ = exists ? kRunning : kWritten;
    *fail_ = 0;
  }

  // After iteration `iteration`, behind a barrier: true if no code word of the thread block is
  // left.
  //   fails()  whether one of this thread's checks does not hold, or a filler was decided 1
  //   write()  writes this thread's part of bits and soft values
  template <class Fails, class Write>
  __device__ __forceinline__ bool Settle(const DecodeIo& io, const DecodeBlock& block,
                                         uint32_t iteration, bool last, const Fails& fails,
                                         const Write& write) const {
    if (*state_ == kRunning && fails()) atomicOr(fail_, 1u);
    __syncthreads();
    const bool holds = *fail_ == 0;
    const bool finished = *state_ == kRunning && (holds || last);
    if (finished) write();
    __syncthreads();
    if (row_ == 0) {
      *fail_ = 0;
      if (finished) {
        *state_ = kWritten;
        DecodeResult result;
        result.iterations = static_cast<uint16_t>(iteration);
        result.parity_ok = holds;
        io.results[block.result_index] = result;
      }
    }
    __syncthreads();
    return !__syncthreads_or(*state_ == kRunning);
  }

 private:
  uint32_t* state_;
  uint32_t* fail_;
  uint32_t row_;
};

// Writes this thread's words of the information bits. is_one(bit): what was decided.
template <class IsOne>
__device__ __forceinline__ void WriteWordBits(const DecodeIo& io, const DecodeShape& shape,
                                              const DecodeBlock& block, uint32_t row,
                                              const IsOne& is_one) {
  const uint32_t num_bits = shape.k - block.num_filler;
  uint32_t* out = reinterpret_cast<uint32_t*>(io.bits + block.bits_offset);
  for (uint32_t w = row; w * 32 < num_bits; w += shape.zc) {
    uint32_t word = 0;
    for (uint32_t b = 0; b < 32 && w * 32 + b < num_bits; ++b) {
      word |= static_cast<uint32_t>(is_one(w * 32 + b)) << (b ^ 7);
    }
    out[w] = word;
  }
}

// Writes the soft values of this thread's row, if they are wanted. soft_of(column).
template <class SoftOf>
__device__ __forceinline__ void WriteWordSoft(const DecodeIo& io, const DecodeShape& shape,
                                              const DecodeBlock& block, uint32_t row,
                                              const SoftOf& soft_of) {
  if (block.soft_offset == kNoSoft) return;
  for (uint32_t c = 0; c < shape.columns; ++c) {
    io.soft[block.soft_offset + c * shape.zc + row] = static_cast<int8_t>(soft_of(c));
  }
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_WORD_CUH_
