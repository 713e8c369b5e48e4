// Serves the metrics page at http://HOST:PORT/metrics.
#ifndef BASEBAND_SERVER_METRICS_METRICS_SERVER_H_
#define BASEBAND_SERVER_METRICS_METRICS_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/metrics/metrics.h"

namespace prometheus {
class Exposer;
}  // namespace prometheus

namespace baseband::server {

class MetricsServer {
 public:
  // Serves `metrics`, which must outlive it, at `address` (HOST:PORT; port 0 takes a free one)
  // until destruction. Unavailable names the address if it cannot be had.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                              const Metrics& metrics);
  ~MetricsServer();
  int port() const { return port_; }

 private:
  MetricsServer(std::unique_ptr<prometheus::Exposer> exposer, int port);

  std::unique_ptr<prometheus::Exposer> exposer_;
  int port_ = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_METRICS_SERVER_H_
