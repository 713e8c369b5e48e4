#include "client/cpp/stream_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/grpc_time.h"
#include "client/cpp/to_status.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {

StreamCall::StreamCall(StreamSpec spec, ChannelPool* channels, grpc::CompletionQueue* queue,
                       std::function<void()> closed)
    : spec_(std::move(spec)), channels_(channels), queue_(queue), closed_(std::move(closed)) {}

CallTag* StreamCall::Tag(Event event) { return new CallTag{shared_from_this(), event}; }

void StreamCall::Start() {
  absl::MutexLock lock(&mutex_);
  channel_ = &channels_->Pick();
  channel_->calls.fetch_add(1, std::memory_order_relaxed);
  context_ = std::make_unique<grpc::ClientContext>();
  channels_->Authorize(context_.get());
  context_->set_wait_for_ready(spec_.options.wait_for_ready);
  SetPriority(spec_.options.priority, context_.get());
  if (spec_.options.timeout != absl::InfiniteDuration()) {
    context_->set_deadline(ToGrpcTime(SteadyNow() + spec_.options.timeout));
  }
  stream_ = channel_->stub->PrepareCall(context_.get(), spec_.method, queue_);
  stream_->StartCall(Tag(kStarted));
  if (!abort_.ok()) {
    context_->TryCancel();
  }
}

bool StreamCall::Write(grpc::ByteBuffer message) {
  absl::MutexLock lock(&mutex_);
  const auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return accepted_ - taken_ < spec_.options.max_in_flight || finishing_ || !abort_.ok();
  };
  mutex_.Await(absl::Condition(&has_room));
  if (finishing_ || !abort_.ok() || half_close_wanted_) {
    return false;
  }
  ++accepted_;
  requests_.push_back(std::move(message));
  AdvanceWrites();
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

void StreamCall::HalfClose() {
  absl::MutexLock lock(&mutex_);
  half_close_wanted_ = true;
  AdvanceWrites();
}

absl::Status StreamCall::Finish() {
  absl::MutexLock lock(&mutex_);
  half_close_wanted_ = true;
  AdvanceWrites();
  AwaitResponses([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended_; });
  taken_ += static_cast<int64_t>(responses_.size());
  responses_.clear();
  return result_;
}

void StreamCall::Cancel() { Abort(absl::CancelledError("cancelled by the client")); }

void StreamCall::Abort(absl::Status why) {
  absl::MutexLock lock(&mutex_);
  AbortLocked(std::move(why));
}

void StreamCall::AbortLocked(absl::Status why) {
  if (ended_ || !abort_.ok()) {
    return;
  }
  abort_ = std::move(why);
  if (context_ != nullptr) {
    context_->TryCancel();
  }
}

template <typename Condition>
void StreamCall::AwaitResponses(const Condition& condition) {
  for (;;) {
    const int64_t before = received_;
    const auto moved = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return condition() || received_ != before;
    };
    const absl::Duration patience =
        abort_.ok() ? spec_.options.response_timeout : absl::InfiniteDuration();
    if (!changed_.AwaitUntil(mutex_, SteadyNow() + patience, moved)) {
      if (received_ == accepted_ && !half_close_wanted_) {
        continue;  // none is due
      }
      AbortLocked(absl::DeadlineExceededError(absl::StrCat(
          "no response within ", absl::FormatDuration(spec_.options.response_timeout))));
    } else if (condition()) {
      return;
    }
  }
}

void StreamCall::AdvanceWrites() {
  if (!started_ || writing_ || finishing_ || half_closed_) {
    return;
  }
  if (!requests_.empty()) {
    writing_ = true;
    stream_->Write(requests_.front(), Tag(kWritten));
    requests_.pop_front();
  } else if (half_close_wanted_) {
    half_closed_ = true;
    stream_->WritesDone(Tag(kHalfClosed));
  }
}

void StreamCall::StartRead() { stream_->Read(&incoming_, Tag(kRead)); }

void StreamCall::StartFinish() {
  finishing_ = true;
  requests_.clear();
  stream_->Finish(&status_, Tag(kFinished));
}

void StreamCall::OnRead() {
  ++received_;
  if (received_ > accepted_) {
    AbortLocked(absl::InternalError("the server sent more responses than it had requests"));
  } else {
    responses_.push_back(std::move(incoming_));
  }
  incoming_ = grpc::ByteBuffer();
  changed_.NotifyAll();
  StartRead();
}

void StreamCall::OnFinished() {
  channel_->calls.fetch_sub(1, std::memory_order_relaxed);
  ended_ = true;
  changed_.NotifyAll();
  if (!abort_.ok()) {
    result_ = abort_;
  } else if (status_.ok() && received_ < accepted_) {
    result_ = absl::InternalError(absl::StrCat("the server ended the stream after ", received_,
                                               " of ", accepted_, " responses"));
  } else {
    result_ = ToStatusUncancelled(status_);
  }
}

void StreamCall::OnEvent(int event, bool ok) {
  bool closed = false;
  {
    absl::MutexLock lock(&mutex_);
    switch (event) {
      case kStarted:
        started_ = true;
        if (ok) {
          StartRead();
          AdvanceWrites();
        } else {
          StartFinish();
        }
        break;
      case kWritten:
        writing_ = false;
        if (ok) {
          AdvanceWrites();
        }
        break;  // else the read fails, too
      case kRead:
        if (ok) {
          OnRead();
        } else {
          StartFinish();
        }
        break;
      case kFinished:
        OnFinished();
        closed = true;
        break;
      default:
        break;
    }
  }
  if (closed) {
    const std::function<void()> run = std::move(closed_);
    run();
  }
}

}  // namespace baseband::client
