// SearchCall's half that talks to the client: progress, the answer, the end.
#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "baseband/v1/baseband.grpc.pb.h"
#include "kernels/base/steady_time.h"
#include "server/calls/search_call.h"
#include "server/converters/checks.h"
#include "server/grpc/status.h"
#include "server/operations/minimize/minimize_converter.h"

namespace baseband::server {
namespace {

absl::StatusOr<grpc::ByteBuffer> ToBuffer(const v1::MinimizeResponse& response) {
  grpc::ByteBuffer buffer;
  bool own = false;
  const grpc::Status status =
      grpc::SerializationTraits<v1::MinimizeResponse>::Serialize(response, &buffer, &own);
  if (!status.ok()) {
    return absl::InternalError(status.error_message());
  }
  return buffer;
}

}  // namespace

void SearchCall::MaybeWriteProgress() {
  const absl::Time now = SteadyNow();
  if (now < next_progress_ || writing_ || ended_) {
    return;
  }
  absl::StatusOr<grpc::ByteBuffer> buffer =
      ToBuffer(ProgressToProto(*plan_->problem, search_->progress(), now - arrival_));
  if (!buffer.ok()) {
    return;
  }
  next_progress_ = now + progress_interval_;
  writing_ = true;
  response_bytes_ += static_cast<int64_t>(buffer->Length());
  Ref();  // OnWritten
  stream_.Write(*buffer, &written_);
}

void SearchCall::OnWritten(bool) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (ended_) {
      Finish();
    }
  }
  Unref();
}

void SearchCall::Answer() {
  if (AnswersAtOnce(*plan_->problem)) {
    SendAnswer(nullptr);
    return;
  }
  RejectIfError(RunOnSlowPath(
      0, [this](const ContinueCheck& turn) { SendAnswer(SlowPathCheck(requester_, turn)); }));
}

void SearchCall::SendAnswer(const ContinueCheck& may_continue) {
  const absl::StatusOr<minimize::Answer> found = search_->Finish(may_continue);
  if (!found.ok()) {
    End(found.status());
    return;
  }
  v1::MinimizeResponse response = AnswerToProto(*plan_->problem, *found, SteadyNow() - arrival_);
  SetTiming(last_times_, response.mutable_answer()->mutable_timing());
  absl::StatusOr<grpc::ByteBuffer> buffer = ToBuffer(response);
  if (!buffer.ok()) {
    End(buffer.status());
    return;
  }
  End(absl::OkStatus(), *std::move(buffer));
}

void SearchCall::End(const absl::Status& status, absl::optional<grpc::ByteBuffer> answer) {
  absl::MutexLock lock(&mutex_);
  if (ended_) {
    return;
  }
  ended_ = true;
  LeaveStream();
  end_ = status;
  request_->Answer(status);
  answer_ = std::move(answer);
  const int64_t unsent = answer_.has_value() ? static_cast<int64_t>(answer_->Length()) : 0;
  if (response_bytes_ + unsent > kMaxUnread) {
    WatchForStall(environment_.max_stall);
  }
  Ref();  // OnFinished
  if (!writing_) {
    Finish();
  }
}

void SearchCall::Finish() {
  if (answer_.has_value()) {
    response_bytes_ += static_cast<int64_t>(answer_->Length());
    stream_.WriteAndFinish(*answer_, grpc::WriteOptions(), grpc::Status::OK, &finished_);
    return;
  }
  AddRetryHint(end_);
  stream_.Finish(ToGrpcStatus(end_), &finished_);
}

void SearchCall::OnFinished(bool) {
  EndWatching();
  Unref();
}

}  // namespace baseband::server
