// What a GPU allows: its clock under load, copies within it, instructions, and copies over its bus.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <initializer_list>
#include <utility>

#include "kernels/cuda/resources.h"
#include "kernels/cuda/status.h"
#include "tests/bench/gpu_limits.h"
#include "tests/bench/must.h"
#include "tests/bench/rows.h"

int main() {
  using namespace baseband::bench;  // NOLINT: a program
  cudaDeviceProp device;
  Must(baseband::cuda::ToStatus(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties"));
  std::printf("%s, %d SMs\n", device.name, device.multiProcessorCount);
  const auto stream = Must(baseband::cuda::Stream::Create());
  const auto report = [](const char* of, const char* thing, const Limit& limit) {
    std::printf("%-12s %10.1f G%s/s\n", of, limit.rate() * 1e-9, thing);
    EmitLimit("gpu", of, thing, limit.count, limit.times.median, limit.times.spread);
  };
  double clock_hz = 0.0;
  const Limit multiply_adds = FusedMultiplyAdds(stream.get(), &clock_hz);
  report("clock", "cycle", {clock_hz, {1.0, 1.0, 0.0}});
  report(kFma, "operation", multiply_adds);
  report(kInteger, "operation", multiply_adds);
  report(kMemory, "byte", DeviceCopy(stream.get()));
  report(kLink, "byte", LinkCopy(stream.get(), /*is_back=*/false));
  report("link back", "byte", LinkCopy(stream.get(), /*is_back=*/true));
  return 0;
}
