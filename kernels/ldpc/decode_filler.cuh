// Fillers, information bits that are known to be 0: each has a check of its own, see decode.h. Here
// those of a thread, which looks at the bits of its row in every column. Device code.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_FILLER_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_FILLER_CUH_

#include "kernels/ldpc/decode_device.cuh"

namespace baseband::ldpc::device {

// Whether a filler of this thread's row was decided 1. is_one(column): what was decided.
template <class IsOne>
__device__ __forceinline__ bool AnyFillerIsOne(const DecodeShape& shape, const DecodeBlock& block,
                                               uint32_t row, const IsOne& is_one) {
  const uint32_t begin = shape.k - block.num_filler;
  bool any = false;
#pragma unroll 1
  for (uint32_t column = Divide(begin, shape.zc_magic); column * shape.zc < shape.k; ++column) {
    any |= column * shape.zc + row >= begin && is_one(column);
  }
  return any;
}

// In the signs, the fillers of both code words of `pair` in this thread's row: whether one was
// decided 1. app: of column 0, the columns `stride` words apart.
__device__ __forceinline__ uint32_t FillersThatAreOne(const DecodeIo& io, const DecodeShape& shape,
                                                      uint32_t pair, uint32_t row,
                                                      const uint32_t* app, uint32_t stride) {
  DecodeBlock block[2];
  LoadBlocks(io, blockIdx.x * shape.pairs + pair, block);
  const uint32_t begin[2] = {shape.k - block[0].num_filler, shape.k - block[1].num_filler};
  uint32_t ones = 0;
#pragma unroll 1
  for (uint32_t column = Divide(min(begin[0], begin[1]), shape.zc_magic);
       column * shape.zc < shape.k; ++column) {
    const uint32_t bit = column * shape.zc + row;
    const uint32_t wanted = (bit >= begin[0] ? 0x8000 : 0) | (bit >= begin[1] ? 0x80000000 : 0);
    ones |= Add2(app[column * stride], kHalfMinus128) & wanted;
  }
  return ones;
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_FILLER_CUH_
