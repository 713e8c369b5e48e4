#include "server/calls/question_call.h"

#include "kernels/base/steady_time.h"
#include "server/calls/deadline_outcome.h"
#include "server/grpc/status.h"

namespace baseband::server {

void QuestionCall::Listen(const CallEnvironment* environment, const Method* method,
                          grpc::ServerCompletionQueue* queue) {
  auto* const call = new QuestionCall(environment, method, queue);
  method->service->Listen(method->number, &call->context_, &call->stream_, queue, &call->arrived_);
}

QuestionCall::QuestionCall(const CallEnvironment* environment, const Method* method,
                           grpc::ServerCompletionQueue* queue)
    : GrpcCall(environment, queue), method_(*method), stream_(&context_) {}

void QuestionCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came, and no other event will
    delete this;
    return;
  }
  Listen(&environment_, &method_, queue_);
  arrival_ = SteadyNow();
  environment_.metrics->RequestStarted(method_.rpc, 0);
  const absl::Status status = EnterStream(*method_.streams);
  Ref();  // what is under way
  status.ok() ? Read() : Finish(status);
  EndArrival();
}

void QuestionCall::Read() { stream_.Read(&question_, &read_); }

void QuestionCall::OnRead(bool ok) {
  if (!ok) return Finish(absl::OkStatus());  // there are no more
  environment_.metrics->AddRequestBytes(method_.rpc, static_cast<int64_t>(question_.Length()));
  const absl::StatusOr<std::string> answer = method_.answer(question_);
  if (!answer.ok()) return Finish(answer.status());
  const grpc::Slice slice(*answer);
  response_bytes_ += static_cast<int64_t>(slice.size());
  WatchForStall(environment_.max_stall);
  stream_.Write(grpc::ByteBuffer(&slice, 1), &written_);
}

void QuestionCall::OnWritten(bool ok) {
  StopWatching();
  ok ? Read() : Finish(absl::CancelledError("the client reads no more"));
}

void QuestionCall::Finish(const absl::Status& status) {
  LeaveStream();
  end_ = status;
  AddRetryHint(status);
  stream_.Finish(ToGrpcStatus(status), &finished_);
}

void QuestionCall::OnFinished(bool) {
  EndWatching();
  Unref();
}

void QuestionCall::Destroy() {
  const absl::Status heard =
      EndOf(end_, arrival_, requester_.deadline, requester_.cancellation->given_up());
  environment_.metrics->RequestFinished(method_.rpc, heard, SteadyNow() - arrival_,
                                        response_bytes_);
  delete this;
}

}  // namespace baseband::server
