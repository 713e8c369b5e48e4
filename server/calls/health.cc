#include "server/calls/health.h"

#include "absl/strings/str_cat.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
namespace {

absl::Status Ending() {
  return Because(UnservedReason::kDraining,
                 absl::UnavailableError("the server is shutting down: ask another"));
}

}  // namespace

void Health::SetServing(bool serving) {
  absl::MutexLock lock(&mutex_);
  if (!is_draining_) Say(serving);
}

void Health::Drain() {
  absl::MutexLock lock(&mutex_);
  is_draining_ = true;
  Say(false);
}

void Health::Say(bool serving) {
  if (serving_.exchange(serving) == serving) return;
  for (auto* const callers : {&strangers_, &others_}) {
    for (const auto& caller : *callers) caller.second.call->OnChange();
  }
}

absl::optional<bool> Health::IsServing(const std::string& service) const {
  if (!service.empty() && service != service_) return absl::nullopt;
  return serving_.load();
}

absl::StatusOr<uint64_t> Health::Enter(HealthListener* call, const std::string& peer) {
  const bool is_stranger = is_stranger_(peer);
  absl::MutexLock lock(&mutex_);
  if (has_ended_) return Ending();
  const uint64_t number = ++last_number_;
  (is_stranger ? strangers_ : others_).emplace(number, Caller{call, peer});
  EndOldestStrangers();
  return number;
}

void Health::EndOldestStrangers() {
  while (strangers_.size() > kMaxStrangers) {
    auto oldest = strangers_.extract(strangers_.begin());
    if (!is_stranger_(oldest.mapped().peer)) {
      others_.insert(std::move(oldest));
      continue;
    }
    oldest.mapped().call->EndWith(
        Because(UnservedReason::kStreamLimit,
                absl::ResourceExhaustedError(absl::StrCat(
                    "of the health calls of callers without a role this was the first, and ",
                    kMaxStrangers,
                    " have come after it that are open: that is all this server takes"))),
        HealthListener::Manner::kAtOnce);
  }
}

void Health::Leave(uint64_t number) {
  absl::MutexLock lock(&mutex_);
  strangers_.erase(number);
  others_.erase(number);
  left_.NotifyAll();
}

void Health::EndAll(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  has_ended_ = true;
  for (auto* const callers : {&strangers_, &others_}) {
    for (const auto& caller : *callers) {
      caller.second.call->EndWith(Ending(), HealthListener::Manner::kInOrder);
    }
  }
  left_.AwaitUntil(mutex_, deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return strangers_.empty() && others_.empty();
  });
}

}  // namespace baseband::server
