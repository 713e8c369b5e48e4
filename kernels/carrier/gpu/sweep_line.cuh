// The line near the coarse frequency, from sums over blocks of it.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_SWEEP_LINE_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_SWEEP_LINE_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/samples.cuh"

namespace baseband::carrier {

// Where a block's centre is from the frame's, in half symbols.
__device__ __forceinline__ int64_t CentreOfBlock(int block, int length, int num_symbols) {
  const int64_t begin = int64_t{block} * length;
  return 2 * begin + min(int64_t{length}, num_symbols - begin) - num_symbols;
}

// The line `offset` (of the carrier, cycles per symbol) from the coarse frequency, by a warp.
__device__ inline Iq LineFromBlocks(const Iq* blocks, int length, int num_symbols, int power,
                                    double offset) {
  // Turns of the line in half a symbol: the blocks' centres are at halves of symbols.
  const uint64_t per_half = Turns64(0.5 * power * offset);
  const int num_blocks = (num_symbols + length - 1) / length;
  Iq line;
  for (int b = static_cast<int>(threadIdx.x % 32); b < num_blocks; b += 32) {
    const auto centre = static_cast<uint64_t>(CentreOfBlock(b, length, num_symbols));
    const Iq turned = Multiply(blocks[b], TurnedBack(per_half * centre));
    line.i += turned.i;
    line.q += turned.q;
  }
  for (int apart = 16; apart > 0; apart /= 2) {
    line.i += __shfl_xor_sync(0xffffffffU, line.i, apart);
    line.q += __shfl_xor_sync(0xffffffffU, line.q, apart);
  }
  return line;
}
__device__ __forceinline__ double PhaseTurns(Iq line) {
  return atan2(static_cast<double>(line.q), static_cast<double>(line.i)) / kTurn;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_SWEEP_LINE_CUH_
