// The standard health service for callers with a role only (--open-health=false): Check; Watch is
// UNIMPLEMENTED, which gRPC's clients take for "always serving". gRPC's own service asks nobody.
#ifndef BASEBAND_SERVER_SERVICE_AUTHENTICATED_HEALTH_SERVICE_H_
#define BASEBAND_SERVER_SERVICE_AUTHENTICATED_HEALTH_SERVICE_H_

#include <atomic>
#include <string>

#include "grpc/health/v1/health.pb.h"
#include "server/service/message_method.h"

namespace baseband::server {

class AuthenticatedHealthService final {
 public:
  AuthenticatedHealthService(const std::string& name, Access* access, Metrics* metrics) {
    using grpc::health::v1::HealthCheckRequest;
    using grpc::health::v1::HealthCheckResponse;
    AddMessageMethod<HealthCheckRequest, HealthCheckResponse>(
        {&service_, access, metrics, kHealthRpc, absl::nullopt}, "Check",
        [this, name](const Identity&, const HealthCheckRequest& request,
                     HealthCheckResponse& response) {
          if (!request.service().empty() && request.service() != name) {
            return absl::NotFoundError("no such service");
          }
          response.set_status(serving_.load() ? HealthCheckResponse::SERVING
                                              : HealthCheckResponse::NOT_SERVING);
          return absl::OkStatus();
        });
  }

  grpc::Service* service() { return &service_; }
  void SetServing(bool serving) { serving_.store(serving); }

 private:
  RawService service_{"grpc.health.v1.Health"};
  std::atomic<bool> serving_{false};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_AUTHENTICATED_HEALTH_SERVICE_H_
