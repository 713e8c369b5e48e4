// Fixture of the tests that need a GPU, and copies to and from it.
#ifndef BASEBAND_TESTS_SUPPORT_GPU_TEST_H_
#define BASEBAND_TESTS_SUPPORT_GPU_TEST_H_

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cuda/resources.h"

namespace baseband::testing {

// Skips its tests on a machine without a GPU; with BASEBAND_REQUIRE_GPU=1 they fail there.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) {
      return;
    }
    (void)cudaGetLastError();
    const char* const require = std::getenv("BASEBAND_REQUIRE_GPU");
    if (require != nullptr && std::string(require) == "1") {
      FAIL() << "BASEBAND_REQUIRE_GPU is 1 and there is no GPU";
    }
    GTEST_SKIP() << "no GPU";
  }
};

// A copy of `host` on the device, with `slack` more elements, all bytes of which are zero. Waits
// for the copy's end, which cudaMemcpy from pageable memory does not do.
template <typename T>
cuda::DeviceBuffer<T> ToDevice(const std::vector<T>& host, size_t slack = 0) {
  auto buffer = cuda::CreateDeviceBuffer<T>(host.size() + slack);
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  if (!buffer.ok()) {
    return cuda::DeviceBuffer<T>();
  }
  EXPECT_EQ(cudaMemset(buffer->data(), 0, buffer->size() * sizeof(T)), cudaSuccess);
  EXPECT_EQ(
      cudaMemcpy(buffer->data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice),
      cudaSuccess);
  // A copy of pageable memory may still be on its way then, and no other stream waits for it.
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return *std::move(buffer);
}

// A copy of `buffer` on the host; waits for all work of the device first.
template <typename T>
std::vector<T> ToHost(const cuda::DeviceBuffer<T>& buffer) {
  std::vector<T> host(buffer.size());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(host.data(), buffer.data(), host.size() * sizeof(T), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return host;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_GPU_TEST_H_
