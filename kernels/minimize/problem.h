// A search: what is minimised, where, and what the answer has to say.
#ifndef BASEBAND_KERNELS_MINIMIZE_PROBLEM_H_
#define BASEBAND_KERNELS_MINIMIZE_PROBLEM_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/minimize/functional.h"
#include "kernels/minimize/grid.h"
#include "kernels/minimize/search/precision.h"

namespace baseband::minimize {

inline constexpr int kMaxTop = 64;
inline constexpr int kMaxProfileBins = 4096;
inline constexpr int kMaxZoomLevels = 16;

enum class Goal { kMinimum, kMaximum };

// What a point whose value is not a number does: nothing but to be counted, or to end the search.
enum class NanPolicy { kSkip, kFail };

// How the best point is moved off the grid, in float64 and by at most one step a coordinate, within
// the ends of the axes.
enum class Refinement {
  kNone,
  kZoom,      // grids around the best point, each finer than the one before
  kParabola,  // through three points an axis
  kBrent,     // along the axes and where they lead (Powell), until nothing moves
  kNewton,    // from slope and curvature, as far as they are seen to hold
};

struct Settings {
  FunctionalPtr functional;
  Grid grid;
  Goal goal = Goal::kMinimum;
  Precision precision = Precision::kFloat64;
  Method method = Method::kFast;
  NanPolicy nan_policy = NanPolicy::kSkip;
  // The best point, then the best outside the boxes of those already chosen, and so on; two points
  // share a box if they are fewer than `separation` steps apart on every axis.
  int top_k = 1;                     // 1 .. kMaxTop
  Indices separation{{1, 1, 1, 1}};  // at least 1
  int profile_axis = -1;             // -1: no profile
  int profile_bins = 0;              // 1 .. min(kMaxProfileBins, count of the axis)
  Refinement refinement = Refinement::kNone;
  int zoom_levels = 3;  // 1 .. kMaxZoomLevels
  // The part of the grid that is searched.
  int64_t first = 0;
  int64_t count = -1;  // -1: to the end
};

// Settings that were checked, and how their grid is cut. Immutable.
class Problem {
 public:
  // InvalidArgument names the setting, its value and its range.
  static absl::StatusOr<std::shared_ptr<const Problem>> Create(Settings settings);

  const Settings& settings() const { return settings_; }
  const Functional& functional() const { return *settings_.functional; }
  const Grid& grid() const { return settings_.grid; }
  int64_t first() const { return settings_.first; }
  int64_t count() const { return settings_.count; }

  // Operations a point, and in all.
  double cost_per_point() const { return cost_per_point_; }
  double cost() const { return cost_per_point_ * static_cast<double>(settings_.count); }

  // Blocks are runs of consecutive points of this length, a power of two, that begin at multiples
  // of it. Each has a BlockResult of its own.
  int64_t block_points() const { return block_points_; }

 private:
  explicit Problem(Settings settings) : settings_(std::move(settings)) {}

  Settings settings_;
  double cost_per_point_ = 0.0;
  int64_t block_points_ = 1;
};

using ProblemPtr = std::shared_ptr<const Problem>;

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_PROBLEM_H_
