// The standard health service for callers with a role only (--open-health=false): Check; Watch is
// UNIMPLEMENTED, which gRPC's clients take for "always serving". gRPC's own service asks nobody.
#ifndef BASEBAND_SERVER_SERVICE_AUTHENTICATED_HEALTH_SERVICE_H_
#define BASEBAND_SERVER_SERVICE_AUTHENTICATED_HEALTH_SERVICE_H_

#include <atomic>
#include <string>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/auth/access.h"
#include "server/grpc/status.h"

namespace baseband::server {

class AuthenticatedHealthService final : public grpc::health::v1::Health::Service {
 public:
  AuthenticatedHealthService(std::string service, Access* access)
      : service_(std::move(service)), access_(access) {}

  void SetServing(bool serving) { serving_.store(serving); }

  grpc::Status Check(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* response) override {
    using Response = grpc::health::v1::HealthCheckResponse;
    if (const absl::Status status = access_->Check(*context, absl::nullopt); !status.ok()) {
      return ToGrpcStatus(status);
    }
    if (!request->service().empty() && request->service() != service_) {
      return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such service");
    }
    response->set_status(serving_.load() ? Response::SERVING : Response::NOT_SERVING);
    return grpc::Status::OK;
  }

 private:
  const std::string service_;
  Access* const access_;
  std::atomic<bool> serving_{false};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_AUTHENTICATED_HEALTH_SERVICE_H_
