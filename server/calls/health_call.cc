#include "server/calls/health_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "grpc/health/v1/health.pb.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/caller.h"
#include "server/calls/deadline_outcome.h"
#include "server/grpc/parse_message.h"
#include "server/grpc/status.h"

namespace baseband::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr size_t kMaxMessageBytes = 4 << 10;  // a name
// For the message to come: a call that waits for it holds what came of it.
constexpr absl::Duration kMaxArrival = absl::Seconds(2);

grpc::ByteBuffer MessageOf(HealthCheckResponse::ServingStatus status) {
  HealthCheckResponse response;
  response.set_status(status);
  const grpc::Slice slice(response.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

void HealthCall::Listen(const CallEnvironment* environment, const Method* method,
                        grpc::ServerCompletionQueue* queue) {
  auto* const call = new HealthCall(environment, method, queue);
  method->service->Listen(method->number, &call->context_, &call->stream_, queue, &call->arrived_);
}

HealthCall::HealthCall(const CallEnvironment* environment, const Method* method,
                       grpc::ServerCompletionQueue* queue)
    : GrpcCall(environment, queue), method_(*method), stream_(&context_) {}

void HealthCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came, and no other event will
    delete this;
    return;
  }
  Listen(&environment_, &method_, queue_);
  arrival_ = SteadyNow();
  environment_.metrics->RequestStarted(kHealthRpc, 0);
  Ref();  // OnFinished
  const absl::Status status = Admit();
  if (status.ok()) {
    absl::MutexLock lock(&mutex_);
    if (!is_finished_) {  // room may have been made already, for the next
      Ref();              // OnRead
      WatchForStall(kMaxArrival);
      stream_.Read(&message_, &read_);
    }
  } else {
    EndWith(status, Manner::kAtOnce);
  }
  EndArrival();
}

absl::Status HealthCall::Admit() {
  requester_.deadline = DeadlineOf(context_);
  if (method_.is_open) {
    environment_.access->CountOpenCall(context_.peer());
  } else {
    BASEBAND_RETURN_IF_ERROR(environment_.access->Admit(context_, absl::nullopt).status());
  }
  BASEBAND_ASSIGN_OR_RETURN(number_, method_.health->Enter(this, context_.peer()));
  return absl::OkStatus();
}

void HealthCall::OnRead(bool ok) {
  EndWatching();
  const auto ask = [&]() -> absl::Status {
    if (!ok) return absl::InvalidArgumentError("the call has ended without a request message");
    environment_.metrics->AddRequestBytes(kHealthRpc, static_cast<int64_t>(message_.Length()));
    BASEBAND_ASSIGN_OR_RETURN(const auto message,
                              ParseMessage<HealthCheckRequest>(message_, kMaxMessageBytes));
    service_ = message.service();
    message_.Clear();  // a watcher would keep all of what came with it
    if (!method_.is_watch && !method_.health->IsServing(service_).has_value()) {
      return absl::NotFoundError("there is no such service");
    }
    return absl::OkStatus();
  };
  const absl::Status status = ask();
  if (status.ok()) {
    absl::MutexLock lock(&mutex_);
    is_asked_ = has_news_ = true;
    Advance();
  } else {
    EndWith(status, Manner::kAtOnce);
  }
  Unref();
}

void HealthCall::OnStalled() {
  EndWith(absl::DeadlineExceededError(absl::StrCat("the call's message did not come within ",
                                                   absl::FormatDuration(kMaxArrival))),
          Manner::kAtOnce);
}

void HealthCall::OnChange() {
  absl::MutexLock lock(&mutex_);
  if (is_asked_ && !method_.health->IsServing(service_).has_value()) return;
  has_news_ = true;
  Advance();
}

void HealthCall::EndWith(const absl::Status& status, Manner manner) {
  absl::MutexLock lock(&mutex_);
  if (end_.has_value()) return;
  end_ = status;
  if (manner == Manner::kAtOnce) {
    has_news_ = false;
    if (is_writing_) context_.TryCancel();  // a client that takes no news would keep it
  }
  Advance();
}

void HealthCall::Advance() {
  if (is_writing_ || is_finished_) return;
  const bool has_news = is_asked_ && std::exchange(has_news_, false);
  if (!has_news && end_.has_value()) {
    is_finished_ = true;
    AddRetryHint(*end_);
    stream_.Finish(ToGrpcStatus(*end_), &finished_);
  }
  if (!has_news) return;
  const absl::optional<bool> serving = method_.health->IsServing(service_);
  const grpc::ByteBuffer message =
      MessageOf(!serving.has_value() ? HealthCheckResponse::SERVICE_UNKNOWN
                : *serving           ? HealthCheckResponse::SERVING
                                     : HealthCheckResponse::NOT_SERVING);
  response_bytes_ += static_cast<int64_t>(message.Length());
  if (method_.is_watch) {
    is_writing_ = true;
    Ref();  // OnWritten
    stream_.Write(message, &written_);
  } else {
    is_finished_ = true;
    stream_.WriteAndFinish(message, grpc::WriteOptions(), grpc::Status::OK, &finished_);
  }
}

void HealthCall::OnWritten(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    is_writing_ = false;
    if (!ok && !end_.has_value()) end_ = absl::CancelledError("the client reads no more");
    Advance();
  }
  Unref();
}

void HealthCall::OnFinished(bool) { Unref(); }

void HealthCall::Destroy() {
  if (number_.has_value()) method_.health->Leave(*number_);
  CountEnd();
  delete this;
}

void HealthCall::CountEnd() {
  absl::MutexLock lock(&mutex_);
  const absl::Status heard = EndOf(end_.value_or(absl::OkStatus()), arrival_, requester_.deadline,
                                   requester_.cancellation->given_up());
  environment_.metrics->RequestFinished(kHealthRpc, heard, SteadyNow() - arrival_, response_bytes_);
}

}  // namespace baseband::server
