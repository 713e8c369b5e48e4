// The CRC24B of one code block by the three warps that send it, from the words that these load
// anyway. The block is cut from its end into words, and these into 16 rows of 24, so that the rows
// are 16 messages of three steps for the tensor cores, a step for each warp. What is missing at the
// front is zeros, which change nothing:
//
//   row        ..       14          15
//   word    .. 47 .. 24 | 23 .. 16, 15 .. 8, 7 .. 0      counted from the end
//   warp                |    2         1        0
//
// What a row adds to the CRC is its remainder times the power of what follows it. Each lane has a
// few bits of some remainders (multiply_bits.cuh) and adds what these make. Device code.
#ifndef BASEBAND_KERNELS_NR_CRC_BLOCK_CUH_
#define BASEBAND_KERNELS_NR_CRC_BLOCK_CUH_

#include <cstdint>

#include "kernels/nr/crc_math.h"
#include "kernels/nr/multiply_bits.cuh"

namespace baseband::nr::device {

inline constexpr uint32_t kBlockCrcWarps = 3;
inline constexpr uint32_t kBlockCrcTiles = 3;  // of 8 of the 24 columns

struct alignas(16) BlockCrcTables {
  // Right-hand operands: words q and q + 4 of column c of a tile are lane 4 c + q's.
  uint32_t matrix[kBlockCrcWarps][kBlockCrcTiles][32][2];
  // What a one in each of a lane's counts adds to the CRC.
  uint32_t powers[kBlockCrcTiles][32][4];
};
constexpr BlockCrcTables MakeBlockCrcTables() {
  constexpr CrcPolynomial p = PolynomialOf(Crc::kCrc24B);
  constexpr uint32_t kRowBits = 256 * kBlockCrcWarps;
  BlockCrcTables tables = {};
  uint32_t power = 1;
  for (uint32_t bit = 0; bit < kRowBits; ++bit, power = CrcTimesX(p, power)) {
    const uint32_t word = 7 - bit % 256 / 32;
    for (uint32_t c = 0; c < 24; ++c) {
      tables.matrix[bit / 256][c / 8][4 * (c % 8) + word % 4][word / 4] |= (power >> c & 1)
                                                                           << bit % 32;
    }
  }
  uint32_t of_row = 1;
  for (uint32_t row = 16; row-- > 0; of_row = CrcMultiply(p, of_row, power)) {
    uint32_t of_column = of_row;
    for (uint32_t c = 0; c < 24; ++c, of_column = CrcTimesX(p, of_column)) {
      tables.powers[c / 8][4 * (row % 8) + c % 8 / 2][2 * (row / 8) + c % 2] = of_column;
    }
  }
  return tables;
}
__device__ constexpr BlockCrcTables kBlockCrcTables = MakeBlockCrcTables();

// Which word, counted from the block's end, is number j of this lane's four.
__device__ __forceinline__ uint32_t BlockCrcWord(uint32_t j) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t row = lane / 4 + 8 * (j % 2);
  const uint32_t word = lane % 4 + 4 * (j / 2);
  return 24 * (15 - row) + 8 * (threadIdx.x / 32) + 7 - word;
}

// This warp's part of the remainder of the block as a polynomial, the parts of all to be added up.
// With zeros in the place of the CRC that is the CRC.
__device__ __forceinline__ uint32_t BlockCrcPart(const uint32_t (&message)[4]) {
  const uint32_t lane = threadIdx.x % 32;
  const auto& matrix = kBlockCrcTables.matrix[threadIdx.x / 32];
  uint32_t crc = 0;
#pragma unroll
  for (uint32_t tile = 0; tile < kBlockCrcTiles; ++tile) {
    int counts[4] = {};
    MultiplyBits(message, __ldg(reinterpret_cast<const uint2*>(matrix[tile][lane])), counts);
    const uint4 powers = __ldg(reinterpret_cast<const uint4*>(kBlockCrcTables.powers[tile][lane]));
    const auto of = [](int count, uint32_t power) { return (count & 1) != 0 ? power : 0; };
    crc ^= of(counts[0], powers.x) ^ of(counts[1], powers.y) ^ of(counts[2], powers.z) ^
           of(counts[3], powers.w);
  }
  return __reduce_xor_sync(0xffffffff, crc);
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_CRC_BLOCK_CUH_
