// NVIDIA's run-time compiler, which is loaded when it is first asked for. Needs no CUDA toolkit to
// be built and no GPU to run. Host header.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_NVRTC_LIBRARY_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_NVRTC_LIBRARY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace baseband::minimize {

// OK if NVRTC is there; else Unavailable, and why.
absl::Status NvrtcStatus();

// Machine code (a cubin) of a C++17 translation unit for GPUs of one compute capability, 90 being
// 9.0; what is not written as fused is not fused, denormals stay. Takes some 10 .. 1000 ms, and is
// never for a request's thread. Thread-safe.
// Unavailable: no NVRTC. Internal: it refuses the source, with its log.
absl::StatusOr<std::string> CompileCuda(const std::string& source, int compute_capability);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_NVRTC_LIBRARY_H_
