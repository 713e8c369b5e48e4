#include "client/cpp/striped_call.h"

namespace baseband::client {

void StripedCall::Start(const std::vector<grpc::ByteBuffer>& parts) {
  {
    const absl::MutexLock lock(&mutex_);
    open_ = parts.size();
    answers_.resize(parts.size());
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    std::weak_ptr<AsyncCall> call =
        start_(parts[i], [self = shared_from_this(), i](absl::StatusOr<grpc::ByteBuffer> answer) {
          self->OnAnswer(i, std::move(answer));
        });
    const absl::MutexLock lock(&mutex_);
    calls_.push_back(std::move(call));
    if (cancelled_ || !failure_.ok()) CancelParts();
  }
}

void StripedCall::Cancel() {
  const absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  CancelParts();
}

void StripedCall::CancelParts() {
  for (const auto& weak : calls_) {
    if (const auto call = weak.lock()) call->Cancel();
  }
}

void StripedCall::OnAnswer(size_t part, absl::StatusOr<grpc::ByteBuffer> answer) {
  absl::StatusOr<std::vector<grpc::ByteBuffer>> result;
  bool sends_whole = false;
  {
    const absl::MutexLock lock(&mutex_);
    if (answer.ok()) {
      answers_[part] = *std::move(answer);
    } else if (failure_.ok()) {
      failure_ = std::move(answer).status();
      CancelParts();
    }
    if (--open_ > 0) return;
    if (failure_.ok()) {
      result = std::move(answers_);
    } else {
      sends_whole = absl::IsInvalidArgument(failure_) && !cancelled_ && !is_whole_;
      result = std::exchange(failure_, absl::OkStatus());
      is_whole_ = sends_whole;
    }
  }
  if (sends_whole) {
    Start({whole_});
  } else {
    done_(std::move(result));
  }
}

}  // namespace baseband::client
