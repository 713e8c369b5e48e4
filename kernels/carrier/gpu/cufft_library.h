// Batched complex FFTs by NVIDIA's cuFFT, which is loaded when it is first asked for: a host
// without it still starts the program and has every operation that needs no FFT. Host header.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_CUFFT_LIBRARY_H_
#define BASEBAND_KERNELS_CARRIER_GPU_CUFFT_LIBRARY_H_

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"

namespace baseband::carrier {

// Lengths 2^kMinLog2Line .. 2^kMaxLog2Line.
inline constexpr int kMinLog2Line = 6;
inline constexpr int kMaxLog2Line = 20;
// A plan transforms 1, 2, 4, .. or 1024 frames of a length; any number of frames is a few of them.
inline constexpr int kNumBatchSizes = 11;
// No plan transforms more points than this, but for one frame alone.
inline constexpr int64_t kMaxPlanPoints = int64_t{1} << 24;

// All plans of one device. Not thread-safe. Destroyed with the process: cuFFT frees them. Those of
// a device that was reset are left behind: they may point to what is no longer theirs.
class FftPlans {
 public:
  // Makes them on the current device. Unavailable: cuFFT is not there, and why.
  static absl::StatusOr<FftPlans> Create();

  // Enqueues, in place, the forward transforms (exp(-j ..), not scaled) of `num_frames` frames of
  // 2^log2_line complex floats each, one behind the other. What lies behind them, up to Room()
  // frames, may be transformed, too. `work` is scratch of WorkBytes(); other transforms that may
  // run at the same time must not share it. The current device is the one that the plans were made
  // on.
  absl::Status Forward(int log2_line, int64_t num_frames, float2* frames, void* work,
                       cudaStream_t stream) const;
  // How many frames there must be room for: for 1000 it is 1024, which are one execution. Never
  // falls as `num_frames` grows.
  static int64_t Room(int log2_line, int64_t num_frames);
  // As much as what the largest execution transforms; enough for fewer frames, too. Known without a
  // device.
  static int64_t WorkBytes(int log2_line, int64_t num_frames);

 private:
  // [log2_line - kMinLog2Line][batch size]; kNoPlan where there is none.
  static constexpr int kNoPlan = -1;
  std::array<std::array<int, kNumBatchSizes>, kMaxLog2Line - kMinLog2Line + 1> plans_{};
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_CUFFT_LIBRARY_H_
