// A product of bit matrices by the tensor cores. Device code.
#ifndef BASEBAND_KERNELS_NR_MULTIPLY_BITS_CUH_
#define BASEBAND_KERNELS_NR_MULTIPLY_BITS_CUH_

#include <cstdint>

namespace baseband::nr::device {

// counts += 16 messages' words times 8 columns: of every message and column, the number of places
// where both have a one. A lane holds words q and q + 4 of messages g and g + 8, and the counts of
// columns 2 q and 2 q + 1 of these messages; g = lane / 4, q = lane mod 4.
__device__ __forceinline__ void MultiplyBits(const uint32_t (&message)[4], uint2 matrix,
                                             int (&counts)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(counts[0]), "+r"(counts[1]), "+r"(counts[2]), "+r"(counts[3])
      : "r"(message[0]), "r"(message[1]), "r"(message[2]), "r"(message[3]), "r"(matrix.x),
        "r"(matrix.y));
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_MULTIPLY_BITS_CUH_
