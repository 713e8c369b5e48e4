#include "kernels/minimize/grid.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace baseband::minimize {

absl::StatusOr<Grid> Grid::Create(absl::Span<const Axis> axes) {
  if (axes.empty() || axes.size() > kMaxAxes) {
    return absl::InvalidArgumentError(
        absl::StrCat("number of axes ", axes.size(), " is not in [1, ", kMaxAxes, "]"));
  }
  Grid grid;
  grid.num_axes_ = static_cast<int>(axes.size());
  grid.num_points_ = 1;
  for (size_t k = 0; k < axes.size(); ++k) {
    const Axis& axis = axes[k];
    if (axis.count < 1 || axis.count > kMaxPoints) {
      return absl::InvalidArgumentError(
          absl::StrCat("axes[", k, "].count ", axis.count, " is not in [1, 2^40]"));
    }
    for (const auto& [field, value] : {std::pair("begin", axis.begin), {"step", axis.step}}) {
      if (!std::isfinite(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat("axes[", k, "].", field, " ", value, " is not finite"));
      }
    }
    if (const double last = axis.At(axis.count - 1); !std::isfinite(last)) {
      return absl::InvalidArgumentError(
          absl::StrCat("axes[", k, "].step ", axis.step, " leads from begin ", axis.begin, " in ",
                       axis.count - 1, " steps to ", last, ", which is not finite"));
    }
    if (axis.count > 1 && axis.step == 0.0) {
      return absl::InvalidArgumentError(
          absl::StrCat("axes[", k, "].step is 0 for ", axis.count, " points"));
    }
    if (grid.num_points_ > kMaxPoints / axis.count) {
      return absl::InvalidArgumentError(absl::StrCat(
          "axes[", k, "].count ", axis.count, " is not in [1, ", kMaxPoints / grid.num_points_,
          "]: the grid has at most 2^40 points, and ", grid.num_points_, " of the axes before"));
    }
    grid.num_points_ *= axis.count;
    grid.axes_[k] = axis;
  }
  return grid;
}

Indices Grid::IndicesOf(int64_t index) const {
  Indices indices{};
  for (int k = num_axes_ - 1; k >= 0; --k) {
    indices[static_cast<size_t>(k)] = index % axis(k).count;
    index /= axis(k).count;
  }
  return indices;
}

Coordinates Grid::CoordinatesOf(int64_t index) const {
  const Indices indices = IndicesOf(index);
  Coordinates x{};
  for (int k = 0; k < num_axes_; ++k) {
    x[static_cast<size_t>(k)] = axis(k).At(indices[static_cast<size_t>(k)]);
  }
  return x;
}

int64_t Grid::IndexOf(const Indices& indices) const {
  int64_t index = 0;
  for (int k = 0; k < num_axes_; ++k) {
    index = index * axis(k).count + indices[static_cast<size_t>(k)];
  }
  return index;
}

}  // namespace baseband::minimize
