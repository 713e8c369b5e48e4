#include "client/ldpc_tool/batches.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "kernels/base/steady_time.h"

namespace baseband::ldpc_tool {
namespace {

// Between two tries of a batch, beyond those of the client library.
constexpr absl::Duration kPause = absl::Milliseconds(200);

}  // namespace

Batches::Batches(int limit, absl::Duration patience, Send send)
    : limit_(static_cast<size_t>(limit)),
      patience_(patience),
      send_(std::move(send)),
      changes_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Batches::~Batches() { close(changes_); }

void Batches::TellOfChange() const { eventfd_write(changes_, 1); }
void Batches::ForgetChanges() const {
  eventfd_t count = 0;
  eventfd_read(changes_, &count);
}

bool Batches::HasRoom() const {
  absl::MutexLock lock(&mutex_);
  return batches_.size() < limit_;
}

void Batches::Add(v1::DecodeRequest request, int64_t frames) {
  const auto batch = std::make_shared<Batch>();
  batch->frames = frames;
  if (patience_ > absl::ZeroDuration()) {
    batch->request = request;
  }
  {
    absl::MutexLock lock(&mutex_);
    batches_.push_back(batch);
  }
  SendBatch(batch, std::move(request));
}

void Batches::SendBatch(const BatchPtr& batch, v1::DecodeRequest request) {
  send_(std::move(request),
        [self = shared_from_this(), batch](absl::StatusOr<v1::DecodeResponse> answer) {
          absl::MutexLock lock(&self->mutex_);
          batch->answer = std::move(answer);
          batch->is_answered = true;
        });
}

void Batches::Close() {
  absl::MutexLock lock(&mutex_);
  is_closed_ = true;
}

bool Batches::IsLost(const Batch& batch, absl::Time until) {
  return batch.is_answered && absl::IsUnavailable(batch.answer.status()) &&
         SteadyNow() + kPause < until;
}

std::unique_ptr<Batches::Answered> Batches::Next() {
  const absl::Time until = SteadyNow() + patience_;
  for (;;) {
    std::vector<BatchPtr> lost;
    {
      absl::MutexLock lock(&mutex_);
      const auto is_known = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return is_stopped_ || (batches_.empty() ? is_closed_ : batches_.front()->is_answered);
      };
      mutex_.Await(absl::Condition(&is_known));
      if (is_stopped_ || batches_.empty()) {
        return nullptr;
      }
      if (Batch& first = *batches_.front(); !IsLost(first, until)) {
        return std::make_unique<Answered>(Answered{first.frames, std::move(first.answer)});
      }
      for (const BatchPtr& batch : batches_) {
        if (IsLost(*batch, until)) {
          batch->is_answered = false;
          lost.push_back(batch);
        }
      }
    }
    absl::SleepFor(kPause);
    for (const BatchPtr& batch : lost) {
      SendBatch(batch, batch->request);
    }
  }
}

void Batches::Pop() {
  {
    absl::MutexLock lock(&mutex_);
    batches_.pop_front();
  }
  TellOfChange();
}

void Batches::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopped_ = true;
  }
  TellOfChange();
}

bool Batches::is_stopped() const {
  absl::MutexLock lock(&mutex_);
  return is_stopped_;
}

}  // namespace baseband::ldpc_tool
