#include "server/metrics/histogram.h"

#include <algorithm>
#include <limits>

namespace baseband::server {

void Histogram::Observe(double value, uint64_t count) {
  const auto first =
      std::find_if(edges_.begin(), edges_.end(), [value](double edge) { return value <= edge; });
  counts_[static_cast<size_t>(first - edges_.begin())].fetch_add(count, std::memory_order_relaxed);
  const double more = value * static_cast<double>(count);
  double sum = sum_.load(std::memory_order_relaxed);
  while (!sum_.compare_exchange_weak(sum, sum + more, std::memory_order_relaxed)) {
  }
}

prometheus::ClientMetric::Histogram Histogram::Read() const {
  prometheus::ClientMetric::Histogram read;
  for (size_t i = 0; i < counts_.size(); ++i) {
    read.sample_count += counts_[i].load(std::memory_order_relaxed);
    const double edge = i < edges_.size() ? edges_[i] : std::numeric_limits<double>::infinity();
    read.bucket.push_back({read.sample_count, edge});
  }
  read.sample_sum = sum_.load(std::memory_order_relaxed);
  return read;
}

Histogram* HistogramTable::Add(const metric::Metric& metric, const Histogram::Edges& edges,
                               const prometheus::Labels& labels) {
  auto family = std::find_if(families_.begin(), families_.end(),
                             [&](const Family& other) { return other.metric == &metric; });
  if (family == families_.end()) family = families_.insert(family, {&metric, {}});
  family->series.push_back({labels, std::make_unique<Histogram>(edges)});
  return family->series.back().histogram.get();
}

std::vector<prometheus::MetricFamily> HistogramTable::Collect() const {
  std::vector<prometheus::MetricFamily> read;
  for (const Family& family : families_) {
    prometheus::MetricFamily& one = read.emplace_back();
    one.name = family.metric->name;
    one.help = family.metric->help;
    one.type = prometheus::MetricType::Histogram;
    for (const Series& series : family.series) {
      prometheus::ClientMetric& metric = one.metric.emplace_back();
      for (const auto& [name, value] : series.labels) metric.label.push_back({name, value});
      metric.histogram = series.histogram->Read();
    }
  }
  return read;
}

}  // namespace baseband::server
