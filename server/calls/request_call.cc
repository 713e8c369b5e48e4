#include "server/calls/request_call.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/steady_time.h"
#include "server/limits/retry_after.h"
#include "server/metrics/unserved.h"

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
    environment_.awaited->Begin(this, arrival_);
    stream_.Read(&message_, &read_);  // has arrived when that has
    return;
  }
  Start(0);
  Refuse(status);
  EndArrival();
}

void RequestCall::OnRead(bool ok) {
  if (!environment_.awaited->End(this)) {  // it was refused meanwhile
    EndArrival();
    return;
  }
  arrival_ = SteadyNow();
  Start(static_cast<int64_t>(message_.Length()));
  if (!ok) request_->HasNoMessage();
  const absl::Status status =
      ok ? Accept() : absl::InvalidArgumentError("the call has ended without a request message");
  if (!status.ok()) Refuse(status);
  EndArrival();
}

void RequestCall::OnLate() {
  absl::Status status =
      Because(UnservedReason::kMemory,
              absl::ResourceExhaustedError(
                  absl::StrCat("memory is scarce, and this request's message has not come within ",
                               absl::FormatDuration(SteadyNow() - arrival_), " of its headers")));
  SetRetryAfter(&status, MemorySteps::kRetryAfter);
  Start(0);
  request_->HasNoMessage();
  Refuse(status);
}

void RequestCall::Start(int64_t bytes) {
  request_.emplace(environment_, rpc_, arrival_);
  request_->Start(bytes);
  request_->requester() = requester_;
}

}  // namespace baseband::server
