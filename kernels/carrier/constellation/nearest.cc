#include "kernels/carrier/constellation/nearest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "kernels/base/status_macros.h"

namespace baseband::carrier {
namespace {

// d_k as SearchDistance computes it is off by at most 2^-23 (e_k + 2 (|i_k| + |q_k|) max(|i|,
// |q|)), two roundings; a point is kept out of a cell only if it is farther than another one by 16
// times as much.
constexpr double kRounding = 16.0 / (1 << 23);
// Cells overlap by this part of the grid's extent: a coordinate's cell is computed in float32 too.
constexpr double kOverlap = 1e-5;
constexpr double kCellsPerPoint = 32.0;
// How far the grid reaches beyond the outermost coordinate, in units of the rms radius.
constexpr double kRim = 0.3;
constexpr size_t kInCell = 3;  // points that a cell's word names
// Of one cell's points each is held against each other up to so many; of a named constellation's
// there are 51 at most. Longer lists take longer to look through, and find the same point.
constexpr size_t kMaxRivals = 64;
constexpr int kMinSide = 8;
constexpr int kMaxSide = 128;

struct Place {
  double i;
  double q;
};

// A cell, and what lies beyond the grid next to it: all of corner + a * ray, a >= 0, for all
// corners. On a border there is a ray, in a corner of the grid two.
struct Region {
  std::array<Place, 4> corners;
  std::vector<Place> rays;
};

// d_a - d_b and how far from it the float32 difference may be, both along `places`: a linear and a
// convex function.
class Difference {
 public:
  Difference(const SearchPoint& a, const SearchPoint& b)
      : constant_(static_cast<double>(a.energy) - b.energy),
        i_(2.0 * (static_cast<double>(b.i) - a.i)),
        q_(2.0 * (static_cast<double>(b.q) - a.q)),
        rounding_(kRounding * (static_cast<double>(a.energy) + b.energy)),
        rounding_slope_(kRounding * 2.0 * (L1(a) + L1(b))) {}

  // Whether `a` may win against `b` somewhere in the region. d_a - d_b less the rounding is
  // concave: its least value is taken in a corner, unless it falls for ever along a ray.
  bool MayWin(const Region& region) const {
    const auto may_win_at = [this](const Place& z) {
      return constant_ - rounding_ + i_ * z.i + q_ * z.q - rounding_slope_ * Size(z) <= 0.0;
    };
    const auto falls_along = [this](const Place& ray) {
      return i_ * ray.i + q_ * ray.q - rounding_slope_ * Size(ray) <= 0.0;
    };
    return std::any_of(region.corners.begin(), region.corners.end(), may_win_at) ||
           std::any_of(region.rays.begin(), region.rays.end(), falls_along);
  }

 private:
  static double L1(const SearchPoint& p) { return std::fabs(p.i) + std::fabs(p.q); }
  static double Size(const Place& z) { return std::max(std::fabs(z.i), std::fabs(z.q)); }

  double constant_;
  double i_;
  double q_;
  double rounding_;
  double rounding_slope_;
};

// 1 / distance of neighbours in a square QAM of unit mean energy.
float SlicesPerUnit(int qam_side) {
  return static_cast<float>(std::sqrt((qam_side * qam_side - 1) / 6.0));
}

SearchPoint ToSearchPoint(const Iq& point) {
  const double energy =
      static_cast<double>(point.i) * point.i + static_cast<double>(point.q) * point.q;
  SearchPoint out{point.i, point.q, static_cast<float>(energy), 0.0F};
  if (out.energy > kOriginRadius * kOriginRadius) {
    out.inverse_radius = static_cast<float>(1.0 / std::sqrt(energy));
  }
  return out;
}

// The points to search: folded, those with no negative coordinate; of a square QAM row by row.
std::vector<SearchPoint> PointsToSearch(const Constellation& constellation) {
  std::vector<SearchPoint> points;
  for (const Iq& point : constellation.points()) {
    if (!constellation.mirror_symmetric() || (point.i >= 0.0F && point.q >= 0.0F)) {
      points.push_back(ToSearchPoint(point));
    }
  }
  if (constellation.qam_side() > 0) {
    const float slices_per_unit = SlicesPerUnit(constellation.qam_side());
    const auto place = [&](const SearchPoint& p) {
      return std::make_pair(std::floor(p.q * slices_per_unit), p.i);
    };
    std::sort(points.begin(), points.end(),
              [&](const SearchPoint& a, const SearchPoint& b) { return place(a) < place(b); });
  }
  return points;
}

// The points that may win somewhere in `region`, in ascending order.
std::vector<int> PointsOf(const Region& region, const std::vector<SearchPoint>& points) {
  const Place centre = {(region.corners[0].i + region.corners[3].i) / 2,
                        (region.corners[0].q + region.corners[3].q) / 2};
  const auto distance = [&centre](const SearchPoint& p) {
    return (p.i - centre.i) * (p.i - centre.i) + (p.q - centre.q) * (p.q - centre.q);
  };
  const SearchPoint& nearest = *std::min_element(
      points.begin(), points.end(),
      [&](const SearchPoint& a, const SearchPoint& b) { return distance(a) < distance(b); });
  // First against one good point, then among the few that are left.
  std::vector<int> rivals;
  for (int k = 0; k < static_cast<int>(points.size()); ++k) {
    if (Difference(points[static_cast<size_t>(k)], nearest).MayWin(region)) {
      rivals.push_back(k);
    }
  }
  if (rivals.size() > kMaxRivals) return rivals;
  std::vector<int> kept;
  std::copy_if(rivals.begin(), rivals.end(), std::back_inserter(kept), [&](int k) {
    return std::all_of(rivals.begin(), rivals.end(), [&](int rival) {
      return rival == k ||
             Difference(points[static_cast<size_t>(k)], points[static_cast<size_t>(rival)])
                 .MayWin(region);
    });
  });
  return kept;
}

Region RegionOf(const NearestView& shape, int column, int row) {
  const double cell = 1.0 / shape.cells_per_unit;
  const double overlap = kOverlap * shape.side * cell;
  const double i0 = shape.origin + column * cell - overlap;
  const double q0 = shape.origin + row * cell - overlap;
  const double i1 = i0 + cell + 2.0 * overlap;
  const double q1 = q0 + cell + 2.0 * overlap;
  Region region{{{{i0, q0}, {i1, q0}, {i0, q1}, {i1, q1}}}, {}};
  const int last = shape.side - 1;
  if (column == last) {
    region.rays.push_back({1.0, 0.0});
  }
  if (row == last) {
    region.rays.push_back({0.0, 1.0});
  }
  if (shape.folded == 0 && column == 0) {
    region.rays.push_back({-1.0, 0.0});
  }
  if (shape.folded == 0 && row == 0) {
    region.rays.push_back({0.0, -1.0});
  }
  return region;
}

// NearestView::octant_points of a folded list.
int OctantPoints(const std::vector<SearchPoint>& points) {
  constexpr float kSame = 1e-6F;
  for (const SearchPoint& point : points) {
    const bool has_image = std::any_of(points.begin(), points.end(), [&](const SearchPoint& other) {
      return std::fabs(other.i - point.q) < kSame && std::fabs(other.q - point.i) < kSame;
    });
    if (!has_image) return 0;
  }
  return static_cast<int>(std::count_if(points.begin(), points.end(), IsInOctant));
}

uint32_t CellWord(const std::vector<int>& listed) {
  uint32_t word = listed.size() > kInCell ? kCellHasMore : 0;
  for (size_t k = 0; k < kInCell; ++k) {
    const auto index = static_cast<uint32_t>(listed[std::min(k, listed.size() - 1)]);
    word |= index << (k * kCellIndexBits);
  }
  return word;
}

}  // namespace

NearestGrid::NearestGrid(const Constellation& constellation)
    : points_(PointsToSearch(constellation)) {
  shape_.folded = constellation.mirror_symmetric() ? 1 : 0;
  if (shape_.folded != 0) shape_.octant_points = OctantPoints(points_);
  if (constellation.qam_side() > 0) {
    shape_.slices = constellation.qam_side() / 2;
    shape_.slices_per_unit = SlicesPerUnit(constellation.qam_side());
  }
  shape_.side = std::clamp(
      static_cast<int>(std::ceil(std::sqrt(kCellsPerPoint * static_cast<double>(points_.size())))),
      kMinSide, kMaxSide);
}

absl::StatusOr<NearestGrid> NearestGrid::Create(const Constellation& constellation,
                                                const ContinueCheck& may_continue) {
  NearestGrid grid(constellation);
  while (true) {
    BASEBAND_ASSIGN_OR_RETURN(const bool filled, grid.Fill(may_continue));
    if (filled) return grid;
    grid.shape_.side /= 2;  // at the latest a single cell fits, of all points
  }
}

absl::StatusOr<bool> NearestGrid::Fill(const ContinueCheck& may_continue) {
  double extent = 0.0;
  for (const SearchPoint& point : points_) {
    extent = std::max(
        {extent, std::fabs(static_cast<double>(point.i)), std::fabs(static_cast<double>(point.q))});
  }
  extent += kRim;
  shape_.origin = shape_.folded != 0 ? 0.0F : static_cast<float>(-extent);
  shape_.cells_per_unit =
      static_cast<float>(shape_.side / (shape_.folded != 0 ? extent : 2.0 * extent));
  cells_.clear();
  more_begin_.clear();
  more_.clear();
  std::map<std::vector<int>, uint16_t> begins;  // of equal lists one is kept
  for (int row = 0; row < shape_.side; ++row) {
    for (int column = 0; column < shape_.side; ++column) {
      BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
      std::vector<int> listed = PointsOf(RegionOf(shape_, column, row), points_);
      cells_.push_back(CellWord(listed));
      more_begin_.push_back(0);
      if (listed.size() <= kInCell) {
        continue;
      }
      listed.erase(listed.begin(), listed.begin() + kInCell);
      const auto [it, is_new] = begins.emplace(listed, static_cast<uint16_t>(more_.size()));
      more_begin_.back() = it->second;
      if (is_new) {
        if (more_.size() + listed.size() > std::numeric_limits<uint16_t>::max()) {
          return false;
        }
        more_.push_back(static_cast<uint16_t>(listed.size()));
        more_.insert(more_.end(), listed.begin(), listed.end());
      }
    }
  }
  return true;
}

NearestView NearestGrid::view() const {
  NearestView view = shape_;
  view.cells = cells_.data();
  view.more_begin = more_begin_.data();
  view.more = more_.data();
  view.points = points_.data();
  view.num_points = static_cast<int>(points_.size());
  view.num_more = static_cast<int>(more_.size());
  return view;
}

int64_t NearestGrid::bytes() const {
  return static_cast<int64_t>(
      cells_.size() * sizeof(cells_[0]) + more_begin_.size() * sizeof(more_begin_[0]) +
      more_.size() * sizeof(more_[0]) + points_.size() * sizeof(points_[0]));
}

}  // namespace baseband::carrier
