#include "kernels/carrier/constellation/even_rings.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "kernels/carrier/constellation/nearest.h"

namespace baseband::carrier {
namespace {

constexpr double kPi = 3.14159265358979323846;
// How far points may be from where the ring says, over its radius: a few of float32's last digits.
constexpr double kAside = 5e-7;
// Two rings share so much more of the radii than they must: a symbol's radius is float32, too.
constexpr double kMargin = 1e-5;

struct Ring {
  double radius = 0.0;
  double angle = 0.0;  // of a point, from 0 to `spacing`
  double spacing = 0.0;
  size_t points = 0;
};

// The ring of these points; `points` is 0 if they are not evenly spaced.
Ring RingOf(absl::Span<const std::complex<double>> points) {
  Ring ring;
  ring.spacing = 2.0 * kPi / static_cast<double>(points.size());
  std::complex<double> direction;
  for (const auto& point : points) {
    ring.radius += std::abs(point) / static_cast<double>(points.size());
    direction += std::polar(1.0, std::arg(point) * static_cast<double>(points.size()));
  }
  ring.angle = std::arg(direction) / static_cast<double>(points.size());
  if (ring.angle < 0.0) ring.angle += ring.spacing;
  std::vector<bool> taken(points.size());
  for (const auto& point : points) {
    const double place = std::round((std::arg(point) - ring.angle) / ring.spacing);
    const auto index =
        static_cast<size_t>(place + 2.0 * static_cast<double>(points.size())) % points.size();
    const auto there = std::polar(ring.radius, ring.angle + place * ring.spacing);
    if (taken[index] || std::abs(point - there) > kAside * ring.radius) return ring;
    taken[index] = true;
  }
  ring.points = points.size();
  return ring;
}

bool Alike(const Ring& a, const Ring& b) {
  const double apart = std::fabs(a.angle - b.angle);
  return a.points == b.points && std::min(apart, a.spacing - apart) <= kAside;
}

// The radius at which a symbol `aside` of the inner ring's point and right outside of the outer
// one's, or the other way round, is as far from both.
double Between(const Ring& inner, double inner_aside, const Ring& outer, double outer_aside) {
  const double energy = outer.radius * outer.radius - inner.radius * inner.radius;
  const double slope = outer.radius * std::cos(outer_aside) - inner.radius * std::cos(inner_aside);
  return slope > 0.0 ? 0.5 * energy / slope : std::numeric_limits<double>::infinity();
}

}  // namespace

EvenRings EvenRingsOf(absl::Span<const Iq> points) {
  std::vector<std::complex<double>> sorted;
  for (const Iq& point : points) sorted.emplace_back(point.i, point.q);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return std::norm(a) < std::norm(b); });
  std::vector<Ring> rings;
  for (size_t begin = 0; begin < sorted.size();) {
    size_t end = begin + 1;
    const double least = std::abs(sorted[begin]);
    while (end < sorted.size() &&
           std::abs(sorted[end]) - std::abs(sorted[end - 1]) <= kAside * least) {
      ++end;
    }
    const Ring ring = RingOf(absl::MakeConstSpan(sorted).subspan(begin, end - begin));
    if (ring.points == 0 || ring.points % 4 != 0 || least < 2.0 * kOriginRadius) return {};
    rings.push_back(ring);
    begin = end;
  }
  if (rings.size() > static_cast<size_t>(kMaxEvenRings)) return {};
  EvenRings even;
  even.alike = 1;
  for (const Ring& ring : rings) {
    EvenRing& made = even.rings[even.count++];
    made.radius = static_cast<float>(ring.radius);
    made.points = static_cast<uint32_t>(ring.points / 4);
    made.first = static_cast<uint32_t>(
        static_cast<uint64_t>(std::llround(ring.angle / ring.spacing * 0x1p32)));
    if (!Alike(rings.front(), ring)) even.alike = 0;
  }
  for (int k = 0; k < even.count; ++k) {
    EvenRing& made = even.rings[k];
    made.next_from = made.own_to = std::numeric_limits<float>::infinity();
    if (k + 1 == even.count) continue;
    const Ring& inner = rings[static_cast<size_t>(k)];
    const Ring& outer = rings[static_cast<size_t>(k) + 1];
    const bool alike = Alike(inner, outer);  // then a symbol is equally far aside of both
    const double half_outer = 0.5 * outer.spacing;
    const double least =
        alike ? Between(inner, 0.0, outer, 0.0) : Between(inner, 0.5 * inner.spacing, outer, 0.0);
    const double most = Between(inner, alike ? half_outer : 0.0, outer, half_outer);
    made.next_from = static_cast<float>(least * (1.0 - kMargin));
    made.own_to = static_cast<float>(most * (1.0 + kMargin));
    if (k > 0 && made.next_from < even.rings[k - 1].own_to) return {};
  }
  return even;
}

}  // namespace baseband::carrier
