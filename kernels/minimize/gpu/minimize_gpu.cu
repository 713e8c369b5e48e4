#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "kernels/minimize/gpu/gpu_launch.h"
#include "kernels/minimize/gpu/gpu_program.h"
#include "kernels/minimize/gpu/search_kernel.cuh"
#include "kernels/minimize/minimize_gpu.h"

namespace baseband::minimize {
namespace {

static_assert(sizeof(SearchResult) == sizeof(BlockResult), "they are the same");
static_assert(kSearchMaxAxes == kMaxAxes && kSearchMaxExcluded == kMaxTop - 1, "they are the same");

const GpuProgramPtr& BuiltIn() {
  static const auto* const program = new GpuProgramPtr(std::make_shared<const GpuProgram>());
  return *program;
}

SearchTask TaskOf(const PieceLaunch& launch) {
  const Problem& problem = *launch.problem;
  const Settings& settings = problem.settings();
  const Grid& grid = problem.grid();
  const Piece& piece = launch.piece;
  SearchTask task{};
  int64_t rest = kSearchThreads;
  for (int k = grid.num_axes() - 1; k >= 0; --k) {
    const Axis& axis = grid.axis(k);
    task.begin[k] = axis.begin;
    task.step[k] = axis.step;
    task.count[k] = axis.count;
    task.stride[k] = rest % axis.count;
    task.separation[k] = settings.separation[static_cast<size_t>(k)];
    rest /= axis.count;
  }
  task.first = piece.first;
  task.end = piece.first + piece.count;
  task.block_points = problem.block_points();
  task.is_maximum = settings.goal == Goal::kMaximum ? 1 : 0;
  task.results = reinterpret_cast<SearchResult*>(launch.output);
  if (piece.excluded != nullptr) {
    task.num_excluded = static_cast<int>(piece.excluded->size());
    std::copy(piece.excluded->begin(), piece.excluded->end(), task.excluded);
  } else if (settings.profile_bins > 0) {
    task.profile =
        reinterpret_cast<unsigned long long*>(launch.output + ProfileOffset(problem, piece));
    task.profile_axis = settings.profile_axis;
    task.profile_bins = settings.profile_bins;
  }
  return task;
}

}  // namespace

absl::StatusOr<GpuProgramPtr> PrepareProgram(const Problem& problem, bool* compiled) {
  bool ignored = false;
  if (compiled == nullptr) compiled = &ignored;
  *compiled = false;
  if (problem.functional().kind() != FunctionalKind::kExpression) return BuiltIn();
  return CompiledExpression(problem, compiled);
}

GpuProgramPtr FindProgram(const Problem& problem) {
  if (problem.functional().kind() != FunctionalKind::kExpression) return BuiltIn();
  return FindExpression(problem);
}

absl::Status PrepareMinimize() {
  BASEBAND_RETURN_IF_ERROR(PrepareSchwefel());
  BASEBAND_RETURN_IF_ERROR(PrepareSinusoids());
  BASEBAND_RETURN_IF_ERROR(PrepareManySinusoids());
  return PrepareMatched();
}

int64_t ImageBytes(const Problem& problem) {
  switch (problem.functional().kind()) {
    case FunctionalKind::kExpression:
      return ExpressionImageBytes(problem);
    case FunctionalKind::kSinusoids:
      return SinusoidsImageBytes(problem);
    case FunctionalKind::kManySinusoids:
      return ManySinusoidsImageBytes(problem);
    case FunctionalKind::kMatched:
      return MatchedImageBytes(problem);
    default:
      return 0;
  }
}

void WriteImage(const Problem& problem, uint8_t* image) {
  switch (problem.functional().kind()) {
    case FunctionalKind::kExpression:
      return WriteExpressionImage(problem, image);
    case FunctionalKind::kSinusoids:
      return WriteSinusoidsImage(problem, image);
    case FunctionalKind::kManySinusoids:
      return WriteManySinusoidsImage(problem, image);
    case FunctionalKind::kMatched:
      return WriteMatchedImage(problem, image);
    default:
      return;
  }
}

int64_t ScratchBytes(const Problem& problem, const Piece& piece) {
  return problem.functional().GpuScratchBytes(problem.grid(), problem.settings().method,
                                              piece.count);
}

absl::Status LaunchPiece(const PieceLaunch& launch, cudaStream_t stream) {
  if (launch.problem == nullptr || launch.program == nullptr) {
    return absl::InvalidArgumentError("a launch without a problem or a program");
  }
  const Problem& problem = *launch.problem;
  const int64_t num_blocks = NumBlocks(problem, launch.piece);
  if (num_blocks > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat("a piece of ", num_blocks, " blocks"));
  }
  const SearchTask task = TaskOf(launch);
  if (task.profile != nullptr) {
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
        cudaMemsetAsync(task.profile, 0xff,
                        static_cast<size_t>(task.profile_bins) * sizeof(uint64_t), stream),
        "cudaMemsetAsync"));
  }
  switch (problem.functional().kind()) {
    case FunctionalKind::kExpression:
      return LaunchExpression(launch, task, num_blocks, stream);
    case FunctionalKind::kSchwefel:
      return LaunchSchwefel(problem, task, num_blocks, stream);
    case FunctionalKind::kSinusoids:
      return LaunchSinusoids(launch, task, num_blocks, stream);
    case FunctionalKind::kManySinusoids:
      return LaunchManySinusoids(launch, task, num_blocks, stream);
    case FunctionalKind::kMatched:
      return LaunchMatched(launch, task, num_blocks, stream);
    default:
      return absl::UnimplementedError("this functional has no code for a GPU");
  }
}

}  // namespace baseband::minimize
