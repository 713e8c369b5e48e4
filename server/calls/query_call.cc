#include "server/calls/query_call.h"

#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/grpc/status.h"
#include "server/grpc/wire.h"

namespace baseband::server {

void QueryCall::Listen(const CallEnvironment* environment, const Method* method,
                       grpc::ServerCompletionQueue* queue) {
  auto* const call = new QueryCall(environment, method, queue);
  call->RequestCall::Listen();
}

QueryCall::QueryCall(const CallEnvironment* environment, const Method* method,
                     grpc::ServerCompletionQueue* queue)
    : RequestCall(environment, queue, method->number, method->rpc), method_(*method) {
  Ref();  // OnFinished
}

absl::Status QueryCall::Accept() {
  BASEBAND_ASSIGN_OR_RETURN(const absl::optional<std::string> answer, Answer());
  if (answer.has_value()) Finish(*answer);
  return absl::OkStatus();
}

absl::StatusOr<absl::optional<std::string>> QueryCall::Answer() {
  constexpr int kNoPayload = 0;
  BASEBAND_RETURN_IF_ERROR(request_->EnterGate());
  BASEBAND_ASSIGN_OR_RETURN(wire_request_, ReadRequest(message_, kNoPayload));
  BASEBAND_ASSIGN_OR_RETURN(absl::optional<std::string> answer,
                            method_.answer(wire_request_, nullptr));
  if (answer.has_value()) return answer;
  BASEBAND_RETURN_IF_ERROR(RunOnSlowPath(wire_request_.bytes(), [this](const ContinueCheck& turn) {
    const ContinueCheck may_continue = SlowPathCheck(requester_, turn);
    absl::StatusOr<absl::optional<std::string>> made = method_.answer(wire_request_, &may_continue);
    if (made.ok()) {
      Finish(made->value_or(""));
    } else {
      Finish(made.status());
    }
  }));
  return absl::optional<std::string>();
}

void QueryCall::Finish(const absl::StatusOr<std::string>& answer) {
  request_->Answer(answer.status());
  AddRetryHint(answer.status());
  if (!answer.ok()) {
    stream_.Finish(ToGrpcStatus(answer.status()), &finished_);
    return;
  }
  const grpc::Slice slice(*answer);
  const grpc::ByteBuffer response(&slice, 1);
  response_bytes_ = static_cast<int64_t>(response.Length());
  if (response_bytes_ > kMaxUnread) WatchForStall(environment_.max_stall);
  stream_.WriteAndFinish(response, grpc::WriteOptions(), grpc::Status::OK, &finished_);
}

void QueryCall::OnFinished(bool) {
  EndWatching();
  request_->Sent();
  Unref();
}

void QueryCall::Destroy() {
  request_->End(request_->status(), response_bytes_, [this] { return RequestId(); });
  delete this;
}

}  // namespace baseband::server
