// From how many bytes on it is worth keeping them on a GPU (kMinKeptBytes, kMinKeptTableBytes): the
// past of a stream and the tables of a search, sent along with 64 KiB of samples or kept, from the
// first byte written on the host to the event that ends the copies.
//
//   kept_objects_gpu_bench            a line a size: medians of 500, us
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/resources.h"
#include "kernels/cuda/status.h"

namespace baseband {
namespace {

constexpr size_t kMessage = 64 << 10;
constexpr size_t kMost = 4 << 20;
constexpr int kRounds = 500;

// Of a round of `enqueue`, to its end as a lane sees it, after some that do not count.
double MedianUs(const cuda::Stream& stream, const cuda::Event& event,
                const std::function<void()>& enqueue) {
  std::vector<double> times;
  for (int round = -50; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    enqueue();
    (void)cudaEventRecord(event.get(), stream.get());
    while (cudaEventQuery(event.get()) == cudaErrorNotReady) continue;
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    if (round >= 0) times.push_back(time.count());
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

absl::Status Run() {
  BASEBAND_ASSIGN_OR_RETURN(const cuda::Stream stream, cuda::Stream::Create());
  BASEBAND_ASSIGN_OR_RETURN(const cuda::Event event, cuda::Event::Create(cudaEventDisableTiming));
  BASEBAND_ASSIGN_OR_RETURN(const auto host, cuda::CreatePinnedBuffer<uint8_t>(kMost + kMessage));
  BASEBAND_ASSIGN_OR_RETURN(const auto input, cuda::CreateDeviceBuffer<uint8_t>(kMost + kMessage));
  BASEBAND_ASSIGN_OR_RETURN(const auto object, cuda::CreateDeviceBuffer<uint8_t>(kMost));
  const std::vector<uint8_t> past(kMost, 1);
  const auto copy = [&](void* target, const void* source, size_t bytes) {
    (void)cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream.get());
  };
  std::printf("%9s %10s %10s %12s %12s\n", "bytes", "past sent", "past kept", "tables sent",
              "tables kept");
  for (size_t bytes = 4 << 10; bytes <= kMost; bytes *= 2) {
    const double past_sent = MedianUs(stream, event, [&] {
      std::memcpy(host.data(), past.data(), bytes);
      copy(input.data(), host.data(), bytes + kMessage);
    });
    const double past_kept = MedianUs(stream, event, [&] {
      copy(input.data(), object.data(), bytes);
      copy(input.data() + bytes, host.data(), kMessage);
      copy(object.data(), input.data() + kMessage, bytes);
    });
    const double tables_sent =
        MedianUs(stream, event, [&] { copy(input.data(), host.data(), bytes); });
    const double tables_kept = MedianUs(stream, event, [] {});
    std::printf("%9zu %10.1f %10.1f %12.1f %12.1f\n", bytes, past_sent, past_kept, tables_sent,
                tables_kept);
  }
  return cuda::ToStatus(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

}  // namespace
}  // namespace baseband

int main() {
  const absl::Status status = baseband::Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
