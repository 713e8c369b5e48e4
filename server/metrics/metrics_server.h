// Serves the metrics page at http://HOST:PORT/metrics.
#ifndef BASEBAND_SERVER_METRICS_METRICS_SERVER_H_
#define BASEBAND_SERVER_METRICS_METRICS_SERVER_H_

#include <functional>
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
  using Admit = std::function<bool(const std::string& password)>;

  // Serves `metrics`, which must outlive it, at `address` (HOST:PORT; port 0 takes a free one)
  // until destruction, to whoever gives by HTTP's basic authentication a password that `admit`
  // takes, or to everybody if it is null. `admit` is called on any thread. Unavailable names the
  // address if it cannot be had.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                              const Metrics& metrics,
                                                              Admit admit = nullptr);
  ~MetricsServer();
  int port() const { return port_; }

 private:
  MetricsServer(std::unique_ptr<prometheus::Exposer> exposer, int port);

  std::unique_ptr<prometheus::Exposer> exposer_;
  int port_ = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_METRICS_SERVER_H_
