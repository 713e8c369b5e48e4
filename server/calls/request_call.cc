#include "server/calls/request_call.h"

#include "kernels/base/steady_time.h"

namespace baseband::server {

RequestCall::RequestCall(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue,
                         int number, Rpc rpc)
    : GrpcCall(environment, queue), stream_(&context_), number_(number), rpc_(rpc) {}

void RequestCall::Listen() {
  environment_.service->Listen(number_, &context_, &stream_, queue_, &arrived_);
}

void RequestCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came, and no other event will
    delete this;
    return;
  }
  ListenForNext();
  arrival_ = SteadyNow();
  const absl::Status status = AdmitByHeaders();
  if (status.ok()) {
    stream_.Read(&message_, &read_);  // has arrived when that has
    return;
  }
  Start();
  Refuse(status);
  EndArrival();
}

void RequestCall::OnRead(bool ok) {
  arrival_ = SteadyNow();
  Start();
  if (!ok) request_->HasNoMessage();
  const absl::Status status =
      ok ? Accept() : absl::InvalidArgumentError("the call has ended without a request message");
  if (!status.ok()) Refuse(status);
  EndArrival();
}

void RequestCall::Start() {
  request_.emplace(environment_, rpc_, arrival_);
  request_->Start(static_cast<int64_t>(message_.Length()));
  request_->requester() = requester_;
}

}  // namespace baseband::server
