// Certificates and access together, kept up to date with their files.
#ifndef BASEBAND_SERVER_AUTH_SECURITY_H_
#define BASEBAND_SERVER_AUTH_SECURITY_H_

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/base/periodic_thread.h"
#include "server/auth/access.h"
#include "server/auth/tls.h"
#include "server/config/config.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

// Reads the files of certificates, keys and tokens. NotFound or InvalidArgument name the setting
// and the file that is wrong.
absl::Status CheckSecurityFiles(const Config& config);

class Security {
 public:
  // Errors as of CheckSecurityFiles. From then on the files
  // are read again every second: what is wrong then is logged and counted, and what was, stays.
  // `metrics` outlives it.
  static absl::StatusOr<std::unique_ptr<Security>> Create(const Config& config, Metrics* metrics);
  ~Security();

  Access& access() { return *access_; }
  // For TCP: TLS, or plain if there is no certificate.
  std::shared_ptr<grpc::ServerCredentials> credentials() const;

 private:
  explicit Security(Metrics* metrics) : metrics_(metrics) {}
  void ReloadFiles();

  Metrics* const metrics_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<Tls> tls_;                 // null: plain TCP
  std::unique_ptr<PeriodicThread> watcher_;  // last: uses all of the above
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_SECURITY_H_
