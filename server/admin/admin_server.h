// Serves baseband.v1.Admin at --admin-listen: a gRPC server of its own, so that whoever floods the
// other does not keep its keeper out. The log has what an admin did, or why it was refused,
// whatever its level; and questions, at level info.
#ifndef BASEBAND_SERVER_ADMIN_ADMIN_SERVER_H_
#define BASEBAND_SERVER_ADMIN_ADMIN_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/auth/security.h"
#include "server/batching/dispatcher.h"
#include "server/calls/flight_recorder.h"
#include "server/config/config.h"
#include "server/jobs/fault_injector.h"
#include "server/metrics/metrics.h"
#include "server/service/listener.h"

namespace baseband::server {

class AdminServer {
 public:
  struct Options {
    std::string effective_config;  // what GetConfig answers
    // Begins the drain, without waiting for it; called once at most. False: it had begun before.
    std::function<bool()> drain;
    Dispatcher* dispatcher = nullptr;
    const FlightRecorder* recorder = nullptr;
    FaultInjector* faults = nullptr;   // null: faults may not be injected
    std::vector<std::string> devices;  // their ids
  };

  // Listens at `config.admin_listen`; who connects waits for Start. `security` and `metrics`
  // outlive it. Unavailable if the address cannot be had.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Listen(const Config& config,
                                                             Security& security, Metrics& metrics);
  // Serves who has role admin, until destruction. Once; what `options` point to outlives it.
  absl::Status Start(Options options);
  ~AdminServer();

  // With the port that was taken.
  const std::string& address() const { return listener_.addresses().front(); }

 private:
  class Service;
  AdminServer(const Config& config, Security& security, Metrics& metrics);

  Access* const access_;
  Metrics* const metrics_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  Listener listener_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_ADMIN_ADMIN_SERVER_H_
