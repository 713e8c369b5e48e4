// Histograms whose observations take no lock. A small job makes nine of them, and those of
// prometheus-cpp take a lock each.
#ifndef BASEBAND_SERVER_METRICS_HISTOGRAM_H_
#define BASEBAND_SERVER_METRICS_HISTOGRAM_H_

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/labels.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/metric_names.h"

namespace baseband::server {

class Histogram {
 public:
  using Edges = std::vector<double>;  // ascending

  explicit Histogram(Edges edges) : edges_(std::move(edges)), counts_(edges_.size() + 1) {}

  // Thread-safe. So many observations of the same value.
  void Observe(double value, uint64_t count = 1);
  // Observations made meanwhile may be in the buckets, and not in the sum yet.
  prometheus::ClientMetric::Histogram Read() const;

 private:
  const Edges edges_;
  // By the first edge that a value does not exceed; the last: of those that exceed all.
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_{0.0};
};

// Those of one page.
class HistogramTable : public prometheus::Collectable {
 public:
  // One more series of `metric`, which lives as long as the table. For start-up.
  Histogram* Add(const metric::Metric& metric, const Histogram::Edges& edges,
                 const prometheus::Labels& labels);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Series {
    prometheus::Labels labels;
    std::unique_ptr<Histogram> histogram;
  };
  struct Family {
    const metric::Metric* metric;
    std::vector<Series> series;
  };
  std::vector<Family> families_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_HISTOGRAM_H_
