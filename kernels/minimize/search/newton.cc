#include <algorithm>
#include <cmath>

#include "kernels/minimize/search/descent.h"

namespace baseband::minimize {
namespace {

constexpr int kFitsAtFirst = 14;  // an axis
constexpr int kFits = 3;
constexpr int kShrinks = 20;
constexpr double kFiner = 0.05;
constexpr double kFinest = 1e-4;

// How far a model is trusted: `radius` times the lengths it was made over, a step at most.
class Trust {
 public:
  void Bounds(const Surroundings& around, const LocalModel& model, Vector* low,
              Vector* high) const {
    for (size_t i = 0; i < around.size(); ++i) {
      const double reach = std::min(1.0, radius_ * 4.0 * model.half[i]);
      (*low)[i] = std::max(around.low(i) - model.centre.u[i], -reach);
      (*high)[i] = std::min(around.high(i) - model.centre.u[i], reach);
    }
  }
  // `ratio`: of what a step gained to what the model said.
  void Learn(double ratio) {
    if (!(ratio > 0.25)) radius_ *= 0.25;
    if (ratio > 0.75) radius_ = std::min(2.0 * radius_, kLongest);
  }

 private:
  static constexpr double kLongest = 64.0;  // where a valley goes on as it began
  double radius_ = 1.0;
};

}  // namespace

Descent Newton(Surroundings* around, const Place& from, int rounds) {
  const size_t n = around->size();
  Descent descent;
  descent.place = from;
  Trust trust;
  Vector half{};
  int fits = kFitsAtFirst;
  double fineness = 1.0;
  int level_steps = 3;  // that values do not tell from standing still
  for (int round = 0; round < rounds; ++round) {
    if (fits == kFitsAtFirst) around->MeasureRounding(descent.place.u);
    descent.model = MakeLocalModel(around, descent.place, half, fits, fineness);
    descent.verdict = Judge(around, descent.model);
    if (descent.verdict.is_settled || !around->status().ok() || around->is_spent()) return descent;
    half = descent.model.half;
    const Place before = descent.place;
    for (int shrink = 0; shrink < kShrinks && descent.place.u == before.u; ++shrink) {
      Vector low{};
      Vector high{};
      trust.Bounds(*around, descent.model, &low, &high);
      const Vector move = LeastInBox(descent.model, low, high, n);
      const double gain = -descent.model.Rise(move, n);
      Place next;
      for (size_t i = 0; i < n; ++i) next.u[i] = before.u[i] + move[i];
      next.u = around->Clamped(next.u);
      if (!(gain > 0.0) || next.u == before.u) break;
      next.value = around->Value(next.u);
      trust.Learn((before.value - next.value) / gain);
      const double rounding = 8.0 * descent.model.rounding;
      const bool is_level = gain <= rounding && next.value <= before.value + rounding;
      if (next.value < before.value || (is_level && level_steps-- > 0)) descent.place = next;
    }
    if (descent.model.least.value < descent.place.value - 8.0 * descent.model.rounding) {
      descent.place = descent.model.least;
    }
    if (descent.place.u == before.u) {
      // Are there better lengths?
      if (fits == kFitsAtFirst && (fineness *= kFiner) < kFinest) return descent;
      fits = kFitsAtFirst;
      half = Vector{};
    } else {
      fits = kFits;
    }
  }
  around->MeasureRounding(descent.place.u);
  descent.model = MakeLocalModel(around, descent.place, half, kFitsAtFirst, kFiner);
  descent.verdict = Judge(around, descent.model);
  descent.out_of_rounds = !descent.verdict.is_settled;
  return descent;
}

}  // namespace baseband::minimize
