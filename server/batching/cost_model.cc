#include "server/batching/cost_model.h"

#include <algorithm>
#include <cmath>

namespace baseband::server {
namespace {

// Of a batch on the CPU device; a GPU's launch and copies take about as long.
constexpr double kGuessedLatency = 20e-6;
// Of a unit on one core, in the order of OperationKind: an edge encoded, an edge in one iteration,
// a symbol, a product of tap and sample, an operation.
constexpr std::array<double, kNumOperations> kGuessedRates = {1e-11, 1e-10, 2e-8, 2e-10, 1e-9};

constexpr double kPaceStep = 0.2;
constexpr double kRateStep = 0.04;
constexpr double kForget = 0.98;
// Errors count for no more than this factor: one batch that the host held up is no news.
constexpr double kMaxFactor = 2.0;
// Sizes that differ by less tell nothing.
constexpr double kLeastSpread = 1e-3;
constexpr double kMinLatency = 1e-6;
constexpr double kMinGain = 1e-6;
constexpr double kMinRate = 1e-15;

size_t IndexOf(const Work& work) {
  return static_cast<size_t>(std::clamp(work.shape, 0, kNumShapes - 1));
}

}  // namespace

CostModel::CostModel() {
  for (auto& side : costs_) {
    for (size_t i = 0; i < side.size(); ++i) {
      side[i].latency_s = kGuessedLatency;
      for (Rate& rate : side[i].rates) rate.seconds = kGuessedRates[i];
    }
  }
}

double CostModel::Added(bool background, OperationKind operation, const Work& work) const {
  const Costs& costs = Of(background, operation);
  return costs.pace * costs.gain * costs.rates[IndexOf(work)].seconds * work.units;
}

bool CostModel::IsFresh(bool background, OperationKind operation, int shape, absl::Time now) const {
  return Of(background, operation).rates[IndexOf({0.0, shape})].last >= now - kFresh;
}

void CostModel::Learn(bool background, OperationKind operation, absl::Span<const Work> jobs,
                      const DeviceClock::Taken& taken, absl::Time now) {
  const double seconds = taken.ran_s;
  if (!(seconds > 0.0 && taken.device_s > 0.0)) return;
  const double company = seconds / taken.device_s;
  Costs& costs = costs_[background][static_cast<size_t>(operation)];
  std::array<double, kNumShapes> units{};
  for (const Work& work : jobs) units[IndexOf(work)] += work.units;
  double x = 0.0;
  double guessed = 0.0;
  for (size_t i = 0; i < units.size(); ++i) {
    (costs.rates[i].seen ? x : guessed) += company * units[i] * costs.rates[i].seconds;
  }
  const double known = costs.pace * (costs.latency_s + costs.gain * x);
  // What is new takes all that the rest leaves, and half of the whole at least.
  const double factor =
      std::max(seconds - known, seconds / 2) / (costs.pace * costs.gain * guessed);
  const double right = std::clamp(seconds, known / kMaxFactor, known * kMaxFactor);
  const double error = std::log(right / known);
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i] == 0.0) continue;
    Rate& rate = costs.rates[i];
    if (!rate.seen) {
      rate.seconds *= factor;
    } else if (guessed == 0.0) {
      rate.seconds *= std::exp(kRateStep * error * company * units[i] * rate.seconds / x);
    }
    rate.seconds = std::max(rate.seconds, kMinRate);
    rate.seen = true;
    rate.last = now;
  }
  if (guessed > 0.0) return;
  costs.pace *= std::exp(kPaceStep * error);
  Fit(costs, x, right / costs.pace);
}

void CostModel::Fit(Costs& costs, double x, double y) {
  const double weight = 1.0 / (y * y);
  for (double* sum : {&costs.one, &costs.x, &costs.xx, &costs.y, &costs.xy}) *sum *= kForget;
  costs.one += weight;
  costs.x += weight * x;
  costs.xx += weight * x * x;
  costs.y += weight * y;
  costs.xy += weight * x * y;
  const double spread = costs.one * costs.xx - costs.x * costs.x;
  if (spread < kLeastSpread * costs.one * costs.xx) return;
  costs.latency_s = (costs.xx * costs.y - costs.x * costs.xy) / spread;
  costs.gain = (costs.one * costs.xy - costs.x * costs.y) / spread;
  if (costs.latency_s < kMinLatency) {
    costs.latency_s = kMinLatency;
    costs.gain = (costs.xy - kMinLatency * costs.x) / costs.xx;
  }
  if (costs.gain < kMinGain) {
    costs.gain = kMinGain;
    costs.latency_s = std::max(kMinLatency, (costs.y - kMinGain * costs.x) / costs.one);
  }
}

}  // namespace baseband::server
