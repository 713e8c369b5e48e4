// What Minimize counts of its searches.
#ifndef BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_METRICS_H_
#define BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_METRICS_H_

#include <cstdint>

#include "server/metrics/operation_metrics.h"

namespace prometheus {
class Counter;
}  // namespace prometheus

namespace baseband::server {

class MinimizeMetrics final : public OperationMetrics {
 public:
  explicit MinimizeMetrics(prometheus::Registry& registry);
  // Points of a grid were evaluated.
  void CountPoints(int64_t points);
  // A search has begun, and the code of its functional was there, or was not.
  void CountPrograms(bool hit);

 private:
  prometheus::Counter* const points_;
  prometheus::Counter* const program_hits_;
  prometheus::Counter* const program_misses_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_METRICS_H_
