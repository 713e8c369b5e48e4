// Pieces of a search on the current GPU.
#ifndef BASEBAND_TESTS_SUPPORT_MINIMIZE_GPU_H_
#define BASEBAND_TESTS_SUPPORT_MINIMIZE_GPU_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/resources.h"
#include "kernels/minimize/minimize_gpu.h"

namespace baseband::testing {

// A problem with its program, image and memory on the device.
class GpuSearch {
 public:
  static absl::StatusOr<GpuSearch> Create(minimize::ProblemPtr problem,
                                          const minimize::PieceLimits& limits) {
    GpuSearch search;
    search.problem_ = std::move(problem);
    BASEBAND_RETURN_IF_ERROR(minimize::PrepareMinimize());
    BASEBAND_ASSIGN_OR_RETURN(search.program_, minimize::PrepareProgram(*search.problem_));
    BASEBAND_ASSIGN_OR_RETURN(search.stream_, cuda::Stream::Create());
    std::vector<uint8_t> image(static_cast<size_t>(ImageBytes(*search.problem_)));
    WriteImage(*search.problem_, image.data());
    BASEBAND_ASSIGN_OR_RETURN(search.image_, cuda::CreateDeviceBuffer<uint8_t>(image.size() + 16));
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
        cudaMemcpy(search.image_.data(), image.data(), image.size(), cudaMemcpyHostToDevice),
        "cudaMemcpy"));
    BASEBAND_ASSIGN_OR_RETURN(search.scratch_, cuda::CreateDeviceBuffer<uint8_t>(
                                                   static_cast<size_t>(limits.scratch_bytes) + 16));
    BASEBAND_ASSIGN_OR_RETURN(search.output_, cuda::CreateDeviceBuffer<uint8_t>(
                                                  static_cast<size_t>(limits.output_bytes) + 16));
    BASEBAND_ASSIGN_OR_RETURN(search.landing_, cuda::CreatePinnedBuffer<uint8_t>(
                                                   static_cast<size_t>(limits.output_bytes) + 16));
    return search;
  }

  cudaStream_t stream() const { return stream_.get(); }

  // Enqueues the piece and the copy of its output.
  absl::Status Enqueue(const minimize::Piece& piece) {
    minimize::PieceLaunch launch;
    launch.problem = problem_.get();
    launch.program = program_.get();
    launch.piece = piece;
    launch.image = image_.data();
    launch.scratch = scratch_.data();
    launch.output = output_.data();
    BASEBAND_RETURN_IF_ERROR(LaunchPiece(launch, stream_.get()));
    return cuda::ToStatus(cudaMemcpyAsync(landing_.data(), output_.data(),
                                          static_cast<size_t>(OutputBytes(*problem_, piece)),
                                          cudaMemcpyDeviceToHost, stream_.get()),
                          "cudaMemcpyAsync");
  }
  // The output of the last piece. Waits for it.
  absl::StatusOr<const uint8_t*> Wait() {
    BASEBAND_RETURN_IF_ERROR(
        cuda::ToStatus(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"));
    return landing_.data();
  }

  absl::Status Evaluate(const minimize::Piece& piece, uint8_t* output) {
    BASEBAND_RETURN_IF_ERROR(Enqueue(piece));
    BASEBAND_ASSIGN_OR_RETURN(const uint8_t* const landed, Wait());
    std::memcpy(output, landed, static_cast<size_t>(OutputBytes(*problem_, piece)));
    return absl::OkStatus();
  }

 private:
  minimize::ProblemPtr problem_;
  minimize::GpuProgramPtr program_;
  cuda::Stream stream_;
  cuda::DeviceBuffer<uint8_t> image_;
  cuda::DeviceBuffer<uint8_t> scratch_;
  cuda::DeviceBuffer<uint8_t> output_;
  cuda::PinnedBuffer<uint8_t> landing_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_MINIMIZE_GPU_H_
