// What Downconvert counts of its samples.
#ifndef BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_METRICS_H_
#define BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_METRICS_H_

#include "server/metrics/operation_metrics.h"
#include "server/operations/downconvert/downconvert.h"

namespace prometheus {
class Counter;
class Histogram;
}  // namespace prometheus

namespace baseband::server {

class DownconvertMetrics final : public OperationMetrics {
 public:
  explicit DownconvertMetrics(prometheus::Registry& registry);
  // A piece of a wideband signal has become samples of its channels.
  void Observe(const DownconvertJob& job);
  // Samples of a stream were missing.
  void CountGap();

 private:
  prometheus::Counter* const samples_in_;
  prometheus::Counter* const samples_out_;
  prometheus::Histogram* const channels_;
  prometheus::Counter* const saturations_;
  prometheus::Counter* const gaps_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_METRICS_H_
