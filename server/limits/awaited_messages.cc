#include "server/limits/awaited_messages.h"

#include "absl/hash/hash.h"

namespace baseband::server {

AwaitedMessages::List& AwaitedMessages::ListOf(const Awaited* message) {
  return lists_[absl::Hash<const Awaited*>()(message) % lists_.size()];
}

void AwaitedMessages::Begin(Awaited* message, absl::Time now) {
  List& list = ListOf(message);
  absl::MutexLock lock(&list.mutex);
  if (list.spare.empty()) list.spare.emplace_back();
  message->place_ = list.spare.begin();
  *message->place_ = message;
  message->is_awaited_ = true;
  message->since_ = now;
  message->due_ = absl::InfiniteFuture();
  list.messages.splice(list.messages.end(), list.spare, message->place_);
}

void AwaitedMessages::Expect(Awaited* message, absl::Time due) {
  List& list = ListOf(message);
  absl::MutexLock lock(&list.mutex);
  message->due_ = due;
}

bool AwaitedMessages::End(Awaited* message) {
  List& list = ListOf(message);
  absl::MutexLock lock(&list.mutex);
  if (!message->is_awaited_) return false;
  message->is_awaited_ = false;
  list.spare.splice(list.spare.begin(), list.messages, message->place_);
  return true;
}

void AwaitedMessages::EndLate(absl::Time since) {
  for (List& list : lists_) {
    absl::MutexLock lock(&list.mutex);
    while (!list.messages.empty() && list.messages.front()->since_ < since) {
      Awaited* const late = list.messages.front();
      late->is_awaited_ = false;
      list.messages.pop_front();
      late->OnLate();
    }
  }
}

void AwaitedMessages::EndOverdue(absl::Time now) {
  for (List& list : lists_) {
    absl::MutexLock lock(&list.mutex);
    for (auto next = list.messages.begin(); next != list.messages.end();) {
      Awaited* const message = *next++;
      if (message->due_ >= now) continue;
      message->is_awaited_ = false;
      list.messages.erase(message->place_);
      message->OnOverdue();
    }
  }
}

}  // namespace baseband::server
