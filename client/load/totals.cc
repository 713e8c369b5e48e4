#include "client/load/totals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace baseband::load {

int64_t Outcomes::due() const { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

double Outcomes::Share(Outcome outcome) const {
  return due() == 0 ? 0 : static_cast<double>((*this)[outcome]) / static_cast<double>(due());
}

double Outcomes::MissShare() const {
  return missed() == 0 ? 0 : static_cast<double>(missed()) / static_cast<double>(due());
}

void Outcomes::Merge(const Outcomes& other) {
  for (size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
}

void Iterations::Add(uint32_t iterations) {
  blocks_.resize(std::max<size_t>(blocks_.size(), size_t{iterations} + 1));
  ++blocks_[iterations];
  ++count_;
}

void Iterations::Merge(const Iterations& other, int64_t times) {
  blocks_.resize(std::max(blocks_.size(), other.blocks_.size()));
  for (size_t i = 0; i < other.blocks_.size(); ++i) blocks_[i] += times * other.blocks_[i];
  count_ += times * other.count_;
}

double Iterations::mean() const {
  double sum = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    sum += static_cast<double>(i) * static_cast<double>(blocks_[i]);
  }
  return count_ == 0 ? 0 : sum / static_cast<double>(count_);
}

int Iterations::Quantile(double quantile) const {
  const auto least = static_cast<int64_t>(std::ceil(quantile * static_cast<double>(count_)));
  int64_t seen = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    seen += blocks_[i];
    if (seen > 0 && seen >= least) return static_cast<int>(i);
  }
  return 0;
}

void Interval::Merge(const Interval& other) {
  due += other.due;
  outcomes.Merge(other.outcomes);
  info_bits += other.info_bits;
  message_bytes += other.message_bytes;
  blocks.Merge(other.blocks);
  latency.Merge(other.latency);
}

void Tally::Merge(const Tally& other) {
  outcomes.Merge(other.outcomes);
  blocks.Merge(other.blocks);
  iterations.Merge(other.iterations);
  by_shared_memory += other.by_shared_memory;
  latency.Merge(other.latency);
  for (size_t i = 0; i < stages.size(); ++i) stages[i].Merge(other.stages[i]);
}

Tally Totals::All() const {
  Tally all;
  for (const Tally& tally : tallies) all.Merge(tally);
  return all;
}

Interval Totals::Window() const {
  Interval window;
  for (const Interval& interval : series) window.Merge(interval);
  return window;
}

void Totals::Merge(const Totals& other) {
  for (size_t i = 0; i < tallies.size(); ++i) tallies[i].Merge(other.tallies[i]);
  for (size_t i = 0; i < series.size(); ++i) series[i].Merge(other.series[i]);
  for (const auto& [cause, count] : other.refusals) refusals[cause] += count;
  if (wrong_example.empty()) wrong_example = other.wrong_example;
  wrong_in_warm_up += other.wrong_in_warm_up;
  send_lag.Merge(other.send_lag);
  late_sends += other.late_sends;
  cap_hits += other.cap_hits;
}

}  // namespace baseband::load
