// Symbols on their way to LLRs on the CPU device.
#ifndef BASEBAND_KERNELS_NR_DEMAP_CHUNK_CPU_H_
#define BASEBAND_KERNELS_NR_DEMAP_CHUNK_CPU_H_

#include <cstddef>
#include <cstdint>

#include "kernels/nr/transport_block.h"

namespace baseband::nr {

// Symbols worked on at a time; even, and a multiple of those of four vectors.
inline constexpr size_t kDemapChunk = 256;

// Not initialised: it is filled before it is read.
struct DemapChunk {
  alignas(64) float levels[2 * kDemapChunk];  // t of demap_math.h: of I, of Q, of I ..
  alignas(64) float gains[2 * kDemapChunk];   // of I, of Q: the same twice
  // Copies of what does not lie in a row, or ends inside a chunk.
  alignas(64) uint8_t symbols[2 * sizeof(float) * kDemapChunk];
  alignas(64) uint8_t noise[sizeof(float) * kDemapChunk];
  alignas(64) int8_t llrs[kMaxQm * kDemapChunk];
};

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_DEMAP_CHUNK_CPU_H_
