// Samples to symbols and carrier on a GPU. Host header, no device code; CUDA builds only. What is
// computed: timing.h.
#ifndef BASEBAND_KERNELS_TIMING_TIMING_GPU_H_
#define BASEBAND_KERNELS_TIMING_TIMING_GPU_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/timing/timing.h"

namespace baseband::timing {

// One frame of a launch. Offsets are in bytes.
struct alignas(16) TimingFrame {
  uint32_t samples_offset = 0;    // in `samples`; a multiple of 4
  uint32_t num_samples = 0;       // as CheckParameters allows
  uint32_t corrected_offset = 0;  // in `output`; a multiple of 4; read if want_corrected
  uint32_t curve_offset = 0;      // in `output`; a multiple of 4; read if want_curve
  uint32_t known_offset = 0;  // in `known`; a multiple of 8; carrier::kNoKnown: nothing is known
  uint32_t result_index = 0;  // in `results` and `carrier_results`
  uint32_t reserved[2] = {0, 0};
};
static_assert(sizeof(TimingFrame) == 32, "copied to the device as it is");

// One launch: frames of one model and one pulse with one set of parameters, of any lengths. All
// pointers but the model's, the pulse's and `lengths` are memory that the device can reach, 16-byte
// aligned, and must live until `stream` has passed the launch; corrected symbols and curves, N and
// CurveOf N symbols as in timing_cpu.h, go to `output`.
struct TimingBatch {
  const carrier::Model* model = nullptr;
  const Pulse* pulse = nullptr;  // both copied to the device if they are not there
  carrier::Parameters carrier;
  Parameters parameters;
  const TimingFrame* frames = nullptr;  // [lengths.size()]
  absl::Span<const uint32_t> lengths;   // host: num_samples of each frame, ascending
  const uint8_t* samples = nullptr;
  const uint8_t* known = nullptr;  // Iq arrays; may be null if no frame has any
  uint8_t* output = nullptr;       // may be null if neither corrected symbols nor curves are wanted
  Result* results = nullptr;
  carrier::Result* carrier_results = nullptr;
  // Scratch, not shared between launches that may run at the same time. With less than
  // WorkspaceBytes of all frames the launch goes through it in several rounds.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;  // at least WorkspaceBytes of the longest frame
};

// Scratch for `num_frames` frames of up to `num_samples`. The parameters have passed
// CheckParameters.
int64_t WorkspaceBytes(const carrier::Parameters& carrier, const Pulse& pulse,
                       const Parameters& parameters, int64_t num_samples, int64_t num_frames);

// Loads the kernels on the current device, and those of carrier::PrepareRecover, whose refusals are
// this one's. Call once a device before the first launch; thread-safe.
absl::Status PrepareTiming();

// Enqueues the recovery of `batch` on `stream` of the current device and returns without waiting
// for it. Models and pulses that the device does not hold are copied there first, as
// carrier::LaunchRecover does it. FailedPrecondition before PrepareTiming; InvalidArgument, with
// nothing enqueued, when a size above is broken; Internal when CUDA refuses. Frames are independent
// of each other. Deterministic. Results of locked frames agree with the CPU device's: offset and
// clock error within 0.1 of their predicted standard deviations, or 1e-6 and 1e-9; the carrier's
// frequency and phase as LaunchRecover says; symbols within 1e-3 of their magnitude on average, the
// gain within 1e-3 (tests/gpu). One thread at a time a device, carrier::LaunchRecover included.
absl::Status LaunchTiming(const TimingBatch& batch, cudaStream_t stream);

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_TIMING_GPU_H_
