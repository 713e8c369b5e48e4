#include "client/cpp/unary_call.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "client/cpp/grpc_time.h"
#include "client/cpp/to_status.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

constexpr char kPushbackTrailer[] = "grpc-retry-pushback-ms";

}  // namespace

UnaryCall::UnaryCall(CallSpec spec, ChannelPool* channels, grpc::CompletionQueue* queue, Done done)
    : spec_(std::move(spec)), channels_(channels), queue_(queue), done_(std::move(done)) {}

void UnaryCall::Start() {
  if (spec_.failure.ok()) {
    StartAttempt();
    return;
  }
  // `done_` runs on the polling thread in this case too.
  absl::MutexLock lock(&mutex_);
  pausing_ = true;
  cancelled_ = true;
  alarm_.Set(queue_, gpr_time_0(GPR_CLOCK_MONOTONIC), new CallTag{shared_from_this()});
}

void UnaryCall::StartAttempt() {
  absl::MutexLock lock(&mutex_);
  pausing_ = false;
  ++attempts_;
  channel_ = &channels_->Pick();
  channel_->calls.fetch_add(1, std::memory_order_relaxed);
  context_ = std::make_unique<grpc::ClientContext>();
  channels_->Authorize(context_.get());
  context_->set_wait_for_ready(spec_.wait_for_ready);
  SetPriority(spec_.priority, context_.get());
  if (!spec_.request_id.empty()) {
    context_->AddMetadata("x-request-id", spec_.request_id);
  }
  if (spec_.deadline != absl::InfiniteFuture()) {
    context_->set_deadline(ToGrpcTime(spec_.deadline));
  }
  response_.Clear();
  status_ = grpc::Status();
  reader_ = channel_->stub->PrepareUnaryCall(context_.get(), spec_.method, spec_.request, queue_);
  reader_->StartCall();
  reader_->Finish(&response_, &status_, new CallTag{shared_from_this()});
  if (cancelled_) {
    context_->TryCancel();
  }
}

void UnaryCall::Cancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (pausing_) {
    alarm_.Cancel();
  } else if (context_ != nullptr) {
    context_->TryCancel();
  }
}

absl::Duration UnaryCall::RetryDelay() {
  if (cancelled_ || attempts_ >= spec_.max_attempts ||
      status_.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) {
    return absl::InfiniteDuration();
  }
  const auto& trailers = context_->GetServerTrailingMetadata();
  const auto pushback = trailers.find(kPushbackTrailer);
  int milliseconds = -1;
  if (pushback == trailers.end() ||
      !absl::SimpleAtoi(absl::string_view(pushback->second.data(), pushback->second.size()),
                        &milliseconds) ||
      milliseconds < 0) {
    return absl::InfiniteDuration();
  }
  const absl::Duration delay = absl::Milliseconds(milliseconds);
  return SteadyNow() + delay < spec_.deadline ? delay : absl::InfiniteDuration();
}

void UnaryCall::OnEvent(int /*event*/, bool /*ok*/) {
  bool answered = false;
  absl::Status error;
  {
    absl::MutexLock lock(&mutex_);
    if (!pausing_) {
      channel_->calls.fetch_sub(1, std::memory_order_relaxed);
      const absl::Duration delay = RetryDelay();
      if (delay != absl::InfiniteDuration()) {
        pausing_ = true;
        alarm_.Set(queue_, ToGrpcTime(SteadyNow() + delay), new CallTag{shared_from_this()});
        return;
      }
      answered = true;
      error = cancelled_ ? ToStatus(status_) : ToStatusUncancelled(status_);
    } else if (cancelled_) {
      answered = true;
      error = absl::CancelledError("cancelled while waiting to retry");
    }
  }
  if (!answered) {
    StartAttempt();
  } else if (!spec_.failure.ok()) {
    Finish(spec_.failure);
  } else if (error.ok()) {
    Finish(std::move(response_));
  } else {
    Finish(std::move(error));
  }
}

void UnaryCall::Finish(absl::StatusOr<grpc::ByteBuffer> result) {
  const Done done = std::move(done_);
  done(std::move(result));
}

}  // namespace baseband::client
