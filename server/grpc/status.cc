#include "server/grpc/status.h"

#include <string>

namespace baseband::server {

grpc::Status ToGrpcStatus(const absl::Status& status) {
  constexpr size_t kMaxMessage = 1024;
  if (status.ok()) {
    return grpc::Status::OK;
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message().substr(0, kMaxMessage)));
}

}  // namespace baseband::server
