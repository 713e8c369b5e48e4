// Searches on the current GPU, and how they compare with the CPU device's.
#ifndef BASEBAND_TESTS_SUPPORT_MINIMIZE_GPU_H_
#define BASEBAND_TESTS_SUPPORT_MINIMIZE_GPU_H_

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/resources.h"
#include "kernels/minimize/minimize_gpu.h"
#include "tests/support/minimize_search.h"
#include "tests/support/status_matchers.h"

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
    BASEBAND_RETURN_IF_ERROR(
        cuda::ToStatus(cudaMemcpyAsync(search.image_.data(), image.data(), image.size(),
                                       cudaMemcpyHostToDevice, search.stream_.get()),
                       "cudaMemcpyAsync"));
    BASEBAND_RETURN_IF_ERROR(
        cuda::ToStatus(cudaStreamSynchronize(search.stream_.get()), "cudaStreamSynchronize"));
    BASEBAND_ASSIGN_OR_RETURN(search.scratch_, cuda::CreateDeviceBuffer<uint8_t>(
                                                   static_cast<size_t>(limits.scratch_bytes) + 16));
    BASEBAND_ASSIGN_OR_RETURN(search.output_, cuda::CreateDeviceBuffer<uint8_t>(
                                                  static_cast<size_t>(limits.output_bytes) + 16));
    BASEBAND_ASSIGN_OR_RETURN(
        search.output_staging_,
        cuda::CreatePinnedBuffer<uint8_t>(static_cast<size_t>(limits.output_bytes) + 16));
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
    return cuda::ToStatus(cudaMemcpyAsync(output_staging_.data(), output_.data(),
                                          static_cast<size_t>(OutputBytes(*problem_, piece)),
                                          cudaMemcpyDeviceToHost, stream_.get()),
                          "cudaMemcpyAsync");
  }
  // The output of the last piece. Waits for it.
  absl::StatusOr<const uint8_t*> Wait() {
    BASEBAND_RETURN_IF_ERROR(
        cuda::ToStatus(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"));
    return output_staging_.data();
  }

  absl::Status Evaluate(const minimize::Piece& piece, uint8_t* output) {
    BASEBAND_RETURN_IF_ERROR(Enqueue(piece));
    BASEBAND_ASSIGN_OR_RETURN(const uint8_t* const staged, Wait());
    std::memcpy(output, staged, static_cast<size_t>(OutputBytes(*problem_, piece)));
    return absl::OkStatus();
  }

 private:
  minimize::ProblemPtr problem_;
  minimize::GpuProgramPtr program_;
  cuda::Stream stream_;
  cuda::DeviceBuffer<uint8_t> image_;
  cuda::DeviceBuffer<uint8_t> scratch_;
  cuda::DeviceBuffer<uint8_t> output_;
  cuda::PinnedBuffer<uint8_t> output_staging_;
};

inline minimize::PieceLimits GpuLimits() {
  minimize::PieceLimits limits;
  limits.operations = minimize::kGpuOperationsPerPiece;
  return limits;
}

using Bytes = std::vector<uint64_t>;

inline Bytes OnGpu(const minimize::ProblemPtr& problem, const minimize::Piece& piece) {
  auto search = GpuSearch::Create(problem, GpuLimits());
  EXPECT_THAT(search, IsOk());
  Bytes output(static_cast<size_t>(OutputBytes(*problem, piece)) / 8);
  EXPECT_THAT(search->Evaluate(piece, reinterpret_cast<uint8_t*>(output.data())), IsOk());
  return output;
}

inline Bytes OnCpu(const minimize::ProblemPtr& problem, const minimize::Piece& piece) {
  Bytes output(static_cast<size_t>(OutputBytes(*problem, piece)) / 8);
  EvaluatePieceOnCpu(*problem, piece, &minimize::CpuWorkspace::OfThisThread(),
                     reinterpret_cast<uint8_t*>(output.data()));
  return output;
}

inline minimize::Answer SearchOnGpu(const minimize::ProblemPtr& problem,
                                    const minimize::PieceLimits& limits, uint32_t seed = 0) {
  auto search = minimize::Search::Create(problem, limits);
  auto gpu = GpuSearch::Create(problem, limits);
  EXPECT_THAT(search, IsOk());
  EXPECT_THAT(gpu, IsOk());
  RunSearch(
      &*search,
      [&](const minimize::Piece& piece, uint8_t* output) {
        EXPECT_THAT(gpu->Evaluate(piece, output), IsOk());
      },
      seed);
  auto answer = search->Finish();
  EXPECT_THAT(answer, IsOk());
  return answer.ok() ? *answer : minimize::Answer();
}

inline void ExpectSame(const minimize::Answer& a, const minimize::Answer& b) {
  ASSERT_EQ(a.top.size(), b.top.size());
  for (size_t i = 0; i < a.top.size(); ++i) {
    EXPECT_EQ(a.top[i].index, b.top[i].index);
    EXPECT_EQ(a.top[i].value, b.top[i].value);
  }
  EXPECT_EQ(a.num_nan, b.num_nan);
  EXPECT_EQ(a.first_nan, b.first_nan);
  ASSERT_EQ(a.profile.size(), b.profile.size());
  for (size_t i = 0; i < a.profile.size(); ++i) {
    EXPECT_TRUE(a.profile[i] == b.profile[i] || std::isnan(a.profile[i] + b.profile[i])) << i;
  }
}

// Every point's value, one piece a point being too slow: block results of blocks of 128.
inline void ExpectNear(const minimize::Settings& settings, double tolerance,
                       const std::string& what) {
  const minimize::ProblemPtr problem = MakeProblem(settings);
  const minimize::Piece all{0, settings.grid.num_points(), nullptr};
  const Bytes gpu = OnGpu(problem, all);
  const Bytes cpu = OnCpu(problem, all);
  ASSERT_EQ(gpu.size(), cpu.size());
  for (size_t i = 0; i < gpu.size() / 4; ++i) {
    minimize::BlockResult a;
    minimize::BlockResult b;
    std::memcpy(static_cast<void*>(&a), &gpu[4 * i], sizeof(a));
    std::memcpy(static_cast<void*>(&b), &cpu[4 * i], sizeof(b));
    EXPECT_NEAR(a.value, b.value, tolerance) << what << " block " << i;
    EXPECT_EQ(a.num_nan, b.num_nan);
    EXPECT_GE(a.index, 0);
  }
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_MINIMIZE_GPU_H_
