#include "server/calls/health.h"

#include <algorithm>
#include <utility>

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

template <typename Tell>
void Health::ForEach(const Tell& tell) {
  for (const auto& connection : strangers_) {
    for (const auto& call : connection.second) tell(*call.second);
  }
  for (const auto& call : others_) tell(*call.second);
}

void Health::Say(bool serving) {
  if (serving_.exchange(serving) == serving) return;
  ForEach([](HealthListener& call) { call.OnChange(); });
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
  if (is_stranger) {
    strangers_[peer].emplace(number, call);
    stranger_of_.emplace(number, peer);
    MakeRoom();
  } else {
    others_.emplace(number, call);
  }
  return number;
}

absl::optional<std::string> Health::Greediest() const {
  const auto greediest =
      std::max_element(strangers_.begin(), strangers_.end(), [](const auto& a, const auto& b) {
        return a.second.size() != b.second.size()
                   ? a.second.size() < b.second.size()
                   : a.second.begin()->first > b.second.begin()->first;
      });
  return greediest != strangers_.end() ? absl::make_optional(greediest->first) : absl::nullopt;
}

void Health::MakeRoom() {
  while (stranger_of_.size() > kMaxStrangers) {
    const std::string peer = *Greediest();
    if (!is_stranger_(peer)) {
      auto calls = strangers_.extract(peer);
      for (const auto& call : calls.mapped()) stranger_of_.erase(call.first);
      others_.merge(calls.mapped());
      continue;
    }
    const auto [number, call] = *strangers_[peer].begin();
    Remove(number);
    call->EndWith(
        Because(UnservedReason::kStreamLimit,
                absl::ResourceExhaustedError(absl::StrCat(
                    "callers without a role have more than ", kMaxStrangers,
                    " health calls open, which is all this server takes, and most of them on this "
                    "connection"))),
        HealthListener::Manner::kAtOnce);
  }
}

void Health::Remove(uint64_t number) {
  others_.erase(number);
  const auto found = stranger_of_.find(number);
  if (found == stranger_of_.end()) return;
  const auto connection = strangers_.find(found->second);
  connection->second.erase(number);
  if (connection->second.empty()) strangers_.erase(connection);
  stranger_of_.erase(found);
}

void Health::Leave(uint64_t number) {
  absl::MutexLock lock(&mutex_);
  Remove(number);
  left_.NotifyAll();
}

void Health::EndAll(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  has_ended_ = true;
  ForEach([](HealthListener& call) { call.EndWith(Ending(), HealthListener::Manner::kInOrder); });
  left_.AwaitUntil(mutex_, deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return strangers_.empty() && others_.empty();
  });
}

}  // namespace baseband::server
