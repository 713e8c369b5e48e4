// One more series of a metric. May throw: for start-up.
#ifndef BASEBAND_SERVER_METRICS_SERIES_H_
#define BASEBAND_SERVER_METRICS_SERIES_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "common/metric_names.h"

namespace baseband::server {

inline prometheus::Counter* AddCounter(prometheus::Registry& registry, const metric::Metric& metric,
                                       const prometheus::Labels& labels = {}) {
  return &prometheus::BuildCounter()
              .Name(metric.name)
              .Help(metric.help)
              .Register(registry)
              .Add(labels);
}

inline prometheus::Gauge* AddGauge(prometheus::Registry& registry, const metric::Metric& metric,
                                   const prometheus::Labels& labels = {}) {
  return &prometheus::BuildGauge()
              .Name(metric.name)
              .Help(metric.help)
              .Register(registry)
              .Add(labels);
}

inline prometheus::Histogram* AddHistogram(prometheus::Registry& registry,
                                           const metric::Metric& metric,
                                           const prometheus::Histogram::BucketBoundaries& buckets,
                                           const prometheus::Labels& labels = {}) {
  return &prometheus::BuildHistogram()
              .Name(metric.name)
              .Help(metric.help)
              .Register(registry)
              .Add(labels, buckets);
}

// Edges 1, `base`, its square .. `largest`.
inline prometheus::Histogram::BucketBoundaries PowersOf(int base, int largest) {
  prometheus::Histogram::BucketBoundaries buckets;
  for (int edge = 1; edge <= largest; edge *= base) buckets.push_back(edge);
  return buckets;
}

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_SERIES_H_
