#include "kernels/cuda/gather.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/status.h"

namespace baseband::cuda {
namespace {

// So many blocks saturate PCIe 5; more would only take SMs from others.
constexpr unsigned kBlocks = 32;
constexpr unsigned kThreads = 512;
constexpr unsigned kWarp = 32;
constexpr int64_t kUnit = sizeof(ulonglong2);

__device__ uint64_t Funnel(uint64_t low, uint64_t high, unsigned bits) {
  return low >> bits | (high << 1) << (63 - bits);
}

// The 16 bytes that begin `shift` bytes, 0 to 15, into `low`, on which `high` follows.
__device__ ulonglong2 Middle(ulonglong2 low, ulonglong2 high, unsigned shift) {
  const unsigned bits = shift % 8 * 8;
  const uint64_t between = shift < 8 ? low.y : high.x;
  return {Funnel(shift < 8 ? low.x : low.y, between, bits),
          Funnel(between, shift < 8 ? high.x : high.y, bits)};
}

// Copies `units` units to where one begins, from `shift` bytes into the first of units + 1. The
// lanes of a warp load 32 neighbours and join each to the next: a byte at a time the bus would be
// a tenth as fast.
__device__ void CopyShifted(const ulonglong2* from, ulonglong2* to, int64_t units, unsigned shift) {
  constexpr int64_t kJoined = kWarp - 1;
  const unsigned lane = threadIdx.x % kWarp;
  for (int64_t first = threadIdx.x / kWarp * kJoined; first < units;
       first += kThreads / kWarp * kJoined) {
    const int64_t i = first + lane;
    const ulonglong2 low = from[min(i, units)];
    const ulonglong2 high = {__shfl_down_sync(~0U, low.x, 1), __shfl_down_sync(~0U, low.y, 1)};
    if (lane < kJoined && i < units) to[i] = Middle(low, high, shift);
  }
}

// Copies whole units of source and target, where there are some, and the ends by bytes.
__device__ void CopyPiece(const uint8_t* from, uint8_t* to, int64_t bytes) {
  const int64_t thread = threadIdx.x;
  int64_t head = -reinterpret_cast<intptr_t>(to) & (kUnit - 1);
  const auto shift = static_cast<unsigned>(reinterpret_cast<uintptr_t>(from + head) % kUnit);
  if (shift > head) head += kUnit;  // the first unit of the source is the piece's, too
  head = min(head, bytes);
  const int64_t units = max(bytes - head - (shift == 0 ? 0 : kUnit - shift), int64_t{0}) / kUnit;
  auto* const target = reinterpret_cast<ulonglong2*>(to + head);
  if (shift == 0) {
    const auto* const source = reinterpret_cast<const ulonglong2*>(from + head);
    for (int64_t i = thread; i < units; i += kThreads) target[i] = source[i];
  } else {
    CopyShifted(reinterpret_cast<const ulonglong2*>(from + head - shift), target, units, shift);
  }
  if (thread < head) to[thread] = from[thread];
  for (int64_t i = head + units * kUnit + thread; i < bytes; i += kThreads) to[i] = from[i];
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
