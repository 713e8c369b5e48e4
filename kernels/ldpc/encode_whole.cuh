// A code block from its descriptor to its parity, by one thread block (encode_device.cuh).
#ifndef BASEBAND_KERNELS_LDPC_ENCODE_WHOLE_CUH_
#define BASEBAND_KERNELS_LDPC_ENCODE_WHOLE_CUH_

#include <cstdint>

#include "kernels/ldpc/encode_device.cuh"
#include "kernels/ldpc/encode_gpu.h"

namespace baseband::ldpc::device {

// The descriptors of a launch of few, as an argument of the kernel.
struct FewBlocks {
  static constexpr int kMost = 16;
  EncodeBlock blocks[kMost];
};

__device__ __forceinline__ EncodeBlock LoadBlock(const FewBlocks& few, uint32_t i) {
  return few.blocks[i];
}

// The descriptor in two aligned loads.
__device__ __forceinline__ EncodeBlock LoadBlock(const EncodeBlock* blocks, uint32_t i) {
  const EncodeBlock* const from = blocks + i;
  union {
    uint4 part;
    EncodeBlock block;
  } read = {__ldg(reinterpret_cast<const uint4*>(from))};
  read.block.info_bits = __ldg(&from->info_bits);
  return read.block;
}

// Encode() for a code whose sums are not copied. A call, so that it costs other codes no registers.
template <typename Info>
__device__ __noinline__ void EncodeLong(const uint32_t* table, uint32_t* words,
                                        const EncodeBlock block, uint32_t* parity) {
  const Task task = MakeTask(table, words);
  const Program<false> program(table + task.header.phases_at, task.header);
  Encode<false, 1>(task, program, Info(block), parity);
}

// All of a code block: its parity from its information, through the shared memory `shared`. To a
// word that others wait for come `kParts` threads.
template <typename Info, uint32_t kParts = 1>
__device__ __forceinline__ void EncodeWhole(const EncodeBlock& block, const uint8_t* tables,
                                            uint8_t* parity, uint4* shared) {
  const auto* const table = reinterpret_cast<const uint32_t*>(tables + block.table_offset);
  auto* const words = reinterpret_cast<uint32_t*>(shared);
  auto* const out = reinterpret_cast<uint32_t*>(parity + block.parity_offset);
  const Info reader(block);
  const Task task = MakeTask(table, words);
  if (task.header.copied_words == 0) {
    EncodeLong<Info>(table, words, block, out);
    return;
  }
  const auto* const phases = reinterpret_cast<const uint4*>(table + task.header.phases_at);
  for (uint32_t i = threadIdx.x; i < task.header.copied_words / 4; i += blockDim.x) {
    shared[i] = __ldg(phases + i);
  }
  const Program<true> program(words, task.header);
  if (task.header.whole_words != 0) {
    Encode<true, kParts>(task, program, reader, out);
  } else {
    Encode<false, kParts>(task, program, reader, out);
  }
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_ENCODE_WHOLE_CUH_
