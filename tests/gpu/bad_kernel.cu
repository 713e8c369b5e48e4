#include "tests/gpu/bad_kernel.h"

namespace baseband::testing {
namespace {

__global__ void IllegalWrite(int* where) { where[threadIdx.x] = 1; }

}  // namespace

cudaError_t LaunchIllegalWrite(cudaStream_t stream) {
  IllegalWrite<<<1, 32, 0, stream>>>(reinterpret_cast<int*>(size_t{1} << 44));
  return cudaGetLastError();
}

}  // namespace baseband::testing
