#include "kernels/minimize/problem.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace baseband::minimize {
namespace {

// A GPU runs some thousand blocks at a time: small grids and dear functionals get small blocks, so
// that all of it has work, and large grids large blocks, so that results stay few. No block takes
// an H200 more than some 0.06 to 0.4 ms: kernels of others wait so long for the first to end.
constexpr int64_t kMinBlockPoints = 128;
constexpr int64_t kMaxBlockPoints = int64_t{1} << 14;
constexpr int64_t kBlocksAimedAt = int64_t{1} << 14;
constexpr double kMaxBlockCost = 1.5e7;

int64_t BlockPoints(int64_t count, double cost_per_point) {
  int64_t points = kMinBlockPoints;
  while (points < kMaxBlockPoints && points * kBlocksAimedAt < count &&
         static_cast<double>(2 * points) * cost_per_point <= kMaxBlockCost) {
    points *= 2;
  }
  return points;
}

absl::Status CheckRange(const char* name, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", value, " is not in [", min, ", ", max, "]"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Problem>> Problem::Create(Settings settings) {
  if (settings.functional == nullptr) return absl::InvalidArgumentError("there is no functional");
  const Grid& grid = settings.grid;
  if (grid.num_axes() == 0) return absl::InvalidArgumentError("there is no grid");
  BASEBAND_RETURN_IF_ERROR(settings.functional->Check(grid, settings.method));
  BASEBAND_RETURN_IF_ERROR(CheckRange("first", settings.first, 0, grid.num_points() - 1));
  const int64_t rest = grid.num_points() - settings.first;
  if (settings.count == -1) settings.count = rest;
  BASEBAND_RETURN_IF_ERROR(CheckRange("count", settings.count, 1, rest));
  BASEBAND_RETURN_IF_ERROR(CheckRange("top_k", settings.top_k, 1, kMaxTop));
  for (const int64_t steps : settings.separation) {
    BASEBAND_RETURN_IF_ERROR(CheckRange("separation", steps, 1, kMaxPoints));
  }
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("profile_axis", settings.profile_axis, -1, grid.num_axes() - 1));
  if (settings.profile_axis >= 0) {
    const int64_t max = std::min<int64_t>(kMaxProfileBins, grid.axis(settings.profile_axis).count);
    BASEBAND_RETURN_IF_ERROR(CheckRange("profile_bins", settings.profile_bins, 1, max));
  } else {
    BASEBAND_RETURN_IF_ERROR(
        CheckRange("profile_bins without an axis", settings.profile_bins, 0, 0));
  }
  if (settings.refinement == Refinement::kZoom) {
    BASEBAND_RETURN_IF_ERROR(CheckRange("zoom_levels", settings.zoom_levels, 1, kMaxZoomLevels));
  }
  std::shared_ptr<Problem> problem(new Problem(std::move(settings)));
  const Settings& checked = problem->settings_;
  problem->cost_per_point_ = checked.functional->Cost(checked.grid, checked.method);
  problem->block_points_ = BlockPoints(checked.count, problem->cost_per_point_);
  return std::shared_ptr<const Problem>(std::move(problem));
}

}  // namespace baseband::minimize
