// Inside of the GPU decoder: how decode.cu hands a checked batch to one of the kernels. Host
// header.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_LAUNCH_H_
#define BASEBAND_KERNELS_LDPC_DECODE_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <algorithm>

#include "absl/status/statusor.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/status.h"
#include "kernels/ldpc/decode_gpu.h"

namespace baseband::ldpc {

// What all launches need to know of the device.
struct DeviceLimits {
  int multiprocessors = 0;
};

// Of the current device. Cheap: no call waits for the device.
absl::StatusOr<DeviceLimits> QueryDeviceLimits();

// How many of `count` code words, or pairs of them, to put side by side into a thread block of at
// most `max_threads`: as many as fit, but no more than leave every multiprocessor something to do.
inline int SideBySide(int zc, int count, int max_threads, const DeviceLimits& limits) {
  const int fit = std::max(1, max_threads / zc);
  const int share = (count + limits.multiprocessors - 1) / limits.multiprocessors;
  return std::clamp(share, 1, fit);
}

// Thread blocks of a launch that uses the workspace, at most.
inline constexpr int kMostSlots = 264;

// The families of kernels. Launch...: the batch is valid and of that family, `engine` is its
// integer engine, which means nothing to sum-product. Prepare...: its part of PrepareDecodeKernels.
absl::Status LaunchNr1(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status PrepareNr1();
absl::Status LaunchNr2(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status PrepareNr2();
// Of either's codes of the largest lifting size, zc = 384.
absl::Status LaunchNrLargest1(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status LaunchNrLargest2(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status PrepareNrLargest();
// Of those whose code words a CRC may stop.
absl::Status LaunchNrCrc1(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status PrepareNrCrc1();
absl::Status LaunchNrCrc2(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status PrepareNrCrc2();

// Of both graphs, with a CRC or without, for few code words (decode_narrow.cuh): zc is even, and
// none has soft output.
absl::Status LaunchNarrow1(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status PrepareNarrow1();
absl::Status LaunchNarrow2(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status PrepareNarrow2();

bool IsWimax12(const Code& code);
absl::Status LaunchWimax12(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status PrepareWimax12();

// Of the NR codes and of IsWimax12, under the flooding schedule.
absl::Status LaunchNrFlooding1(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status LaunchNrFlooding2(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status LaunchWimax12Flooding(const DecodeBatch& batch, const Engine& engine,
                                   cudaStream_t stream);
absl::Status PrepareNrFlooding();

// Of the same codes, sum-product under the layered schedule.
int64_t NrSumProductWorkspaceBytes1();
int64_t NrSumProductWorkspaceBytes2();
absl::Status LaunchNrSumProduct1(const DecodeBatch& batch, const Engine& engine,
                                 cudaStream_t stream);
absl::Status LaunchNrSumProduct2(const DecodeBatch& batch, const Engine& engine,
                                 cudaStream_t stream);
absl::Status LaunchWimax12SumProduct(const DecodeBatch& batch, const Engine& engine,
                                     cudaStream_t stream);
absl::Status PrepareNrSumProduct();

// Of any code whose state fits on the chip, under either schedule.
bool LayeredFits(const Code& code, const DecodeParameters& parameters);
absl::Status LaunchLayered(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status PrepareLayered();

absl::Status LaunchGeneral(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream);
absl::Status PrepareGeneral();
int64_t GeneralWorkspaceBytes(const Code& code, const DecodeParameters& parameters);

// Shared memory that every device we support gives a thread block; what Fits and the workspace are
// computed with.
inline constexpr int kSharedBytes = 227 * 1024;

// Lets `kernel` use `shared_bytes`, and loads it.
template <class Kernel>
absl::Status PrepareKernel(Kernel* kernel, int shared_bytes) {
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
      "cudaFuncSetAttribute"));
  return cuda::LoadKernel(kernel);
}

template <class Parameters>
absl::Status LaunchKernel(void (*kernel)(Parameters), int blocks, int threads, int shared_bytes,
                          Parameters& parameters, cudaStream_t stream) {
  void* arguments[] = {&parameters};
  return cuda::ToStatus(
      cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(blocks)),
                       dim3(static_cast<unsigned>(threads)), arguments,
                       static_cast<size_t>(shared_bytes), stream),
      "cudaLaunchKernel");
}

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_DECODE_LAUNCH_H_
