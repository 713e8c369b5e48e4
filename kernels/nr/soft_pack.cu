// A thread block packs or unpacks the soft bits of one code block, a thread sixteen of them at a
// time. The tables of codes fit into a line of the cache.
#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/nr/gpu_launch.h"
#include "kernels/nr/soft_pack_gpu.h"
#include "kernels/nr/soft_pack_math.h"

namespace baseband::nr {
namespace {

constexpr int kThreads = 256;

__device__ constexpr SoftCodes kCodes4 = MakeSoftCodes<4>();
__device__ constexpr SoftCodes kCodes6 = MakeSoftCodes<6>();

template <int kSize>
__device__ __forceinline__ const SoftCodes& CodesOf() {
  if constexpr (kSize == 4) {
    return kCodes4;
  } else {
    return kCodes6;
  }
}

template <int kSize>
__device__ __forceinline__ void Unpack(const SoftPackBlock& block) {
  constexpr uint32_t kWords = kSize / 2;
  for (uint32_t i = threadIdx.x; kSoftGroup * i < block.count; i += kThreads) {
    const auto* const from = reinterpret_cast<const uint32_t*>(block.packed) + kWords * i;
    uint32_t packed[kWords];
#pragma unroll
    for (uint32_t w = 0; w < kWords; ++w) packed[w] = from[w];
    uint32_t soft[4];
    UnpackSoftGroup<kSize>(
        packed, [](uint32_t code) { return __ldg(&CodesOf<kSize>().value_of[code]); }, soft);
    reinterpret_cast<uint4*>(block.soft)[i] = make_uint4(soft[0], soft[1], soft[2], soft[3]);
  }
}

template <int kSize>
__device__ __forceinline__ void Pack(const SoftPackBlock& block) {
  constexpr uint32_t kWords = kSize / 2;
  for (uint32_t i = threadIdx.x; kSoftGroup * i < block.count; i += kThreads) {
    const uint4 all = reinterpret_cast<const uint4*>(block.soft)[i];
    const uint32_t soft[4] = {all.x, all.y, all.z, all.w};
    uint32_t packed[kWords];
    PackSoftGroup<kSize>(
        soft, [](int m) { return uint32_t{__ldg(&CodesOf<kSize>().code_of[m])}; }, packed);
    auto* const to = reinterpret_cast<uint32_t*>(block.packed) + kWords * i;
#pragma unroll
    for (uint32_t w = 0; w < kWords; ++w) to[w] = packed[w];
  }
}

template <bool kPack>
__global__ void __launch_bounds__(kThreads) SoftPackKernel(const SoftPackBlock* blocks) {
  const SoftPackBlock block = blocks[blockIdx.x];
  if (kPack) {
    block.size == 4 ? Pack<4>(block) : Pack<6>(block);
  } else {
    block.size == 4 ? Unpack<4>(block) : Unpack<6>(block);
  }
}

template <bool kPack>
absl::Status Launch(const char* name, const SoftPackBlock* blocks, int num_blocks,
                    cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(CheckNumBlocks(num_blocks));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("blocks", blocks));
  return LaunchKernel(name, {static_cast<unsigned>(num_blocks), kThreads, 0, stream},
                      SoftPackKernel<kPack>, blocks);
}

}  // namespace

absl::Status LaunchUnpackSoft(const SoftPackBlock* blocks, int num_blocks, cudaStream_t stream) {
  return Launch<false>("SoftPackKernel<false>", blocks, num_blocks, stream);
}

absl::Status LaunchPackSoft(const SoftPackBlock* blocks, int num_blocks, cudaStream_t stream) {
  return Launch<true>("SoftPackKernel<true>", blocks, num_blocks, stream);
}

absl::Status PrepareSoftPackKernels() {
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(SoftPackKernel<false>));
  return cuda::LoadKernel(SoftPackKernel<true>);
}

}  // namespace baseband::nr
