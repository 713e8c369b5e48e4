#include "server/calls/unknown_call.h"

namespace baseband::server {

void UnknownCall::Listen(const CallEnvironment* environment, grpc::AsyncGenericService* service,
                         grpc::ServerCompletionQueue* queue) {
  auto* const call = new UnknownCall(environment, service, queue);
  service->RequestCall(&call->context_, &call->stream_, queue, queue, &call->arrived_);
}

void UnknownCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came
    delete this;
    return;
  }
  Listen(&environment_, &service_, queue_);
  environment_.access->CountOpenCall(context_.peer());
  stream_.Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "there is no such method"),
                 &finished_);
}

}  // namespace baseband::server
