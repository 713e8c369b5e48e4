#include "tests/support/request_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace baseband::testing {
namespace {

constexpr size_t kMaxFaults = 2000;  // characters

thread_local size_t last_entered = 0;

}  // namespace

Done RequestLog::Enter(Done then) {
  absl::MutexLock lock(&mutex_);
  const size_t number = last_entered = entries_.size();
  entries_.push_back(Entry::kOpen);
  return [this, number, then = std::move(then)](const absl::Status& status) {
    Answer(number, status);
    then(status);
  };
}

void RequestLog::Withdraw() {
  absl::MutexLock lock(&mutex_);
  if (entries_[last_entered] == Entry::kAnswered) {
    absl::StrAppend(&faults_, "request ", last_entered, " was not taken, and answered\n");
  }
  entries_[last_entered] = Entry::kWithdrawn;
}

void RequestLog::Answer(size_t number, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (entries_[number] != Entry::kOpen && faults_.size() < kMaxFaults) {
    absl::StrAppend(&faults_, "request ", number,
                    entries_[number] == Entry::kAnswered ? " was answered again: "
                                                         : " was not taken, and answered: ",
                    status.ToString(), "\n");
  }
  entries_[number] = Entry::kAnswered;
  ++counts_[status.code()];
  examples_.emplace(status.code(), status.message());
}

int64_t RequestLog::Count(absl::StatusCode code) const {
  absl::MutexLock lock(&mutex_);
  const auto found = counts_.find(code);
  return found == counts_.end() ? 0 : found->second;
}

bool RequestLog::AwaitCount(absl::StatusCode code, int64_t count, absl::Duration patience) const {
  absl::MutexLock lock(&mutex_);
  const auto reached = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = counts_.find(code);
    return found != counts_.end() && found->second >= count;
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&reached), patience);
}

std::string RequestLog::Faults(const std::vector<absl::StatusCode>& allowed) const {
  absl::MutexLock lock(&mutex_);
  std::string faults = faults_;
  if (const auto open = std::count(entries_.begin(), entries_.end(), Entry::kOpen); open > 0) {
    absl::StrAppend(&faults, open, " of ", entries_.size(), " requests were never answered\n");
  }
  for (const auto& [code, count] : counts_) {
    if (std::find(allowed.begin(), allowed.end(), code) != allowed.end()) continue;
    absl::StrAppend(&faults, count, " times ", absl::StatusCodeToString(code), ": ",
                    examples_.at(code), "\n");
  }
  return faults;
}

Done Batch::Enter() {
  {
    absl::MutexLock lock(&state_->mutex);
    ++state_->open;
  }
  return log_->Enter([state = state_](const absl::Status& status) {
    absl::MutexLock lock(&state->mutex);
    --state->open;
    if (state->worst.ok() || absl::IsDataLoss(status)) state->worst = status;
  });
}

void Batch::Withdraw() {
  log_->Withdraw();
  absl::MutexLock lock(&state_->mutex);
  --state_->open;
}

absl::Status Batch::Wait() {
  absl::MutexLock lock(&state_->mutex);
  const auto answered = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    return state_->open <= 0;
  };
  if (!state_->mutex.AwaitWithTimeout(absl::Condition(&answered), absl::Minutes(2))) {
    return absl::InternalError("no answer within two minutes");
  }
  return state_->worst;
}

}  // namespace baseband::testing
