// The pages at metrics_listen, and who may read them.
#ifndef BASEBAND_SERVER_METRICS_PAGES_H_
#define BASEBAND_SERVER_METRICS_PAGES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/auth/security.h"
#include "server/config/config.h"
#include "server/metrics/metrics.h"
#include "server/metrics/metrics_server.h"
#include "server/process/lifecycle.h"

namespace baseband::server {

// Null: there are none. All that it is given outlives it.
absl::StatusOr<std::unique_ptr<MetricsServer>> StartMetricsPages(const Config& config,
                                                                 const Metrics& metrics,
                                                                 Security& security,
                                                                 const Lifecycle& lifecycle);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_PAGES_H_
