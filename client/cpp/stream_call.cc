#include "client/cpp/stream_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

CallHeader HeaderOf(const StreamOptions& options) {
  CallHeader header;
  header.deadline = SteadyNow() + options.timeout;
  header.wait_for_ready = options.wait_for_ready;
  header.priority = options.priority;
  return header;
}

}  // namespace

StreamCall::StreamCall(const StreamSpec& spec, ChannelPool* channels, grpc::CompletionQueue* queue,
                       std::function<void()> closed)
    : BidiCall(spec.method, HeaderOf(spec.options), channels, queue, std::move(closed)),
      options_(spec.options) {}

bool StreamCall::Write(grpc::ByteBuffer message) {
  {
    absl::MutexLock lock(&mutex_);
    const auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return accepted_ - taken_ < options_.max_in_flight || !IsOpen();
    };
    mutex_.Await(absl::Condition(&has_room));
    if (!IsOpen() || half_close_wanted_) {
      return false;
    }
    if (!IsResponseDue()) {
      due_since_ = SteadyNow();
      changed_.NotifyAll();  // whoever reads has waited for as long as it likes till now
    }
    ++accepted_;
    requests_.push_back(std::move(message));
  }
  Pump();
  return true;
}

bool StreamCall::Read(grpc::ByteBuffer* message) {
  absl::MutexLock lock(&mutex_);
  AwaitResponses(
      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended_ || !responses_.empty(); });
  if (responses_.empty()) {
    return false;
  }
  *message = std::move(responses_.front());
  responses_.pop_front();
  ++taken_;
  return true;
}

int StreamCall::in_flight() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(accepted_ - taken_);
}

absl::Status StreamCall::Finish() {
  HalfClose();
  absl::MutexLock lock(&mutex_);
  AwaitResponses([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended_; });
  taken_ += static_cast<int64_t>(responses_.size());
  responses_.clear();
  return result_;
}

bool StreamCall::IsResponseDue() const { return received_ < accepted_ || half_close_wanted_; }

absl::Time StreamCall::GivenUpAt() const {
  return abort_.ok() && IsResponseDue() ? due_since_ + options_.response_timeout
                                        : absl::InfiniteFuture();
}

void StreamCall::OnHalfCloseWanted() {
  if (!IsResponseDue()) {
    due_since_ = SteadyNow();
  }
}

template <typename Condition>
void StreamCall::AwaitResponses(const Condition& condition) {
  for (;;) {
    const absl::Time given_up = GivenUpAt();
    const auto moved = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return condition() || GivenUpAt() != given_up;
    };
    if (!changed_.AwaitUntil(mutex_, given_up, moved)) {
      AbortLocked(absl::DeadlineExceededError(
          absl::StrCat("no response within ", absl::FormatDuration(options_.response_timeout))));
    } else if (condition()) {
      return;
    }
  }
}

absl::optional<grpc::ByteBuffer> StreamCall::TakeNext(bool* more) {
  absl::MutexLock lock(&mutex_);
  grpc::ByteBuffer next = std::move(requests_.front());
  requests_.pop_front();
  *more = !requests_.empty();
  return next;
}

void StreamCall::OnMessage(grpc::ByteBuffer message) {
  absl::MutexLock lock(&mutex_);
  ++received_;
  due_since_ = SteadyNow();
  if (received_ > accepted_) {
    AbortLocked(absl::InternalError("the server sent more responses than it had requests"));
  } else {
    responses_.push_back(std::move(message));
  }
  changed_.NotifyAll();
}

absl::Status StreamCall::CheckComplete() const {
  return received_ < accepted_
             ? absl::InternalError(absl::StrCat("the server ended the stream after ", received_,
                                                " of ", accepted_, " responses"))
             : absl::OkStatus();
}

}  // namespace baseband::client
