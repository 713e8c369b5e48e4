#include "server/calls/unary_call.h"

#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/deadline_outcome.h"
#include "server/grpc/status.h"
#include "server/grpc/wire.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

void UnaryCall::Listen(const CallEnvironment* environment, const OperationMethod* method,
                       grpc::ServerCompletionQueue* queue) {
  auto* const call = new UnaryCall(environment, method, queue);
  call->RequestCall::Listen();
}

UnaryCall::UnaryCall(const CallEnvironment* environment, const OperationMethod* method,
                     grpc::ServerCompletionQueue* queue)
    : RequestCall(environment, queue, method->number, method->operation->rpc()), method_(*method) {
  Ref();  // OnFinished
}

absl::Status UnaryCall::Accept() {
  BASEBAND_RETURN_IF_ERROR(request_->Enter(static_cast<int64_t>(message_.Length())));
  BASEBAND_ASSIGN_OR_RETURN(wire_request_,
                            ReadRequest(message_, method_.operation->description().payload_field));
  message_.Clear();  // the request has its payload still
  BASEBAND_RETURN_IF_ERROR(LookUpSharedMemory(environment_, &wire_request_));
  wire_request_.client = requester_.caller.client;
  BASEBAND_ASSIGN_OR_RETURN(Conversion conversion,
                            method_.operation->Convert(wire_request_, environment_.limits));
  if (conversion.job != nullptr) return Submit(std::move(conversion.job));
  preparation_ = std::move(conversion.preparation);
  return RunOnSlowPath(wire_request_.bytes(), [this](const ContinueCheck& turn) {
    absl::StatusOr<JobPtr> job = preparation_->Finish(SlowPathCheck(requester_, turn));
    preparation_.reset();
    const absl::Status status = job.ok() ? Submit(*std::move(job)) : job.status();
    if (!status.ok()) Refuse(status);
  });
}

absl::Status UnaryCall::Submit(JobPtr job) {
  BASEBAND_RETURN_IF_ERROR(request_->GrowQuota(wire_request_, *job));
  const Request request = std::exchange(wire_request_, Request());
  return request_->Submit(request, job, [this](const absl::Status& status, JobPtr done) {
    Answer(status, std::move(done));
  });
}

void UnaryCall::Answer(const absl::Status& status, JobPtr job) {
  work_s_ = job->schedule.device_s;
  absl::StatusOr<Reply> reply = request_->ReplyOf(status, *method_.operation, std::move(job));
  Finish(reply.status(), reply.ok() ? ToByteBuffer(*std::move(reply)) : grpc::ByteBuffer());
}

void UnaryCall::Refuse(const absl::Status& status) { Finish(status, grpc::ByteBuffer()); }

void UnaryCall::Finish(const absl::Status& status, const grpc::ByteBuffer& reply) {
  request_->Answer(status);
  TellTime(status);
  AddRetryHint(status);
  if (status.ok()) {
    response_bytes_ = static_cast<int64_t>(reply.Length());
    if (response_bytes_ > kMaxUnread) {
      WatchForStall(environment_.max_stall +
                    absl::Seconds(static_cast<double>(response_bytes_) / (1 << 20)));
    }
    stream_.WriteAndFinish(reply, grpc::WriteOptions(), grpc::Status::OK, &finished_);
  } else {
    stream_.Finish(ToGrpcStatus(status), &finished_);
  }
}

void UnaryCall::TellTime(const absl::Status& status) {
  const JobTimes& times = request_->times();
  if (times.started <= times.submitted) {  // no device has had it
    if (ReasonOf(status) == UnservedReason::kDeadlineUnreachable) {
      TellReads(requester_.deadline - arrival_, work_s_, /*in_time=*/false);
    }
    return;
  }
  const bool is_late =
      absl::IsDeadlineExceeded(status) || request_->answered() > requester_.deadline ||
      GaveUpAtDeadline(arrival_, requester_.deadline, requester_.cancellation->given_up());
  if (!status.ok() && !is_late) return;
  TellReads(request_->answered() - arrival_ - (times.started - times.submitted), work_s_, !is_late);
}

void UnaryCall::OnFinished(bool) {
  EndWatching();
  request_->Sent();
  Unref();
}

void UnaryCall::Destroy() {
  request_->End(request_->status(), response_bytes_, [this] { return RequestId(); });
  delete this;
}

}  // namespace baseband::server
