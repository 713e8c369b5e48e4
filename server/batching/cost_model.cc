#include "server/batching/cost_model.h"

#include <algorithm>
#include <cmath>

namespace baseband::server {
namespace {

// Of a batch on the CPU device; a GPU's launch and copies take about as long.
constexpr double kGuessedFixed = 20e-6;
// Of a unit on one core, in the order of OperationKind: an edge encoded, an edge in one iteration,
// a symbol, a product of tap and sample, an operation.
constexpr std::array<double, kNumOperations> kGuessedRates = {1e-11, 1e-10, 2e-8, 2e-10, 1e-9};

constexpr double kStep = 0.2;
// Errors count for no more than this factor: one batch that the host held up is no news.
const double kMaxError = std::log(2.0);
constexpr double kMinFixed = 1e-6;
constexpr double kMinRate = 1e-15;

size_t IndexOf(const Work& work) {
  return static_cast<size_t>(std::clamp(work.shape, 0, kNumShapes - 1));
}

}  // namespace

CostModel::CostModel() {
  for (auto& side : costs_) {
    for (size_t i = 0; i < side.size(); ++i) {
      side[i].fixed_s = kGuessedFixed;
      for (Rate& rate : side[i].rates) rate.seconds = kGuessedRates[i];
    }
  }
}

double CostModel::Fixed(bool background, OperationKind operation) const {
  return Of(background, operation).fixed_s;
}

double CostModel::Added(bool background, OperationKind operation, const Work& work) const {
  return work.units * Of(background, operation).rates[IndexOf(work)].seconds;
}

bool CostModel::IsFresh(bool background, OperationKind operation, int shape, absl::Time now) const {
  return Of(background, operation).rates[IndexOf({0.0, shape})].last >= now - kFresh;
}

void CostModel::Learn(bool background, OperationKind operation, absl::Span<const Work> jobs,
                      double seconds, absl::Time now) {
  if (!(seconds > 0.0)) return;
  Costs& costs = costs_[background][static_cast<size_t>(operation)];
  std::array<double, kNumShapes> units{};
  for (const Work& work : jobs) units[IndexOf(work)] += work.units;
  double known = costs.fixed_s;
  double guessed = 0.0;
  for (size_t i = 0; i < units.size(); ++i) {
    (costs.rates[i].seen ? known : guessed) += units[i] * costs.rates[i].seconds;
  }
  // What is new takes all that the rest leaves, and half of the whole at least.
  if (guessed > 0.0) {
    const double factor = std::max(seconds - known, seconds / 2) / guessed;
    for (size_t i = 0; i < units.size(); ++i) {
      if (units[i] == 0.0) continue;
      Rate& rate = costs.rates[i];
      if (!rate.seen) rate.seconds = std::max(kMinRate, rate.seconds * factor);
      rate.seen = true;
      rate.last = now;
    }
    return;
  }
  const double error = std::clamp(std::log(seconds / known), -kMaxError, kMaxError);
  // The parts' weights in the logarithm of the sum; the step is divided by their squares' sum.
  double squares = std::pow(costs.fixed_s / known, 2);
  for (size_t i = 0; i < units.size(); ++i) {
    squares += std::pow(units[i] * costs.rates[i].seconds / known, 2);
  }
  const double step = kStep * error / squares;
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i] == 0.0) continue;
    Rate& rate = costs.rates[i];
    rate.seconds =
        std::max(kMinRate, rate.seconds * std::exp(step * units[i] * rate.seconds / known));
    rate.last = now;
  }
  costs.fixed_s = std::max(kMinFixed, costs.fixed_s * std::exp(step * costs.fixed_s / known));
}

}  // namespace baseband::server
