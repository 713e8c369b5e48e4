// Pieces on a GPU. Host header, no device code; CUDA builds only. Needs no memory of its own on the
// device: what a problem's functional reads is an image that the caller copies there.
#ifndef BASEBAND_KERNELS_MINIMIZE_MINIMIZE_GPU_H_
#define BASEBAND_KERNELS_MINIMIZE_MINIMIZE_GPU_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/minimize/search.h"

namespace baseband::minimize {

// The code that evaluates a problem on one device. Immutable, thread-safe; shared by all problems
// of the same expression and precision.
class GpuProgram;
using GpuProgramPtr = std::shared_ptr<const GpuProgram>;

// Code for the current device: at once for built-in functionals and for expressions compiled
// before (`compiled`, if not null, receives false then); otherwise NVRTC compiles it, which takes
// 0.1 to 1 s and is for no thread that must not wait. Calls for the same expression wait for one
// compilation. Unavailable: NVRTC is not there; Internal: it refuses the text, with its log.
// Thread-safe.
absl::StatusOr<GpuProgramPtr> PrepareProgram(const Problem& problem, bool* compiled = nullptr);
// The same if that takes no time, else null.
GpuProgramPtr FindProgram(const Problem& problem);

// Loads the built-in kernels on the current device: once, before the first launch.
absl::Status PrepareMinimize();

// What the functional reads on the device: samples, columns, arrays. The same for all pieces of a
// problem, which may share one copy. 0 for some.
int64_t ImageBytes(const Problem& problem);
void WriteImage(const Problem& problem, uint8_t* image);

struct PieceLaunch {
  const Problem* problem = nullptr;
  const GpuProgram* program = nullptr;  // of this problem and device
  Piece piece;
  // Memory that the device can reach, 16-byte aligned, alive until `stream` has passed the launch.
  const uint8_t* image = nullptr;  // [ImageBytes()]
  uint8_t* scratch = nullptr;      // [ScratchBytes()], not shared by launches that run at once
  uint8_t* output = nullptr;       // [OutputBytes()]: piece.h
};
// At most PieceLimits::scratch_bytes for pieces that a Search hands out.
int64_t ScratchBytes(const Problem& problem, const Piece& piece);

// Enqueues the evaluation on `stream` of the current device and returns without waiting.
// Deterministic. Allocates nothing. Thread-safe for calls on different streams.
absl::Status LaunchPiece(const PieceLaunch& launch, cudaStream_t stream);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_MINIMIZE_GPU_H_
