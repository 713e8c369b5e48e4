// The values that were made last, by the key they were made for.
#ifndef BASEBAND_SERVER_SERVICE_RECENT_CACHE_H_
#define BASEBAND_SERVER_SERVICE_RECENT_CACHE_H_

#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace baseband::server {

// Keeps up to `capacity` values, those that were asked for last; what clients describe themselves
// must not grow without bound. Thread-safe. `Value` is cheap to copy, as a shared_ptr is.
template <typename Value>
class RecentCache {
 public:
  explicit RecentCache(size_t capacity) : capacity_(capacity) {}

  std::optional<Value> Find(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
      return std::nullopt;
    }
    recent_.splice(recent_.begin(), recent_, found->second);
    return recent_.front().second;
  }

  // Returns the value that is kept: an earlier one, if another thread was faster.
  Value Insert(const std::string& key, Value value) {
    absl::MutexLock lock(&mutex_);
    const auto [found, inserted] = by_key_.try_emplace(key);
    if (!inserted) {
      return found->second->second;
    }
    recent_.emplace_front(key, std::move(value));
    found->second = recent_.begin();
    if (recent_.size() > capacity_) {
      by_key_.erase(recent_.back().first);
      recent_.pop_back();
    }
    return recent_.front().second;
  }

 private:
  using Entries = std::list<std::pair<std::string, Value>>;

  const size_t capacity_;
  absl::Mutex mutex_;
  Entries recent_ ABSL_GUARDED_BY(mutex_);  // last used first
  std::unordered_map<std::string, typename Entries::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_RECENT_CACHE_H_
