// CRCs of the two code blocks of a thread block by one warp, from shared memory. Each block is cut
// from its end into words, and these into 8 rows of 33, so that the rows of both are 16 messages of
// five steps for the tensor cores:
//
//   row        ..        6                  7
//   word    .. 65 .. 33 | 32, 31 .. 24, 23 .. 16, 15 .. 8, 7 .. 0     counted from the end
//   step                |  4     3         2         1        0
//
// What a row adds to the CRC is its remainder times the power of what follows it. Each lane has a
// few bits of some remainders (multiply_bits.cuh) and adds what these make. Device code.
#ifndef BASEBAND_KERNELS_NR_CRC_BLOCK_CUH_
#define BASEBAND_KERNELS_NR_CRC_BLOCK_CUH_

#include <cstdint>

#include "kernels/nr/crc_math.h"
#include "kernels/nr/multiply_bits.cuh"

namespace baseband::nr::device {

inline constexpr uint32_t kBlockCrcRows = 8;
inline constexpr uint32_t kBlockCrcRowWords = 33;
inline constexpr uint32_t kBlockCrcSteps = (kBlockCrcRowWords + 7) / 8;
// Of a block: the largest K' has as many. So many are read, and a few before them, which play no
// part.
inline constexpr uint32_t kBlockCrcWords = kBlockCrcRows * kBlockCrcRowWords;
inline constexpr uint32_t kBlockCrcReadWords =
    (kBlockCrcRows - 1) * kBlockCrcRowWords + 8 * kBlockCrcSteps;
inline constexpr uint32_t kBlockCrcTiles = 3;  // of 8 of at most 24 columns

struct alignas(16) BlockCrcTables {
  // Right-hand operands: words q and q + 4 of column c of a tile are lane 4 c + q's.
  uint32_t matrix[kBlockCrcSteps][kBlockCrcTiles][32][2];
  // What a one in each of a lane's counts adds to the CRC.
  uint32_t powers[kBlockCrcTiles][32][2];
};
constexpr BlockCrcTables MakeBlockCrcTables(Crc crc) {
  const CrcPolynomial p = PolynomialOf(crc);
  const auto columns = static_cast<uint32_t>(p.bits);
  BlockCrcTables tables = {};
  uint32_t power = 1;
  for (uint32_t bit = 0; bit < 32 * kBlockCrcRowWords; ++bit, power = CrcTimesX(p, power)) {
    const uint32_t word = 7 - bit % 256 / 32;
    for (uint32_t c = 0; c < columns; ++c) {
      tables.matrix[bit / 256][c / 8][4 * (c % 8) + word % 4][word / 4] |= (power >> c & 1)
                                                                           << bit % 32;
    }
  }
  uint32_t of_row = 1;
  for (uint32_t row = kBlockCrcRows; row-- > 0; of_row = CrcMultiply(p, of_row, power)) {
    uint32_t of_column = of_row;
    for (uint32_t c = 0; c < columns; ++c, of_column = CrcTimesX(p, of_column)) {
      tables.powers[c / 8][4 * row + c % 8 / 2][c % 2] = of_column;
    }
  }
  return tables;
}
__device__ constexpr BlockCrcTables kBlockCrcTables[] = {MakeBlockCrcTables(Crc::kCrc16),
                                                         MakeBlockCrcTables(Crc::kCrc24A),
                                                         MakeBlockCrcTables(Crc::kCrc24B)};

// The remainders of two blocks as polynomials: with zeros in the places of a CRC at their ends,
// that CRC. `end` is behind the first block's last word, `stride` words before that of the second;
// both have zeros from their beginning up to kBlockCrcWords. For all lanes of a warp.
__device__ __forceinline__ uint2 BlockCrcs(const uint32_t* end, uint32_t stride, Crc crc) {
  const uint32_t lane = threadIdx.x % 32;
  const BlockCrcTables& tables = kBlockCrcTables[static_cast<uint32_t>(crc)];
  const uint32_t* at = end - 8 - kBlockCrcRowWords * (kBlockCrcRows - 1 - lane / 4) + lane % 4;
  int counts[kBlockCrcTiles][4] = {};
#pragma unroll
  for (uint32_t step = 0; step < kBlockCrcSteps; ++step, at -= 8) {
    const uint32_t words[4] = {at[0], at[stride], at[4], at[stride + 4]};
#pragma unroll
    for (uint32_t tile = 0; tile < kBlockCrcTiles; ++tile) {
      const uint2 matrix = __ldg(reinterpret_cast<const uint2*>(tables.matrix[step][tile][lane]));
      MultiplyBits(words, matrix, counts[tile]);
    }
  }
  uint2 remainders = make_uint2(0, 0);
#pragma unroll
  for (uint32_t tile = 0; tile < kBlockCrcTiles; ++tile) {
    const uint2 powers = __ldg(reinterpret_cast<const uint2*>(tables.powers[tile][lane]));
    const auto of = [](int count, uint32_t power) {
      return (static_cast<uint32_t>(count) & 1) * power;
    };
    remainders.x ^= of(counts[tile][0], powers.x) ^ of(counts[tile][1], powers.y);
    remainders.y ^= of(counts[tile][2], powers.x) ^ of(counts[tile][3], powers.y);
  }
  return make_uint2(__reduce_xor_sync(0xffffffff, remainders.x),
                    __reduce_xor_sync(0xffffffff, remainders.y));
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_CRC_BLOCK_CUH_
