// Serves over HTTP what a keeper asks of the process: /metrics, /livez and /readyz.
#ifndef BASEBAND_SERVER_METRICS_METRICS_SERVER_H_
#define BASEBAND_SERVER_METRICS_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/metrics/metrics.h"

struct mg_connection;
struct mg_context;

namespace baseband::server {

// Answers GET and HEAD. /metrics is the page in the text format of Prometheus, gzipped for who
// takes that. /livez and /readyz say 200 "ok", or 503 and in one line why not, to everybody.
class MetricsServer {
 public:
  using Admit = std::function<bool(const std::string& password)>;
  // Empty: all is well; else one line that says what is not. Called on any thread; answers at once.
  using Probe = std::function<std::string()>;
  struct Probes {  // null: all is always well
    Probe live;
    Probe ready;
  };

  // Serves `metrics`, which must outlive it, at `address` (HOST:PORT; port 0 takes a free one)
  // until destruction, to whoever gives by HTTP's basic authentication a password that `admit`
  // takes, or to everybody if it is null. `admit` is called on any thread. Unavailable names the
  // address if it cannot be had, and why.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                              const Metrics& metrics,
                                                              Admit admit = nullptr,
                                                              Probes probes = {});
  ~MetricsServer();
  int port() const;

 private:
  MetricsServer(const Metrics& metrics, Admit admit, Probes probes);
  void ServeMetrics(mg_connection* connection) const;
  static void ServeProbe(mg_connection* connection, const Probe& probe);

  const Metrics& metrics_;
  const Admit admit_;
  const Probes probes_;
  mg_context* context_ = nullptr;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_METRICS_SERVER_H_
