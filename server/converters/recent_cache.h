// The values that were made last, by the key they were made for.
#ifndef BASEBAND_SERVER_CONVERTERS_RECENT_CACHE_H_
#define BASEBAND_SERVER_CONVERTERS_RECENT_CACHE_H_

#include <cstdint>
#include <limits>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace baseband::server {

// Keeps up to `capacity` values that take `max_bytes` together, those that were asked for last, and
// the last one in any case; what clients describe themselves must not grow without bound.
// Thread-safe. `Value` is cheap to copy, as a shared_ptr is.
template <typename Value>
class RecentCache {
 public:
  explicit RecentCache(size_t capacity, int64_t max_bytes = std::numeric_limits<int64_t>::max())
      : capacity_(capacity), max_bytes_(max_bytes) {}

  std::optional<Value> Find(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
      return std::nullopt;
    }
    recent_.splice(recent_.begin(), recent_, found->second);
    return recent_.front().value;
  }

  // Returns the value that is kept: an earlier one, if another thread was faster.
  Value Insert(const std::string& key, Value value, int64_t bytes = 0) {
    absl::MutexLock lock(&mutex_);
    const auto [found, inserted] = by_key_.try_emplace(key);
    if (!inserted) {
      return found->second->value;
    }
    recent_.push_front({key, std::move(value), bytes});
    found->second = recent_.begin();
    bytes_ += bytes;
    while (recent_.size() > 1 && (recent_.size() > capacity_ || bytes_ > max_bytes_)) {
      bytes_ -= recent_.back().bytes;
      by_key_.erase(recent_.back().key);
      recent_.pop_back();
    }
    return recent_.front().value;
  }

 private:
  struct Entry {
    std::string key;
    Value value;
    int64_t bytes = 0;
  };
  using Entries = std::list<Entry>;

  const size_t capacity_;
  const int64_t max_bytes_;
  absl::Mutex mutex_;
  Entries recent_ ABSL_GUARDED_BY(mutex_);  // last used first
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, typename Entries::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONVERTERS_RECENT_CACHE_H_
