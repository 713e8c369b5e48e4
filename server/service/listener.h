// How connections come to a gRPC server: the addresses it listens at, TLS, who is behind a Unix
// socket, and how many may come.
#ifndef BASEBAND_SERVER_SERVICE_LISTENER_H_
#define BASEBAND_SERVER_SERVICE_LISTENER_H_

#include <grpcpp/grpcpp.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/auth/security.h"
#include "server/config/config.h"
#include "server/metrics/metrics.h"
#include "server/service/acceptor.h"

namespace baseband::server {

class Listener {
 public:
  // gRPC's and this one's: who does not answer, or read, is dead so long after he was asked.
  static constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(20);

  // At most `max_connections`; who has been silent for `keepalive` is asked whether he lives.
  // `security` and `metrics` outlive it.
  Listener(int max_connections, absl::Duration keepalive, Security* security, Metrics* metrics)
      : security_(security),
        acceptor_(max_connections, keepalive + kKeepaliveTimeout, &security->access().strangers(),
                  metrics) {}

  // Listens at every one of `addresses`. Unavailable names one that cannot be had, and why.
  absl::Status Listen(const std::vector<std::string>& addresses, int socket_mode);
  // What the server must be built with, and what any client of it may send.
  void AddTo(grpc::ServerBuilder& builder);
  // Before Start, see Acceptor.
  void OnlyWhile(std::function<bool()> may_connect) { acceptor_.OnlyWhile(std::move(may_connect)); }
  // Connections go to `server` from now on, until Stop, which must come before its Shutdown.
  void Start(grpc::Server* server);
  void Stop() { acceptor_.Stop(); }
  // After Stop: see Acceptor.
  int64_t EndTaken(absl::Time now, absl::Duration patience) {
    return acceptor_.EndTaken(now, patience);
  }
  void ResetAll() { acceptor_.ResetAll(); }

  // The addresses with the ports that were taken, "127.0.0.1:50151".
  const std::vector<std::string>& addresses() const { return addresses_; }
  int64_t CountOpen() { return acceptor_.CountOpen(); }
  int64_t max_open() const { return acceptor_.max_open(); }

 private:
  void HandOverTcp(size_t thread, int listener_fd, int fd);
  void HandOverUnix(int fd);

  Security* const security_;
  std::vector<std::string> addresses_;
  grpc::Server* server_ = nullptr;
  // By thread: gRPC locks one for as long as it reads on the thread that brings a connection.
  std::array<std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>,
             HandOverThreads::kThreads>
      tcp_;
  Acceptor acceptor_;  // last: its thread uses all of the above
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_LISTENER_H_
