// The launches of one piece, by functional. Internal to minimize/, CUDA builds only.
#ifndef BASEBAND_KERNELS_MINIMIZE_GPU_GPU_LAUNCH_H_
#define BASEBAND_KERNELS_MINIMIZE_GPU_GPU_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/minimize_gpu.h"

namespace baseband::minimize {

struct SearchTask;

// Schwefel's function, with no product fused but the one that is meant to be.
absl::Status LaunchSchwefel(const Problem& problem, const SearchTask& task, int64_t num_blocks,
                            cudaStream_t stream);
absl::Status PrepareSchwefel();

int64_t SinusoidsImageBytes(const Problem& problem);
void WriteSinusoidsImage(const Problem& problem, uint8_t* image);
absl::Status LaunchSinusoids(const PieceLaunch& launch, const SearchTask& task, int64_t num_blocks,
                             cudaStream_t stream);
absl::Status PrepareSinusoids();

int64_t ManySinusoidsImageBytes(const Problem& problem);
void WriteManySinusoidsImage(const Problem& problem, uint8_t* image);
absl::Status LaunchManySinusoids(const PieceLaunch& launch, const SearchTask& task,
                                 int64_t num_blocks, cudaStream_t stream);
absl::Status PrepareManySinusoids();

int64_t MatchedImageBytes(const Problem& problem);
void WriteMatchedImage(const Problem& problem, uint8_t* image);
absl::Status LaunchMatched(const PieceLaunch& launch, const SearchTask& task, int64_t num_blocks,
                           cudaStream_t stream);
absl::Status PrepareMatched();

// Expressions: code by NVRTC, shared by all devices of one architecture.
absl::StatusOr<GpuProgramPtr> CompiledExpression(const Problem& problem, bool* compiled);
GpuProgramPtr FindExpression(const Problem& problem);
int64_t ExpressionImageBytes(const Problem& problem);
void WriteExpressionImage(const Problem& problem, uint8_t* image);
absl::Status LaunchExpression(const PieceLaunch& launch, const SearchTask& task, int64_t num_blocks,
                              cudaStream_t stream);
// What is compiled: a kernel named kExpressionKernel.
inline constexpr char kExpressionKernel[] = "MinimizeExpression";
std::string ExpressionSource(const Expression& expression, Precision precision);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_GPU_GPU_LAUNCH_H_
