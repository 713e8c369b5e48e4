// Serves over HTTP what a keeper asks of the process: /metrics, /livez and /readyz.
#ifndef BASEBAND_SERVER_METRICS_METRICS_SERVER_H_
#define BASEBAND_SERVER_METRICS_METRICS_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

// Answers GET and HEAD, one request a connection. /metrics is the page in the text format of
// Prometheus, gzipped for who takes that. /livez and /readyz say 200 "ok", or 503 and in one line
// why not, to everybody.
//
// One thread reads and writes for all, and makes no page: another does, one for all who ask while
// it is at work, so that nobody who scrapes keeps a probe waiting. Of more than kMaxConnections the
// slowest is closed: the oldest of those that have had their answer; if there is none, of those
// that have not asked yet or of those that have, whichever are more. None lives longer than
// kPatience for its request, and again for reading its answer.
class MetricsServer {
 public:
  static constexpr size_t kMaxConnections = 64;
  static constexpr absl::Duration kPatience = absl::Seconds(3);

  using Admit = std::function<bool(const std::string& password)>;
  // Empty: all is well; else one line that says what is not. Called on the thread that answers; so
  // it answers at once.
  using Probe = std::function<std::string()>;
  struct Probes {  // null: all is always well
    Probe live;
    Probe ready;
  };

  // Serves `metrics`, which must outlive it, at `address` (HOST:PORT; port 0 takes a free one)
  // until destruction, to whoever gives by HTTP's basic authentication a password that `admit`
  // takes, or to everybody if it is null. `admit` is called like a probe. Unavailable names the
  // address if it cannot be had, and why.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                              const Metrics& metrics,
                                                              Admit admit = nullptr,
                                                              Probes probes = {});
  ~MetricsServer();
  int port() const;

 private:
  class Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_METRICS_SERVER_H_
