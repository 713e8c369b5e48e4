#include "client/cpp/submit_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/grpc_time.h"
#include "client/cpp/to_status.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

// Both name the classes in the same order.
v1::Priority ToProto(Priority priority) {
  return static_cast<v1::Priority>(v1::PRIORITY_HIGH + static_cast<int>(priority));
}
static_assert(v1::PRIORITY_LOW - v1::PRIORITY_HIGH == static_cast<int>(Priority::kLow));

grpc::ByteBuffer ToMessage(uint64_t id, const SubmitItem& item) {
  v1::SubmitRequest header;
  header.set_id(id);
  if (item.deadline != absl::InfiniteFuture()) {
    header.set_timeout_us(static_cast<uint64_t>(
        std::max<int64_t>(1, absl::ToInt64Microseconds(item.deadline - SteadyNow()))));
  }
  if (item.priority.has_value()) {
    header.set_priority(ToProto(*item.priority));
  }
  return MakeSubmitRequest(header, item.fields.request, item.request);
}

}  // namespace

SubmitCall::SubmitCall(const SubmitStreamOptions& options, ChannelPool* channels,
                       grpc::CompletionQueue* queue, std::function<void()> closed)
    : options_(options), channels_(channels), queue_(queue), closed_(std::move(closed)) {}

CallTag* SubmitCall::Tag(Event event) { return new CallTag{shared_from_this(), event}; }

void SubmitCall::Start() {
  channel_ = &channels_->Pick();
  channel_->calls.fetch_add(1, std::memory_order_relaxed);
  channels_->Authorize(&context_);
  context_.set_wait_for_ready(options_.wait_for_ready);
  SetPriority(options_.priority, &context_);
  stream_ = channel_->stub->PrepareCall(&context_, "/baseband.v1.Baseband/Submit", queue_);
  {
    absl::MutexLock lock(&mutex_);
    heard_ = SteadyNow();
    WatchResponses();
    if (!abort_.ok()) {
      context_.TryCancel();
    }
  }
  stream_->StartCall(Tag(kStarted));
}

absl::Status SubmitCall::CheckOpen() const {
  if (finishing_ || !abort_.ok()) {
    return absl::UnavailableError("the stream has ended: Finish() says why");
  }
  return half_close_wanted_ ? absl::FailedPreconditionError("the stream was finished")
                            : absl::OkStatus();
}

bool SubmitCall::HasCredits(const SubmitItem& item) const {
  const auto bytes = static_cast<int64_t>(item.request.Length() + kMaxSubmitHeaderBytes);
  return credit_requests_ > 0 && (bytes <= credit_bytes_ || open_.empty());
}

void SubmitCall::Accept(SubmitItem item) {
  Outgoing outgoing;
  outgoing.id = ++last_id_;
  outgoing.charged = static_cast<int64_t>(item.request.Length() + kMaxSubmitHeaderBytes);
  --credit_requests_;
  credit_bytes_ -= outgoing.charged;
  if (open_.empty()) {
    heard_ = SteadyNow();
  }
  open_.emplace(outgoing.id, Waiting{item.fields.response, std::move(item.done)});
  outgoing.item = std::move(item);
  outgoing_.push_back(std::move(outgoing));
  WatchResponses();
}

absl::Status SubmitCall::Submit(SubmitItem item, bool wait_for_credits) {
  {
    absl::MutexLock lock(&mutex_);
    const auto ready = [this, &item]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !CheckOpen().ok() || (enqueued_.empty() && HasCredits(item));
    };
    if (wait_for_credits) {
      if (!changed_.AwaitUntil(mutex_, item.deadline, ready)) {
        return absl::DeadlineExceededError("the timeout passed while waiting for credits");
      }
    } else if (!ready()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no credits: ", open_.size(), " requests are in flight on this stream"));
    }
    if (absl::Status open = CheckOpen(); !open.ok()) return open;
    Accept(std::move(item));
  }
  Pump();
  return absl::OkStatus();
}

absl::Status SubmitCall::Enqueue(SubmitItem item) {
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status open = CheckOpen(); !open.ok()) return open;
    if (enqueued_.empty() && HasCredits(item)) {
      Accept(std::move(item));
    } else {
      enqueued_.push_back(std::move(item));
    }
  }
  Pump();
  return absl::OkStatus();
}

int SubmitCall::in_flight() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(open_.size() + enqueued_.size());
}

void SubmitCall::HalfClose() {
  {
    absl::MutexLock lock(&mutex_);
    half_close_wanted_ = true;
    changed_.NotifyAll();
  }
  Pump();
}

absl::Status SubmitCall::Finish() {
  HalfClose();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&ended_));
  return result_;
}

void SubmitCall::Cancel() {
  absl::MutexLock lock(&mutex_);
  Abort(absl::CancelledError("cancelled by the client"));
}

void SubmitCall::Abort(absl::Status why) {
  if (ended_ || !abort_.ok()) {
    return;
  }
  abort_ = std::move(why);
  changed_.NotifyAll();
  context_.TryCancel();
}

void SubmitCall::Pump() {
  Outgoing next;
  grpc::WriteOptions write_options;
  {
    absl::MutexLock lock(&mutex_);
    if (!started_ || writing_ || finishing_ || half_closed_) {
      return;
    }
    if (!outgoing_.empty()) {
      next = std::move(outgoing_.front());
      outgoing_.pop_front();
      writing_ = true;
      if (!outgoing_.empty()) {
        write_options.set_buffer_hint();  // the next one follows at once
      }
    } else if (half_close_wanted_ && enqueued_.empty()) {
      half_closed_ = true;
      heard_ = SteadyNow();
      WatchResponses();
    } else {
      return;
    }
  }
  if (next.id == 0) {
    stream_->WritesDone(Tag(kHalfClosed));
    return;
  }
  const grpc::ByteBuffer message = ToMessage(next.id, next.item);
  {
    absl::MutexLock lock(&mutex_);
    credit_bytes_ += next.charged - static_cast<int64_t>(message.Length());
    changed_.NotifyAll();
  }
  stream_->Write(message, write_options, Tag(kWritten));
}

void SubmitCall::StartRead() { stream_->Read(&incoming_, Tag(kRead)); }

void SubmitCall::OnRead() {
  absl::StatusOr<SubmitAnswer> answer =
      ReadSubmitResponse(std::exchange(incoming_, grpc::ByteBuffer()));
  Waiting waiting;
  {
    absl::MutexLock lock(&mutex_);
    heard_ = SteadyNow();
    if (answer.ok() && answer->id != 0) {
      const auto found = open_.find(answer->id);
      if (found == open_.end()) {
        answer = absl::InternalError(
            absl::StrCat("the server answered id ", answer->id, ", which is not in flight"));
      } else {
        waiting = std::move(found->second);
        open_.erase(found);
      }
    }
    if (answer.ok()) {
      granted_ = true;
      credit_requests_ += answer->credit_requests;
      credit_bytes_ += answer->credit_bytes;
      while (!enqueued_.empty() && HasCredits(enqueued_.front())) {
        Accept(std::move(enqueued_.front()));
        enqueued_.pop_front();
      }
      changed_.NotifyAll();
    } else {
      Abort(answer.status());
    }
  }
  StartRead();
  Pump();
  if (waiting.done == nullptr) {
    return;
  }
  if (!answer->status.ok()) {
    waiting.done(answer->status);
  } else if (answer->field != waiting.response_field) {
    waiting.done(absl::InternalError("the server answered with another operation's response"));
  } else {
    waiting.done(std::move(answer->result));
  }
}

void SubmitCall::OnFinished() {
  channel_->calls.fetch_sub(1, std::memory_order_relaxed);
  std::unordered_map<uint64_t, Waiting> open;
  std::deque<SubmitItem> enqueued;
  absl::Status lost;
  {
    absl::MutexLock lock(&mutex_);
    open.swap(open_);
    enqueued.swap(enqueued_);
    outgoing_.clear();
    alarm_.Cancel();
    if (!abort_.ok()) {
      result_ = abort_;
    } else if (status_.ok() && !open.empty()) {
      result_ = absl::InternalError(
          absl::StrCat("the server ended the stream with ", open.size(), " requests unanswered"));
    } else {
      result_ = ToStatusUncancelled(status_);
    }
    lost = absl::IsCancelled(result_)
               ? result_
               : absl::UnavailableError(
                     absl::StrCat("the stream ended before the answer came: ", result_.ToString()));
  }
  for (auto& [id, waiting] : open) {
    waiting.done(lost);
  }
  for (SubmitItem& item : enqueued) {
    item.done(lost);
  }
  {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  const std::function<void()> closed = std::move(closed_);
  closed();
}

void SubmitCall::WatchResponses() {
  if (watching_ || ended_ || options_.response_timeout == absl::InfiniteDuration()) {
    return;
  }
  watching_ = true;
  alarm_.Set(queue_, ToGrpcTime(heard_ + options_.response_timeout), Tag(kAlarm));
}

void SubmitCall::OnAlarm() {
  watching_ = false;
  const bool is_due = !open_.empty() || !granted_ || half_closed_;
  if (finishing_ || !is_due) {
    return;
  }
  if (SteadyNow() - heard_ >= options_.response_timeout) {
    Abort(absl::DeadlineExceededError(
        absl::StrCat("no response within ", absl::FormatDuration(options_.response_timeout))));
  } else {
    WatchResponses();
  }
}

void SubmitCall::OnEvent(int event, bool ok) {
  switch (event) {
    case kStarted: {
      {
        absl::MutexLock lock(&mutex_);
        started_ = true;
      }
      if (ok) {
        StartRead();
        Pump();
        break;
      }
      OnEvent(kRead, false);
      break;
    }
    case kWritten: {
      {
        absl::MutexLock lock(&mutex_);
        writing_ = false;
      }
      if (ok) Pump();
      break;  // else the read fails, too
    }
    case kRead:
      if (ok) {
        OnRead();
        break;
      }
      {
        absl::MutexLock lock(&mutex_);
        finishing_ = true;
        changed_.NotifyAll();
      }
      stream_->Finish(&status_, Tag(kFinished));
      break;
    case kFinished:
      OnFinished();
      break;
    case kAlarm: {
      absl::MutexLock lock(&mutex_);
      OnAlarm();
      break;
    }
    default:
      break;
  }
}

}  // namespace baseband::client
