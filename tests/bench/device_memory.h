// Memory, copies and times of a benchmark on a GPU. What CUDA refuses ends it.
#ifndef BASEBAND_TESTS_BENCH_DEVICE_MEMORY_H_
#define BASEBAND_TESTS_BENCH_DEVICE_MEMORY_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "kernels/cuda/resources.h"
#include "kernels/cuda/status.h"
#include "tests/bench/must.h"
#include "tests/bench/rows.h"

namespace baseband::bench {

template <typename T>
cuda::DeviceBuffer<T> Room(size_t size) {
  return Must(cuda::CreateDeviceBuffer<T>(size));
}

template <typename T>
cuda::DeviceBuffer<T> Upload(const std::vector<T>& host) {
  auto buffer = Room<T>(host.size());
  Must(cuda::ToStatus(
      cudaMemcpy(buffer.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice),
      "cudaMemcpy"));
  Must(cuda::ToStatus(cudaDeviceSynchronize(), "cudaDeviceSynchronize"));
  return buffer;
}

// Waits for all work of the device first.
template <typename T>
std::vector<T> Download(const cuda::DeviceBuffer<T>& buffer) {
  std::vector<T> host(buffer.size());
  Must(cuda::ToStatus(cudaDeviceSynchronize(), "cudaDeviceSynchronize"));
  Must(cuda::ToStatus(
      cudaMemcpy(host.data(), buffer.data(), host.size() * sizeof(T), cudaMemcpyDeviceToHost),
      "cudaMemcpy"));
  return host;
}

// Of what `enqueue` enqueues, `launches` times without a pause, by the device's clock.
template <typename Enqueue>
Times TimesOf(cudaStream_t stream, int repeats, int launches, const Enqueue& enqueue) {
  const auto begin = Must(cuda::Event::Create());
  const auto end = Must(cuda::Event::Create());
  enqueue();
  std::vector<double> seconds;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    Must(cuda::ToStatus(cudaEventRecord(begin.get(), stream), "cudaEventRecord"));
    for (int i = 0; i < launches; ++i) enqueue();
    Must(cuda::ToStatus(cudaEventRecord(end.get(), stream), "cudaEventRecord"));
    Must(cuda::ToStatus(cudaEventSynchronize(end.get()), "cudaEventSynchronize"));
    float ms = 0;
    Must(cuda::ToStatus(cudaEventElapsedTime(&ms, begin.get(), end.get()), "cudaEventElapsedTime"));
    seconds.push_back(static_cast<double>(ms) * 1e-3 / launches);
  }
  return Times::Of(seconds);
}
template <typename Enqueue>
double MedianSeconds(cudaStream_t stream, int repeats, const Enqueue& enqueue) {
  return TimesOf(stream, repeats, 1, enqueue).median;
}

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_DEVICE_MEMORY_H_
