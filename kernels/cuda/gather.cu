#include "kernels/cuda/gather.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/status.h"

namespace baseband::cuda {
namespace {

// So many blocks saturate PCIe 5; more would only take SMs from others.
constexpr unsigned kBlocks = 32;
constexpr unsigned kThreads = 512;
// Copies with aligned 16-byte loads from where the target is aligned; where source and target are
// not aligned alike, 4 bytes or one at a time.
__device__ void CopyPiece(const uint8_t* from, uint8_t* to, int64_t bytes) {
  const auto misaligned = reinterpret_cast<uintptr_t>(from) ^ reinterpret_cast<uintptr_t>(to);
  const int64_t thread = threadIdx.x;
  if (misaligned % 4 != 0) {
    for (int64_t i = thread; i < bytes; i += kThreads) to[i] = from[i];
    return;
  }
  const int64_t unit = misaligned % 16 == 0 ? 16 : 4;
  const int64_t head =
      min(bytes, static_cast<int64_t>((unit - reinterpret_cast<uintptr_t>(to) % unit) % unit));
  const int64_t units = (bytes - head) / unit;
  if (thread < head) to[thread] = from[thread];
  if (unit == 16) {
    const auto* const source = reinterpret_cast<const uint4*>(from + head);
    auto* const target = reinterpret_cast<uint4*>(to + head);
    for (int64_t i = thread; i < units; i += kThreads) target[i] = source[i];
  } else {
    const auto* const source = reinterpret_cast<const uint32_t*>(from + head);
    auto* const target = reinterpret_cast<uint32_t*>(to + head);
    for (int64_t i = thread; i < units; i += kThreads) target[i] = source[i];
  }
  for (int64_t i = head + units * unit + thread; i < bytes; i += kThreads) to[i] = from[i];
}

__global__ void __launch_bounds__(kThreads)
    GatherKernel(const GatherPiece* pieces, int num_pieces) {
  for (int p = static_cast<int>(blockIdx.x); p < num_pieces; p += static_cast<int>(gridDim.x)) {
    const GatherPiece piece = pieces[p];
    CopyPiece(piece.from, piece.to, piece.bytes);
  }
}

}  // namespace

absl::Status LaunchGather(const GatherPiece* pieces, int num_pieces, cudaStream_t stream) {
  if (num_pieces == 0) return absl::OkStatus();
  GatherKernel<<<kBlocks, kThreads, 0, stream>>>(pieces, num_pieces);
  return ToStatus(cudaGetLastError(), "GatherKernel");
}

absl::Status PrepareGather() { return LoadKernel(GatherKernel); }

}  // namespace baseband::cuda
