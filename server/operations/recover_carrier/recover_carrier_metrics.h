// What RecoverCarrier counts of its frames.
#ifndef BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_METRICS_H_
#define BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_METRICS_H_

#include <array>

#include "kernels/carrier/recover.h"
#include "server/metrics/operation_metrics.h"
#include "server/operations/recover_carrier/recover_carrier.h"

namespace prometheus {
class Counter;
class Histogram;
}  // namespace prometheus

namespace baseband::server {

class RecoverCarrierMetrics final : public OperationMetrics {
 public:
  explicit RecoverCarrierMetrics(prometheus::Registry& registry);
  void Observe(const RecoverCarrierJob& job);

 private:
  std::array<prometheus::Counter*, kLockNames.size()> frames_{};
  std::array<prometheus::Counter*, kTimingLockNames.size()> timings_{};
  prometheus::Counter* const symbols_;
  prometheus::Histogram* const evm_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_METRICS_H_
