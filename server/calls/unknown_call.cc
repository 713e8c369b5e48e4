#include "server/calls/unknown_call.h"

namespace baseband::server {

void UnknownCall::Listen(LiveCount* calls, Access* access, grpc::AsyncGenericService* service,
                         grpc::ServerCompletionQueue* queue) {
  auto* const call = new UnknownCall(calls, access, service, queue);
  service->RequestCall(&call->context_, &call->stream_, queue, queue, &call->arrived_);
}

void UnknownCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came
    delete this;
    return;
  }
  Listen(&calls_, &access_, &service_, queue_);
  access_.CountOpenCall(context_.peer());
  stream_.Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "there is no such method"),
                 &finished_);
}

}  // namespace baseband::server
