#include "kernels/carrier/constellation/constellation_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace baseband::carrier {
namespace {

constexpr double kTwoPi = 6.28318530717958647692;
constexpr double kMirrorTolerance = 1e-6;
constexpr double kTurnTolerance = 0.002;
constexpr double kGridTolerance = 1e-5;

double SquaredDistance(const Iq& a, double i, double q) {
  return (a.i - i) * (a.i - i) + (a.q - q) * (a.q - q);
}

// Finds points by where they are.
class PointFinder {
 public:
  explicit PointFinder(absl::Span<const Iq> points) : points_(points), by_i_(points.size()) {
    std::iota(by_i_.begin(), by_i_.end(), 0);
    std::sort(by_i_.begin(), by_i_.end(), [this](int a, int b) { return Point(a).i < Point(b).i; });
  }

  // The index of the point nearest to (i, q), if within `tolerance`; else -1.
  int Find(double i, double q, double tolerance) const {
    auto it = std::lower_bound(by_i_.begin(), by_i_.end(), i - tolerance,
                               [this](int a, double least) { return Point(a).i < least; });
    int found = -1;
    double least = tolerance * tolerance;
    for (; it != by_i_.end() && Point(*it).i <= i + tolerance; ++it) {
      const double distance = SquaredDistance(Point(*it), i, q);
      if (distance <= least) {
        least = distance;
        found = *it;
      }
    }
    return found;
  }

 private:
  const Iq& Point(int index) const { return points_[static_cast<size_t>(index)]; }

  absl::Span<const Iq> points_;
  std::vector<int> by_i_;
};

// For every point the index of its image with I (and Q) multiplied by the given signs; empty unless
// that pairs the points off.
std::vector<int> MirrorImages(const PointFinder& finder, absl::Span<const Iq> points, int sign_i,
                              int sign_q) {
  std::vector<int> images;
  for (const Iq& point : points) {
    images.push_back(finder.Find(sign_i * static_cast<double>(point.i),
                                 sign_q * static_cast<double>(point.q), kMirrorTolerance));
    if (images.back() < 0) {
      return {};
    }
  }
  for (size_t k = 0; k < images.size(); ++k) {
    if (images[static_cast<size_t>(images[k])] != static_cast<int>(k)) {
      return {};
    }
  }
  return images;
}

}  // namespace

bool MakeMirrorSymmetric(std::vector<Iq>* points) {
  const PointFinder finder(*points);
  const std::vector<int> in_i = MirrorImages(finder, *points, -1, 1);
  const std::vector<int> in_q = MirrorImages(finder, *points, 1, -1);
  if (in_i.empty() || in_q.empty()) {
    return false;
  }
  const std::vector<Iq> old = *points;
  for (size_t k = 0; k < old.size(); ++k) {
    // All images of a point take their magnitudes from the one of the least index; a point that is
    // its own image lies on the axis.
    const auto self = static_cast<int>(k);
    const int across = in_i[static_cast<size_t>(in_q[k])];
    const Iq& first = old[static_cast<size_t>(std::min({self, in_i[k], in_q[k], across}))];
    (*points)[k].i = in_i[k] == self ? 0.0F : std::copysign(first.i, old[k].i);
    (*points)[k].q = in_q[k] == self ? 0.0F : std::copysign(first.q, old[k].q);
  }
  return true;
}

int SymmetryOf(absl::Span<const Iq> points) {
  const PointFinder finder(points);
  const auto turns_onto_itself = [&](int order) {
    const double c = std::cos(kTwoPi / order);
    const double s = std::sin(kTwoPi / order);
    return std::all_of(points.begin(), points.end(), [&](const Iq& point) {
      return finder.Find(c * point.i - s * point.q, s * point.i + c * point.q, kTurnTolerance) >= 0;
    });
  };
  // A turn moves a point at the centre nowhere, and the others in cycles of the order's length.
  const auto at_centre = std::count_if(points.begin(), points.end(), [](const Iq& point) {
    return SquaredDistance(point, 0.0, 0.0) < kTurnTolerance * kTurnTolerance / 4;
  });
  const int moved = static_cast<int>(points.size() - static_cast<size_t>(at_centre));
  for (int order = moved; order > 1; --order) {
    if (moved % order == 0 && turns_onto_itself(order)) {
      return order;
    }
  }
  return 1;
}

int QamSideOf(absl::Span<const Iq> points) {
  const auto side = static_cast<int>(std::lround(std::sqrt(static_cast<double>(points.size()))));
  if (side < 2 || side % 2 != 0 || side * side != static_cast<int>(points.size())) {
    return 0;
  }
  // Mean energy of odd multiples of `half`: (side^2 - 1) 2/3 half^2 = 1.
  const double half = std::sqrt(1.5 / (side * side - 1));
  const PointFinder finder(points);
  for (int q = 1 - side; q < side; q += 2) {
    for (int i = 1 - side; i < side; i += 2) {
      if (finder.Find(i * half, q * half, kGridTolerance) < 0) {
        return 0;
      }
    }
  }
  return side;
}

double CutoffSnrDb(absl::Span<const Iq> points) {
  // Squared distances of all pairs, counted in 1/64 octaves from 2^-30 to 2^10.
  constexpr int kPerOctave = 64;
  constexpr int kLeastOctave = -30;
  std::array<int32_t, 40 * kPerOctave> counts{};
  for (size_t a = 0; a < points.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const double octave = std::log2(SquaredDistance(points[a], points[b].i, points[b].q));
      const double bin = std::floor((octave - kLeastOctave) * kPerOctave);
      const double last = static_cast<double>(counts.size() - 1);
      ++counts[static_cast<size_t>(std::min(std::max(bin, 0.0), last))];
    }
  }
  const auto size = static_cast<double>(points.size());
  const auto cutoff_rate = [&](double snr_db) {
    const double snr = std::pow(10.0, snr_db / 10.0);
    double sum = size;  // of exp(-d^2 / (4 N0)) over all pairs, each point with itself included
    for (size_t bin = 0; bin < counts.size(); ++bin) {
      const double octave = kLeastOctave + (static_cast<double>(bin) + 0.5) / kPerOctave;
      sum += counts[bin] == 0 ? 0.0 : 2.0 * counts[bin] * std::exp(-std::exp2(octave) * snr / 4);
    }
    return 2.0 * std::log2(size) - std::log2(sum);
  };
  constexpr double kPart = 0.88;
  double low = -20.0;
  double high = 60.0;
  while (high - low > 0.001) {
    const double middle = (low + high) / 2;
    (cutoff_rate(middle) < kPart * std::log2(size) ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace baseband::carrier
