// A word of page-locked memory by which a stream tells how far it has got. Who waits for it looks at
// memory, where an event costs a call into the driver each time.
//
//   flag.Raise(stream);                  // after the last launch
//   while (!flag.is_up()) Pause();       // what was launched before is done, and seen by the host
#ifndef BASEBAND_KERNELS_CUDA_STREAM_FLAG_H_
#define BASEBAND_KERNELS_CUDA_STREAM_FLAG_H_

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/resources.h"
#include "kernels/cuda/status.h"

namespace baseband::cuda {

// Move-only; a moved-from one, and one that was not created, has no memory, and is_available() says
// so. One thread at a time but for is_up(), and that not while Raise() is called.
class StreamFlag {
 public:
  StreamFlag() = default;
  // On the current device. Not available where the device or its driver cannot write such words.
  static absl::StatusOr<StreamFlag> Create() {
    constexpr unsigned kSince = 12000;
    StreamFlag flag;
    void* write = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error = cudaGetDriverEntryPointByVersion(
        "cuStreamWriteValue32", &write, kSince, cudaEnableDefault, &found);
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) {
      (void)cudaGetLastError();
      return flag;
    }
    BASEBAND_ASSIGN_OR_RETURN(flag.word_, CreatePinnedBuffer<uint32_t>(1));
    *flag.word_.data() = 0;
    flag.write_ = reinterpret_cast<Write*>(write);
    return flag;
  }

  bool is_available() const { return write_ != nullptr; }
  // Goes up when `stream` gets here. False: it will not, and is not available any more.
  bool Raise(cudaStream_t stream) {
    ++raised_;
    const auto address = reinterpret_cast<CUdeviceptr>(word_.data());
    if (write_(stream, address, raised_, CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS) {
      return true;
    }
    write_ = nullptr;
    return false;
  }
  // Since the last Raise.
  bool is_up() const { return __atomic_load_n(word_.data(), __ATOMIC_ACQUIRE) == raised_; }

 private:
  using Write = CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned);

  PinnedBuffer<uint32_t> word_;
  Write* write_ = nullptr;
  uint32_t raised_ = 0;
};

}  // namespace baseband::cuda

#endif  // BASEBAND_KERNELS_CUDA_STREAM_FLAG_H_
