// Carrier recovery on a GPU. Host header, no device code; CUDA builds only. What is computed:
// recover.h.
#ifndef BASEBAND_KERNELS_CARRIER_RECOVER_GPU_H_
#define BASEBAND_KERNELS_CARRIER_RECOVER_GPU_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/carrier/recover.h"

namespace baseband::carrier {

// One frame of a launch. Offsets are in bytes.
struct alignas(16) RecoverFrame {
  uint32_t symbols_offset = 0;    // in `symbols`; a multiple of 4
  uint32_t num_symbols = 0;       // kMinSymbols .. kMaxSymbols
  uint32_t corrected_offset = 0;  // in `output`; a multiple of 4; read if want_corrected
  uint32_t curve_offset = 0;      // in `output`; a multiple of 4; read if want_curve
  uint32_t known_offset = 0;      // in `known`; a multiple of 8; kNoKnown: nothing is known
  uint32_t result_index = 0;      // in `results`
  uint32_t reserved[2] = {0, 0};
};
static_assert(sizeof(RecoverFrame) == 32, "copied to the device as it is");
inline constexpr uint32_t kNoKnown = 0xffffffff;

// One launch: frames of one model with one set of parameters, of any lengths. All pointers but the
// model's and `lengths` are memory that the device can reach, 16-byte aligned, and must live until
// `stream` has passed the launch.
struct RecoverBatch {
  const Model* model = nullptr;  // copied to the device if it is not there, see LaunchRecover
  Parameters parameters;
  const RecoverFrame* frames = nullptr;  // [lengths.size()]
  absl::Span<const uint32_t> lengths;    // host: num_symbols of each frame, ascending
  const uint8_t* symbols = nullptr;
  const uint8_t* known = nullptr;  // Iq arrays; may be null if no frame has any
  uint8_t* output = nullptr;       // may be null if neither corrected symbols nor curves are wanted
  Result* results = nullptr;
  // Scratch, not shared between launches that may run at the same time. With less than
  // RecoverWorkspaceBytes of all frames the launch goes through it in several rounds.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;  // at least RecoverWorkspaceBytes of the longest frame
};

// Scratch for `num_frames` frames of up to `num_symbols`.
int64_t RecoverWorkspaceBytes(const Parameters& parameters, int num_symbols, int64_t num_frames);

// Loads the kernels and makes the FFT plans on the current device. Unavailable when libcufft, which
// is loaded at run time, is not there. Call once a device before the first launch; thread-safe.
absl::Status PrepareRecover();

// Enqueues the recovery of `batch` on `stream` of the current device and returns without waiting
// for it. A model that the device does not hold is copied there first, which allocates memory and
// waits for the copy; the 64 that were used last stay, and where one must go, that waits for all
// work of the device. FailedPrecondition before PrepareRecover; InvalidArgument, with nothing
// enqueued, when a size above is broken; Internal when CUDA refuses. Frames are independent of each
// other. Deterministic. Results agree with RecoverOnCpu's: frequency and phase within 0.1 of their
// predicted standard deviations (tests/gpu), the noise within 5e-8 of the signal's power, EVM and
// noise of a sweep within what the two estimates make of them. A sweep's symbols are turned here to
// 1e-5 of their amplitude, which an expected SNR 20 dB too low makes several times too large: the
// devices may then choose different candidates, each within its deviation of the likeliest
// frequency. Where rounding alone decides whether a step was the last (IsLastRound), one device may
// go a round further: in a few of a thousand frames the two are then up to one deviation apart,
// both as near to the truth. One thread at a time a device.
absl::Status LaunchRecover(const RecoverBatch& batch, cudaStream_t stream);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_RECOVER_GPU_H_
