#include "client/cpp/bidi_call.h"

#include <utility>

namespace baseband::client {

void BidiCall::Start() {
  {
    absl::MutexLock lock(&mutex_);
    attempt_ = std::make_unique<Attempt>(header_, channels_);
    stream_ = attempt_->channel().stub->PrepareCall(attempt_->context(), method_, queue_);
    OnStart();
    if (!abort_.ok()) {
      attempt_->Cancel();
    }
  }
  stream_->StartCall(Tag(kStarted));
}

void BidiCall::HalfClose() {
  {
    absl::MutexLock lock(&mutex_);
    if (!half_close_wanted_) {
      OnHalfCloseWanted();
    }
    half_close_wanted_ = true;
    changed_.NotifyAll();
  }
  Pump();
}

void BidiCall::Cancel() { Abort(absl::CancelledError("cancelled by the client")); }

void BidiCall::Abort(absl::Status why) {
  absl::MutexLock lock(&mutex_);
  AbortLocked(std::move(why));
}

void BidiCall::AbortLocked(absl::Status why) {
  if (ended_ || !abort_.ok()) {
    return;
  }
  abort_ = std::move(why);
  changed_.NotifyAll();
  if (attempt_ != nullptr) {
    attempt_->Cancel();
  }
}

bool BidiCall::Claim(bool* write) {
  absl::MutexLock lock(&mutex_);
  if (!started_ || writing_ || finishing_ || half_closed_) {
    return false;
  }
  *write = writing_ = HasNext();
  if (!writing_ && half_close_wanted_ && !HasWaiting()) {
    half_closed_ = true;
    OnHalfClosed();
  }
  return writing_ || half_closed_;
}

void BidiCall::Pump() {
  for (bool write = false; Claim(&write);) {
    if (!write) {
      stream_->WritesDone(Tag(kHalfClosed));
      return;
    }
    bool more = false;
    if (const absl::optional<grpc::ByteBuffer> message = TakeNext(&more)) {
      grpc::WriteOptions options;
      if (more) {
        options.set_buffer_hint();
      }
      stream_->Write(*message, options, Tag(kWritten));
      return;
    }
    absl::MutexLock lock(&mutex_);  // it was withdrawn meanwhile
    writing_ = false;
  }
}

void BidiCall::OnFinished() {
  absl::Status result;
  {
    absl::MutexLock lock(&mutex_);
    attempt_->End();
    result = !abort_.ok() ? abort_ : attempt_->Outcome(status_, /*cancelled=*/false);
    if (result.ok()) {
      result = CheckComplete();
    }
  }
  OnEnd(result);
  {
    absl::MutexLock lock(&mutex_);
    result_ = result;
    ended_ = true;
    changed_.NotifyAll();
  }
  const std::function<void()> closed = std::move(closed_);
  closed();
}

void BidiCall::OnEvent(int event, bool ok) {
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
      if (ok) {
        Pump();
      }
      break;  // else the read fails, too
    }
    case kRead: {
      if (ok) {
        grpc::ByteBuffer message = std::exchange(incoming_, grpc::ByteBuffer());
        StartRead();
        OnMessage(std::move(message));
        break;
      }
      {
        absl::MutexLock lock(&mutex_);
        finishing_ = true;
        changed_.NotifyAll();
      }
      stream_->Finish(&status_, Tag(kFinished));
      break;
    }
    case kFinished:
      OnFinished();
      break;
    case kAlarm:
      OnAlarm();
      break;
    default:
      break;
  }
}

}  // namespace baseband::client
