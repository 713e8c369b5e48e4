#include "server/grpc/raw_service.h"

#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/method_handler.h>

#include "absl/strings/str_cat.h"

namespace baseband::server {
int RawService::Add(absl::string_view method) {
  paths_.push_back(absl::StrCat("/", service_, "/", method));
  const auto number = static_cast<int>(paths_.size()) - 1;
  AddMethod(new grpc::internal::RpcServiceMethod(
      paths_.back().c_str(), grpc::internal::RpcMethod::BIDI_STREAMING, /*handler=*/nullptr));
  MarkMethodRaw(number);
  return number;
}

void RawService::AddSync(absl::string_view method, const Answer& answer) {
  using Handler = grpc::internal::RpcMethodHandler<RawService, grpc::ByteBuffer, grpc::ByteBuffer>;
  paths_.push_back(absl::StrCat("/", service_, "/", method));
  AddMethod(new grpc::internal::RpcServiceMethod(
      paths_.back().c_str(), grpc::internal::RpcMethod::NORMAL_RPC,
      new Handler(
          [answer](RawService*, grpc::ServerContext* context, const grpc::ByteBuffer* request,
                   grpc::ByteBuffer* response) { return answer(*context, *request, response); },
          this)));
}

}  // namespace baseband::server
