#include "server/limits/slow_path_executor.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace baseband::server {

SlowPathExecutor::SlowPathExecutor(int64_t max_waiting, int64_t max_bytes)
    : max_waiting_(max_waiting), max_bytes_(max_bytes), thread_([this] { Work(); }) {}

SlowPathExecutor::~SlowPathExecutor() { Finish(); }

absl::Status SlowPathExecutor::Add(int64_t bytes, std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  if (closed_) {
    return absl::UnavailableError("the server is shutting down");
  }
  const auto waiting = static_cast<int64_t>(waiting_.size());
  if (waiting >= max_waiting_ || bytes > max_bytes_ - waiting_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(waiting, " requests of ", waiting_bytes_,
                     " bytes wait for what takes long to prepare: at most ", max_waiting_, " of ",
                     max_bytes_, " bytes may"));
  }
  waiting_bytes_ += bytes;
  waiting_.push_back({bytes, std::move(work)});
  return absl::OkStatus();
}

void SlowPathExecutor::Finish() {
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool SlowPathExecutor::HasPieceOrIsClosed() const { return !waiting_.empty() || closed_; }

void SlowPathExecutor::Work() {
  for (;;) {
    Piece piece;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &SlowPathExecutor::HasPieceOrIsClosed));
      if (waiting_.empty()) {
        return;
      }
      piece = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= piece.bytes;
    }
    piece.work();
  }
}

}  // namespace baseband::server
