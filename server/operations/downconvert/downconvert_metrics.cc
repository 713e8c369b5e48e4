#include "server/operations/downconvert/downconvert_metrics.h"

#include "server/metrics/series.h"

namespace baseband::server {

DownconvertMetrics::DownconvertMetrics(prometheus::Registry& registry)
    : samples_in_(AddCounter(registry, metric::kDownconvertSamples, {{"direction", "in"}})),
      samples_out_(AddCounter(registry, metric::kDownconvertSamples, {{"direction", "out"}})),
      channels_(AddHistogram(registry, metric::kDownconvertChannels, PowersOf(2, 1 << 10))),
      saturations_(AddCounter(registry, metric::kDownconvertSaturations)),
      gaps_(AddCounter(registry, metric::kDownconvertGaps)) {}

void DownconvertMetrics::Observe(const DownconvertJob& job) {
  int64_t outputs = 0;
  int64_t saturated = 0;
  for (size_t c = 0; c < job.channels().size(); ++c) {
    outputs += job.ranges()[c].count;
    saturated += job.results[c].saturated;
  }
  samples_in_->Increment(static_cast<double>(job.block().num_samples - job.block().history));
  samples_out_->Increment(static_cast<double>(outputs));
  channels_->Observe(static_cast<double>(job.channels().size()));
  saturations_->Increment(static_cast<double>(saturated));
}

void DownconvertMetrics::CountGap() { gaps_->Increment(); }

}  // namespace baseband::server
