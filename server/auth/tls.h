// The server's certificate: checked, watched, and given to gRPC as one whole.
//
// gRPC 1.51's own watcher reads key and certificate one after the other and gives a pair that does
// not belong together to its handshakes, which then all fail. So it is shown a copy in memory: a
// new one takes its place in one step, and only after it has passed every check.
#ifndef BASEBAND_SERVER_AUTH_TLS_H_
#define BASEBAND_SERVER_AUTH_TLS_H_

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/config/config.h"

namespace baseband::server {

// What the three files hold.
struct TlsMaterial {
  std::string identity;   // private key, certificate and its chain, PEM
  std::string client_ca;  // PEM; empty: clients need no certificate
  absl::Time expiry;      // of the server's certificate

  bool operator==(const TlsMaterial& other) const {
    return identity == other.identity && client_ca == other.client_ca;
  }
};

// NotFound or InvalidArgument name the setting and the file: missing or unreadable, no PEM, a key
// under a passphrase, one that is not the certificate's, a certificate not valid now.
absl::StatusOr<TlsMaterial> ReadTlsFiles(const Config& config);

// Not thread-safe, but for credentials().
class Tls {
 public:
  // As ReadTlsFiles; Internal if the kernel gives no memory file.
  static absl::StatusOr<std::unique_ptr<Tls>> Create(const Config& config);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Reads the files again. New handshakes get what is in them within two seconds; an error leaves
  // the old in force, and is returned once for the same mistake.
  absl::Status Reload();

  const std::shared_ptr<grpc::ServerCredentials>& credentials() const { return credentials_; }
  absl::Time expiry() const { return material_.expiry; }

 private:
  explicit Tls(const Config& config) : config_(config) {}
  absl::Status Publish(const TlsMaterial& material);

  const Config config_;
  TlsMaterial material_;
  std::string last_error_;
  int identity_fd_ = -1;
  int client_ca_fd_ = -1;
  int64_t stamp_ = 0;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_TLS_H_
