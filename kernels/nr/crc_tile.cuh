// CRCs of 16 messages at a time by the tensor cores. What is multiplied: crc_matrix_math.h.
// Device code.
#ifndef BASEBAND_KERNELS_NR_CRC_TILE_CUH_
#define BASEBAND_KERNELS_NR_CRC_TILE_CUH_

#include <cstdint>

#include "kernels/nr/crc_matrix_math.h"
#include "kernels/nr/multiply_bits.cuh"

namespace baseband::nr::device {

inline constexpr uint32_t kWarp = 32;
inline constexpr uint32_t kAllLanes = 0xffffffff;
inline constexpr uint32_t kCrcRows = 16;  // messages of a tile
// The warps of a tile take its steps in turns.
inline constexpr uint32_t kCrcWarps = 11;
inline constexpr uint32_t kStepsOfWarp = (kMaxCrcSteps + kCrcWarps - 1) / kCrcWarps;

__device__ constexpr CrcMatrix kCrcMatrix = MakeCrcMatrix();

// The CRCs of a tile's messages, in shared memory, and whether any bit of them is not 0.
struct CrcSums {
  uint32_t of_24b[kCrcRows];
  uint32_t of_24a[kCrcRows];
  uint32_t of_16[kCrcRows];
  uint32_t any[kCrcRows];
};

// Adds the parities of kTiles tiles' counts to the CRCs of messages g and g + 8.
template <uint32_t kTiles>
__device__ __forceinline__ void AddParities(const int (*counts)[4], uint32_t lane, uint32_t* sums) {
  const uint32_t q = lane % 4;
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    uint32_t crc = 0;
#pragma unroll
    for (uint32_t tile = 0; tile < kTiles; ++tile) {
      const auto even = static_cast<uint32_t>(counts[tile][2 * half]) & 1;
      const auto odd = static_cast<uint32_t>(counts[tile][2 * half + 1]) & 1;
      crc |= (even | odd << 1) << (8 * tile + 2 * q);
    }
    crc |= __shfl_xor_sync(kAllLanes, crc, 1);
    crc |= __shfl_xor_sync(kAllLanes, crc, 2);
    if (q == 0 && crc != 0) atomicXor(sums + lane / 4 + 8 * half, crc);
  }
}

// Which CRCs anyone wants of a tile; the same for all threads of a warp.
struct WantedCrcs {
  bool of_24b;
  bool of_24a;
  bool of_16;
};

// Adds warp `warp`'s part to `sums`. `first` and `second` are messages g and g + 8.
__device__ __forceinline__ void AddCrcs(const CrcMessage& first, const CrcMessage& second,
                                        const WantedCrcs& wanted, uint32_t warp, CrcSums* sums) {
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t q = lane % 4;
  const uint32_t steps = __reduce_max_sync(kAllLanes, CrcStepsOf(max(first.bits, second.bits)));
  uint32_t message[kStepsOfWarp][4];
#pragma unroll
  for (uint32_t i = 0; i < kStepsOfWarp; ++i) {
    const uint32_t step = warp + i * kCrcWarps;
    const auto of_first = [&](uint32_t w) { return __ldg(first.words + w); };
    const auto of_second = [&](uint32_t w) { return __ldg(second.words + w); };
    message[i][0] = CrcMessageWord(first, step, q, of_first);
    message[i][1] = CrcMessageWord(second, step, q, of_second);
    message[i][2] = CrcMessageWord(first, step, q + 4, of_first);
    message[i][3] = CrcMessageWord(second, step, q + 4, of_second);
  }
  uint32_t any[2] = {};
#pragma unroll
  for (uint32_t i = 0; i < kStepsOfWarp; ++i) {
    any[0] |= message[i][0] | message[i][2];
    any[1] |= message[i][1] | message[i][3];
  }
  if (any[0] != 0) sums->any[lane / 4] = 1;  // whoever writes this writes the same
  if (any[1] != 0) sums->any[lane / 4 + 8] = 1;
  int counts[kCrcTiles][4] = {};
#pragma unroll
  for (uint32_t i = 0; i < kStepsOfWarp; ++i) {
    const uint32_t step = warp + i * kCrcWarps;
    if (step >= steps) break;
#pragma unroll
    for (int tile = 0; tile < kCrcTiles; ++tile) {
      const bool is_wanted = tile < kFirstTileOf24A  ? wanted.of_24b
                             : tile < kFirstTileOf16 ? wanted.of_24a
                                                     : wanted.of_16;
      if (!is_wanted) continue;
      const uint2 matrix =
          __ldg(reinterpret_cast<const uint2*>(kCrcMatrix.words[step][tile][lane]));
      MultiplyBits(message[i], matrix, counts[tile]);
    }
  }
  if (wanted.of_24b) AddParities<3>(counts, lane, sums->of_24b);
  if (wanted.of_24a) AddParities<3>(counts + kFirstTileOf24A, lane, sums->of_24a);
  if (wanted.of_16) AddParities<2>(counts + kFirstTileOf16, lane, sums->of_16);
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_CRC_TILE_CUH_
