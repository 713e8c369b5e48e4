// Certificates and access together, kept up to date with their files.
#ifndef BASEBAND_SERVER_SERVICE_SECURITY_H_
#define BASEBAND_SERVER_SERVICE_SECURITY_H_

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "absl/status/statusor.h"
#include "server/batching/watchdog.h"
#include "server/config/config.h"
#include "server/metrics/metrics.h"
#include "server/service/access.h"
#include "server/service/tls.h"

namespace baseband::server {

class Security {
 public:
  // NotFound or InvalidArgument name the setting and the file that is wrong. From then on the files
  // are read again every second: what is wrong then is logged and counted, and what was, stays.
  // `metrics` outlives it.
  static absl::StatusOr<std::unique_ptr<Security>> Create(const Config& config, Metrics* metrics);
  ~Security();

  Access& access() { return *access_; }
  // For TCP: TLS, or plain if there is no certificate.
  std::shared_ptr<grpc::ServerCredentials> credentials() const;

 private:
  explicit Security(Metrics* metrics) : metrics_(metrics) {}
  void Look();

  Metrics* const metrics_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<Tls> tls_;           // null: plain TCP
  std::unique_ptr<Watchdog> watcher_;  // last: uses all of the above
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_SECURITY_H_
