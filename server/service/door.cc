#include "server/service/door.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace baseband::server {

absl::Status Door::Knock(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  last_knock_ = now;
  return closed_ ? absl::UnavailableError("this server is shutting down: use another one")
                 : absl::OkStatus();
}

void Door::Enter() {
  absl::MutexLock lock(&mutex_);
  ++inside_;
}

void Door::Leave() {
  absl::MutexLock lock(&mutex_);
  --inside_;
}

void Door::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

void Door::WaitUntilEmpty(absl::Time deadline) const {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithDeadline(absl::Condition(
                               +[](const int64_t* inside) { return *inside == 0; }, &inside_),
                           deadline);
}

void Door::WaitUntilQuiet(absl::Duration quiet, absl::Time deadline) const {
  for (;;) {
    const absl::Time now = absl::Now();
    absl::Time until;
    {
      absl::MutexLock lock(&mutex_);
      until = std::min(last_knock_ + quiet, deadline);
    }
    if (until <= now) return;
    absl::SleepFor(until - now);
  }
}

}  // namespace baseband::server
