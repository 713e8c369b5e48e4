#include "tests/bench/device_memory.h"
#include "tests/bench/gpu_limits.h"

namespace baseband::bench {
namespace {

constexpr int kRepeats = 9;
constexpr int kLaunches = 5;

__device__ int64_t Nanoseconds() {
  int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// `ticks`: cycles and nanoseconds that the first thread took.
__global__ void FmaKernel(float* out, int64_t* ticks, float factor, int rounds) {
  const int64_t begin_ns = Nanoseconds();
  const int64_t begin = clock64();
  float sums[16];
  for (int i = 0; i < 16; ++i) sums[i] = static_cast<float>(threadIdx.x + i);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
#pragma unroll
      for (int i = 0; i < 16; ++i) sums[i] = fmaf(sums[i], factor, sums[(i + 1) % 16]);
    }
  }
  float sum = 0.0F;
  for (int i = 0; i < 16; ++i) sum += sums[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    ticks[0] = clock64() - begin;
    ticks[1] = Nanoseconds() - begin_ns;
  }
}

void MustCopy(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  Must(cuda::ToStatus(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream),
                      "cudaMemcpyAsync"));
}

}  // namespace

Limit DeviceCopy(cudaStream_t stream) {
  constexpr size_t kBytes = size_t{1} << 30;
  const auto from = Room<uint8_t>(kBytes);
  const auto to = Room<uint8_t>(kBytes);
  Must(cuda::ToStatus(cudaMemset(from.data(), 1, kBytes), "cudaMemset"));
  Must(cuda::ToStatus(cudaDeviceSynchronize(), "cudaDeviceSynchronize"));
  return {2.0 * kBytes, TimesOf(stream, kRepeats, kLaunches,
                                [&] { MustCopy(to.data(), from.data(), kBytes, stream); })};
}

Limit FusedMultiplyAdds(cudaStream_t stream, double* clock_hz) {
  constexpr int kBlocks = 132 * 8 * 4;
  constexpr int kThreads = 256;
  constexpr int kRounds = 400;
  const auto out = Room<float>(size_t{kBlocks} * kThreads);
  const auto ticks = Room<int64_t>(2);
  const Limit limit = {static_cast<double>(kThreads) * kBlocks * kRounds * 8 * 16,
                       TimesOf(stream, kRepeats, kLaunches, [&] {
                         FmaKernel<<<kBlocks, kThreads, 0, stream>>>(out.data(), ticks.data(), 0.5F,
                                                                     kRounds);
                       })};
  Must(cuda::ToStatus(cudaGetLastError(), "FmaKernel"));
  const std::vector<int64_t> taken = Download(ticks);
  *clock_hz = 1e9 * static_cast<double>(taken[0]) / static_cast<double>(taken[1]);
  return limit;
}

Limit LinkCopy(cudaStream_t stream, bool is_back) {
  constexpr size_t kBytes = size_t{256} << 20;
  const auto host = Must(cuda::CreatePinnedBuffer<uint8_t>(kBytes));
  const auto device = Room<uint8_t>(kBytes);
  return {static_cast<double>(kBytes), TimesOf(stream, kRepeats, 1, [&] {
            if (is_back) {
              MustCopy(host.data(), device.data(), kBytes, stream);
            } else {
              MustCopy(device.data(), host.data(), kBytes, stream);
            }
          })};
}

}  // namespace baseband::bench
