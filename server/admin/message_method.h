// A unary method of parsed messages, for services that are asked seldom: who may call is asked
// before anything is parsed, and every call is counted.
#ifndef BASEBAND_SERVER_ADMIN_MESSAGE_METHOD_H_
#define BASEBAND_SERVER_ADMIN_MESSAGE_METHOD_H_

#include <functional>
#include <utility>

#include "absl/types/optional.h"
#include "kernels/base/status_macros.h"
#include "server/auth/access.h"
#include "server/grpc/parse_message.h"
#include "server/grpc/raw_service.h"
#include "server/grpc/status.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

// What a service's methods share.
struct MessageService {
  RawService* service;
  Access* access;
  Metrics* metrics;
  Rpc rpc;                    // that they count as
  absl::optional<Role> role;  // who may call; none: whoever has any
};

// `work` is called on gRPC's threads, with who calls; `method` lives as long as the service.
template <typename Message, typename Response>
void AddMessageMethod(
    const MessageService& of, const char* method,
    std::function<absl::Status(const Identity&, const Message&, Response&)> work) {
  of.service->AddSync(method, [of, method, work = std::move(work)](
                                  const grpc::ServerContext& context, const grpc::ByteBuffer& bytes,
                                  grpc::ByteBuffer* answer) {
    of.metrics->RequestStarted(of.rpc, static_cast<int64_t>(bytes.Length()));
    Response response;
    const auto serve = [&]() -> absl::Status {
      BASEBAND_ASSIGN_OR_RETURN(const Identity caller, of.access->Admit(context, of.role, method));
      BASEBAND_ASSIGN_OR_RETURN(const auto request, ParseMessage<Message>(bytes));
      return work(caller, request, response);
    };
    const absl::Status status = serve();
    bool own = false;
    grpc::SerializationTraits<Response>::Serialize(response, answer, &own);
    of.metrics->RequestFinished(of.rpc, status, absl::ZeroDuration(),
                                status.ok() ? static_cast<int64_t>(answer->Length()) : 0);
    return ToGrpcStatus(status);
  });
}

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_ADMIN_MESSAGE_METHOD_H_
