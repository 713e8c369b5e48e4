// What Metrics is told of an operation.
#ifndef BASEBAND_SERVER_METRICS_OPERATION_METRICS_H_
#define BASEBAND_SERVER_METRICS_OPERATION_METRICS_H_

#include <functional>
#include <memory>

#include "server/metrics/rpc.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace baseband::server {

// What an operation counts of its results, beside what is counted of all requests alike: counters
// and histograms that its folder defines. Thread-safe.
class OperationMetrics {
 public:
  virtual ~OperationMetrics() = default;
};

struct CountedOperation {
  Rpc rpc;         // its requests become jobs of a device
  Rpc stream_rpc;  // whole streams of such requests; without a name: it has none
  // Registers what it counts; may be empty, and may return null. Called once.
  std::function<std::unique_ptr<OperationMetrics>(prometheus::Registry&)> make_metrics;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_OPERATION_METRICS_H_
