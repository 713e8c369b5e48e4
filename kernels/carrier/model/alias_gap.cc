#include "kernels/carrier/model/alias_gap.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/status_macros.h"
#include "kernels/carrier/math/line_math.h"
#include "kernels/carrier/math/soft_math.h"

namespace baseband::carrier {
namespace {

// Places that noise moves a point to: rings of equal probability, each with as many.
constexpr int kNoiseRings = 4;
constexpr int kPlacesOfRing = 8;
// Of more turns so many stand for all.
constexpr int kMostTurns = 8;

// Differences of a symbol's fits, and their squares.
struct Gap {
  double mean = 0.0;
  double square = 0.0;
};

Iq TurnedBack(Iq z, double turns) {
  const Turned turn = Turn(turns);
  return Multiply(z, {turn.c, -turn.s});
}

// Of an alias that turns symbols by one of `order` turns, `step` apart, equally often.
Gap GapAround(const ModelView& view, int table, Iq point, int order, double step) {
  const int turns = std::min(order - 1, kMostTurns);
  const double share = (order - 1.0) / order / (turns * kNoiseRings * kPlacesOfRing);
  const auto noise = static_cast<double>(view.facts[table].noise);
  Gap gap;
  for (int ring = 0; ring < kNoiseRings; ++ring) {
    const double radius = std::sqrt(-noise * std::log(1.0 - (ring + 0.5) / kNoiseRings));
    for (int place = 0; place < kPlacesOfRing; ++place) {
      // Rings are turned against each other.
      const double angle =
          kTurn * (place + static_cast<double>(ring) / kNoiseRings) / kPlacesOfRing;
      const Iq z = {point.i + static_cast<float>(radius * std::cos(angle)),
                    point.q + static_cast<float>(radius * std::sin(angle))};
      const double right = static_cast<double>(CoarseFit(view, table, z));
      for (int k = 0; k < turns; ++k) {
        const int turn = 1 + k * (order - 1) / turns;
        const double wrong =
            static_cast<double>(CoarseFit(view, table, TurnedBack(z, turn * step)));
        gap.mean += share * (right - wrong);
        gap.square += share * (right - wrong) * (right - wrong);
      }
    }
  }
  return gap;
}

bool IsPrime(int number) {
  for (int divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number > 1;
}

}  // namespace

// An alias whose turns come back after a composite number of symbols leaves fewer of them as they
// are than one of its divisors does.
absl::Status FindAliasGap(const ModelView& view, int table, absl::Span<const Iq> points,
                          const ContinueCheck& may_continue, SnrFacts* facts) {
  const int branches = view.power / view.symmetry;
  Gap least;
  for (int order = 2; order <= branches; ++order) {
    if (branches % order != 0 || !IsPrime(order)) continue;
    const double step = 1.0 / (static_cast<double>(view.symmetry) * order);
    Gap gap;
    for (const Iq& point : points) {
      BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
      const Gap around = GapAround(view, table, point, order, step);
      gap.mean += around.mean / static_cast<double>(points.size());
      gap.square += around.square / static_cast<double>(points.size());
    }
    if (!(least.square > 0.0) || gap.mean < least.mean) least = gap;
  }
  facts->alias_gap = static_cast<float>(std::max(least.mean, 0.0));
  facts->alias_square = static_cast<float>(least.square);
  return absl::OkStatus();
}

}  // namespace baseband::carrier
