#include "server/batching/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace baseband::server {
namespace {

// Of a batch on the CPU device; a GPU's launch and copies take about as long.
constexpr double kGuessedLatency = 20e-6;
constexpr double kPaceStep = 0.2;
constexpr double kRateStep = 0.04;
constexpr double kShareStep = 0.02;
constexpr double kWorkStep = 0.5;  // a window
// Shares the device with so many at least, itself included, that it counts as contended.
constexpr double kContended = 1.1;
// Contended batches take more than so many times as long as alone when there is no room left, and
// less than that when there is again.
constexpr double kCrowded = 1.25;
constexpr double kRoomy = 1.1;
// Batches twice as large pay if a unit takes less than so much of what it took before. After a
// trial that did not pay there is none for so many windows.
constexpr double kWorthIt = 0.8;
constexpr int kRest = 8;
constexpr double kMaxGrowth = 64.0;
// Of a window no batch counts for more than so many times its prediction.
constexpr double kMaxSeen = 4.0;
constexpr double kForget = 0.98;
// Errors count for no more than this factor: one batch that the host held up is no news.
constexpr double kMaxFactor = 2.0;
// Sizes that differ by less tell nothing.
constexpr double kLeastSpread = 1e-3;
constexpr double kMinLatency = 1e-6;
constexpr double kMinGain = 1e-6;
// Shapes share a gain, and sizes of one that seem to cost nothing bring it close to nothing: a rate
// that was set then is absurd once the gain is seen again. Nothing within its reach takes longer
// than so many times the longest batch that the shape was in,
constexpr double kMostOfLongest = 8.0;
// and a shape that alone should have taken more than so many times as long as its batch did has its
// rate set anew.
constexpr double kAbsurd = 32.0;
constexpr double kMinRate = 1e-15;
// Nobody guesses more of a unit, in seconds.
constexpr double kMaxGuessedUnit = 1.0;

size_t IndexOf(const Work& work) { return static_cast<size_t>(work.shape); }

}  // namespace

Work Normalised(const Work& work) {
  Work normal;
  // The order of these makes NaN the least.
  normal.units = std::min(std::max(kLeastUnits, work.units), kMostUnits);
  normal.shape = std::clamp(work.shape, 0, kNumShapes - 1);
  normal.guessed_unit_s = std::min(std::max(kMinRate, work.guessed_unit_s), kMaxGuessedUnit);
  return normal;
}

CostModel::CostModel() {
  for (auto& side : costs_) {
    for (Costs& costs : side) costs.latency_s = kGuessedLatency;
  }
}

BatchCost CostModel::CostOf(bool background, int operation, const Work& work) const {
  const Costs& costs = Of(background, operation);
  const Rate& rate = costs.rates[IndexOf(work)];
  const double x =
      rate.SecondsOf(work) * (rate.seen ? std::min(work.units, rate.Reach()) : work.units);
  const double latency_s = costs.pace * costs.latency_s;
  double alone_s = latency_s + costs.pace * costs.gain * x;
  if (rate.seen) alone_s = std::min(alone_s, kMostOfLongest * rate.longest_s);
  BatchCost cost;
  cost.latency_s = std::min(latency_s, alone_s);
  // What is much smaller than what `work` was seen of takes no more than it does alone.
  cost.work_s = std::min(costs.work * x, alone_s);
  cost.slope = cost.work_s > 0.0 ? (alone_s - cost.latency_s) / cost.work_s : 1.0;
  return cost;
}

double CostModel::AtSize(int operation, const Work& work, double cores) const {
  double least_s = std::numeric_limits<double>::infinity();
  for (const bool background : {false, true}) {
    const Costs& costs = Of(background, operation);
    const Rate& rate = costs.rates[IndexOf(work)];
    if (rate.seen) least_s = std::min(least_s, costs.Alone(rate.seconds * work.units));
  }
  return std::isfinite(least_s) ? least_s : work.units * work.guessed_unit_s / cores;
}

bool CostModel::IsKnown(bool background, int operation, const Work& work, absl::Time now) const {
  const Rate& rate = Of(background, operation).rates[IndexOf(work)];
  return rate.last >= now - kFresh && work.units <= rate.Reach();
}

bool CostModel::IsKnown(bool background, int operation, absl::Time now) const {
  const auto& rates = Of(background, operation).rates;
  return std::any_of(rates.begin(), rates.end(),
                     [=](const Rate& rate) { return rate.last >= now - kFresh; });
}

void CostModel::Learn(bool background, int operation, absl::Span<const Work> jobs,
                      const DeviceClock::Taken& taken, absl::Time now) {
  const double seconds = taken.ran_s;
  if (!(seconds > 0.0 && taken.device_s > 0.0)) return;
  const double sharing = seconds / taken.device_s;
  const bool contended = sharing >= kContended;
  Costs& costs = costs_[background][static_cast<size_t>(operation)];
  Units units{};
  for (const Work& work : jobs) {
    units[IndexOf(work)] += work.units;
    Rate& rate = costs.rates[IndexOf(work)];
    rate.seconds = rate.SecondsOf(work);
  }
  const bool has_room = !contended || !costs.crowded;
  const double scale = has_room ? costs.pace * costs.gain : sharing * costs.work;
  const auto is_new = [&](size_t i) {
    return units[i] > costs.rates[i].Reach() ||
           units[i] * costs.rates[i].seconds * scale > kAbsurd * seconds;
  };
  double x = 0.0;
  double guessed = 0.0;
  for (size_t i = 0; i < units.size(); ++i) {
    (is_new(i) ? guessed : x) += units[i] * costs.rates[i].seconds;
  }
  const double known = has_room ? costs.Alone(x) : sharing * costs.work * x;
  // What is new takes all that the rest leaves, and half of the whole at least.
  const double rest_s = std::max(seconds - known, seconds / 2);
  const double factor = rest_s / (guessed * scale);
  const double right = std::clamp(seconds, known / kMaxFactor, known * kMaxFactor);
  const double error = std::log(right / known);
  const double part = has_room ? scale / known : 1.0 / x;
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i] == 0.0) continue;
    Rate& rate = costs.rates[i];
    if (is_new(i)) rate.seconds = std::max(rate.seconds * factor, kMinRate);
    rate.seen = true;
    rate.most_units = std::max(rate.most_units, units[i]);
    rate.longest_s = std::max(rate.longest_s, seconds);
    rate.last = now;
  }
  if (guessed > 0.0) return;
  MoveRates(costs, units, x, kRateStep * error * part);
  if (!contended) LearnAlone(costs, x, seconds);
  Watch(costs, {x, seconds, taken.device_s}, contended);
}

void CostModel::MoveRates(Costs& costs, const Units& units, double x, double step) {
  Units moves{};
  double shares = 0.0;
  double mean = 0.0;
  for (size_t i = 0; i < units.size(); ++i) {
    Rate& rate = costs.rates[i];
    const double part = units[i] * rate.seconds;
    moves[i] = step * part;
    rate.share += kShareStep * (part / x - rate.share);
    shares += rate.share;
    mean += rate.share * moves[i];
  }
  mean /= shares;
  for (size_t i = 0; i < units.size(); ++i) {
    Rate& rate = costs.rates[i];
    if (rate.seen) rate.seconds = std::max(rate.seconds * std::exp(moves[i] - mean), kMinRate);
  }
}

void CostModel::LearnAlone(Costs& costs, double x, double seconds) {
  const double known = costs.Alone(x);
  const double right = std::clamp(seconds, known / kMaxFactor, known * kMaxFactor);
  costs.pace *= std::pow(right / known, kPaceStep);
  Fit(costs, x, right / costs.pace);
}

void CostModel::Watch(Costs& costs, const Seen& seen, bool contended) {
  Window& window = costs.windows[contended];
  window.batches[window.size++] = seen;
  if (window.size < kWindow) return;
  window.size = 0;
  double x = 0.0, ran_s = 0.0, alone_s = 0.0, device_s = 0.0;
  for (const Seen& batch : window.batches) {
    const double most_s = kMaxSeen * costs.Alone(batch.x);
    x += batch.x;
    ran_s += std::min(batch.ran_s, most_s);
    alone_s += costs.Alone(batch.x);
    device_s += std::min(batch.device_s, most_s);
  }
  const double seen_work = device_s / x;
  if (contended) {
    costs.crowded = ran_s > (costs.crowded ? kRoomy : kCrowded) * alone_s;
    if (costs.crowded) {
      costs.work *= std::pow(seen_work / costs.work, kWorkStep);
      TryGrowth(costs, seen_work);
      // More than alone of the device for itself: that has become slower.
      costs.pace *= std::pow(std::max(device_s / alone_s, 1.0), kWorkStep);
      return;
    }
    costs.growth = 1.0;
    costs.is_trial = false;
    costs.rest = 0;
    for (const Seen& batch : window.batches) LearnAlone(costs, batch.x, batch.ran_s);
  }
  costs.work = std::min(costs.work, seen_work);
}

void CostModel::TryGrowth(Costs& costs, double seen_work) {
  const bool pays = costs.is_trial && seen_work < kWorthIt * costs.work_before;
  if (costs.is_trial && !pays) {
    costs.growth /= 2.0;
    costs.is_trial = false;
    costs.rest = kRest;
  } else if (pays || --costs.rest < 0) {
    costs.is_trial = costs.growth < kMaxGrowth;
    if (costs.is_trial) costs.growth *= 2.0;
    costs.work_before = seen_work;
  }
}

void CostModel::Fit(Costs& costs, double x, double y) {
  const double weight = 1.0 / (y * y);
  for (double* sum : {&costs.one, &costs.sum_x, &costs.xx, &costs.y, &costs.xy}) *sum *= kForget;
  costs.one += weight;
  costs.sum_x += weight * x;
  costs.xx += weight * x * x;
  costs.y += weight * y;
  costs.xy += weight * x * y;
  const double spread = costs.one * costs.xx - costs.sum_x * costs.sum_x;
  if (spread < kLeastSpread * costs.one * costs.xx) return;
  costs.latency_s = (costs.xx * costs.y - costs.sum_x * costs.xy) / spread;
  costs.gain = (costs.one * costs.xy - costs.sum_x * costs.y) / spread;
  if (costs.latency_s < kMinLatency) {
    costs.latency_s = kMinLatency;
    costs.gain = (costs.xy - kMinLatency * costs.sum_x) / costs.xx;
  }
  if (costs.gain < kMinGain) {
    costs.gain = kMinGain;
    costs.latency_s = std::max(kMinLatency, (costs.y - kMinGain * costs.sum_x) / costs.one);
  }
}

}  // namespace baseband::server
