#include "server/operations/decode/decode_metrics.h"

#include <algorithm>
#include <vector>

#include "server/metrics/series.h"

namespace baseband::server {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

const Buckets& IterationBuckets() {
  static const auto& buckets =
      *new Buckets{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 25, 32, 50, 100};
  return buckets;
}

}  // namespace

DecodeMetrics::DecodeMetrics(const std::string& rpc, prometheus::Registry& registry)
    : LdpcMetrics(rpc, registry),
      iterations_(AddHistogram(registry, metric::kDecodeIterations, IterationBuckets())),
      parity_failures_(AddCounter(registry, metric::kDecodeParityFailures)) {}

void DecodeMetrics::Observe(absl::Span<const ldpc::DecodeResult> results) {
  const Buckets& edges = IterationBuckets();
  std::vector<double> increments(edges.size() + 1);
  double sum = 0;
  double failures = 0;
  for (const ldpc::DecodeResult& result : results) {
    const double iterations = result.iterations;
    const auto edge = std::lower_bound(edges.begin(), edges.end(), iterations);
    increments[static_cast<size_t>(edge - edges.begin())] += 1;
    sum += iterations;
    if (result.parity_ok == 0) failures += 1;
  }
  iterations_->ObserveMultiple(increments, sum);
  parity_failures_->Increment(failures);
}

}  // namespace baseband::server
