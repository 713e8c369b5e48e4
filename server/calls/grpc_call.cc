#include "server/calls/grpc_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/caller.h"

namespace baseband::server {

absl::Status GrpcCall::Identify() {
  requester_.deadline = DeadlineOf(context_);
  BASEBAND_ASSIGN_OR_RETURN(Identity identity, environment_.access->Admit(context_, Role::kUser));
  requester_.caller.client = std::move(identity.name);
  BASEBAND_ASSIGN_OR_RETURN(requester_.caller.priority, PriorityOf(context_));
  BASEBAND_ASSIGN_OR_RETURN(const absl::Duration timeout, TimeoutOf(context_));
  requester_.deadline = std::min(requester_.deadline, arrival_ + timeout);
  return environment_.memory->Admit(requester_.caller.priority);
}

absl::Status GrpcCall::EnterStream(StreamLimit& limit) {
  BASEBAND_RETURN_IF_ERROR(Identify());
  return TakeStreamPlace(limit);
}

absl::Status GrpcCall::TakeStreamPlace(StreamLimit& limit) {
  BASEBAND_RETURN_IF_ERROR(environment_.gate->CheckOpen(arrival_));
  BASEBAND_ASSIGN_OR_RETURN(ClientHold hold,
                            environment_.quotas->EnterStream(requester_.caller.client));
  BASEBAND_ASSIGN_OR_RETURN(stream_place_, limit.Enter());
  stream_hold_ = std::move(hold);
  return absl::OkStatus();
}

void GrpcCall::LeaveStream() {
  stream_place_ = StreamPlace();
  stream_hold_ = ClientHold();
  requester_.cancellation->Abandon();
}

void GrpcCall::OnNotified(bool) {
  if (context_.IsCancelled()) {
    requester_.cancellation->Cancel(SteadyNow());
    OnGone();
    if ((state_.fetch_or(kCancelled) & kArrived) != 0) OnCancelled();
  }
  Unref();
}

void GrpcCall::EndArrival() {
  there_.emplace(environment_.calls_there);
  if ((state_.fetch_or(kArrived) & kCancelled) != 0) OnCancelled();
  Unref();
}

absl::Status GrpcCall::RunOnSlowPath(int64_t bytes,
                                     std::function<void(const ContinueCheck&)> work) {
  Ref();
  const absl::Status status = environment_.slow_path->Add(
      requester_.caller.client, bytes, [this, work = std::move(work)](const ContinueCheck& turn) {
        work(turn);
        Unref();
      });
  if (!status.ok()) Unref();
  return status;
}

void GrpcCall::SetStallAlarm() {
  is_alarm_set_ = true;
  Ref();  // OnStallCheck
  if (stall_alarm_ == nullptr) stall_alarm_ = std::make_unique<SteadyAlarm>(environment_.timer);
  stall_alarm_->Set(queue_, read_by_, &stall_check_);
}

void GrpcCall::WatchForStall(absl::Duration time) {
  absl::MutexLock lock(&stall_mutex_);
  read_by_ = SteadyNow() + time;
  if (!is_alarm_set_) SetStallAlarm();
}

void GrpcCall::StopWatching() {
  absl::MutexLock lock(&stall_mutex_);
  read_by_ = absl::InfiniteFuture();
}

void GrpcCall::EndWatching() {
  absl::MutexLock lock(&stall_mutex_);
  read_by_ = absl::InfiniteFuture();
  if (stall_alarm_ != nullptr) stall_alarm_->Cancel();
}

void GrpcCall::OnStallCheck(bool expired) {
  bool is_stalled = false;
  {
    absl::MutexLock lock(&stall_mutex_);
    is_alarm_set_ = false;
    if (expired && read_by_ < absl::InfiniteFuture()) {
      is_stalled = SteadyNow() >= read_by_;
      if (!is_stalled) SetStallAlarm();
    }
  }
  if (is_stalled) OnStalled();
  Unref();
}

void GrpcCall::AddRetryHint(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return;
  const absl::Duration delay = environment_.dispatcher->RetryDelay(status);
  const int64_t delay_ms = absl::ToInt64Milliseconds(absl::Ceil(delay, absl::Milliseconds(1)));
  context_.AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(delay_ms));
}

std::string GrpcCall::RequestId() const {
  const auto& metadata = context_.client_metadata();
  const auto named = metadata.find("x-request-id");
  if (named == metadata.end()) return "";
  return std::string(named->second.data(), named->second.size());
}

}  // namespace baseband::server
