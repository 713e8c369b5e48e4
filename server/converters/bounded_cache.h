// What requests name and is costly to make, kept from request to request: bounded in bytes, what is
// in use included.
//
//   BoundedCache<Model> models("models", 256 << 20);
//   if (auto known = models.Find(key)) return known;
//   ... model ...
//   return models.Insert(key, model, model->bytes());
#ifndef BASEBAND_SERVER_CONVERTERS_BOUNDED_CACHE_H_
#define BASEBAND_SERVER_CONVERTERS_BOUNDED_CACHE_H_

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

// Keeps what was asked for last. What somebody still uses is never let go of: it would take its
// memory all the same; if such values leave too little room, a new one is refused. Thread-safe.
template <typename Value>
class BoundedCache {
 public:
  using Pointer = std::shared_ptr<const Value>;

  // `noun`: what they are, in the plural, for messages.
  BoundedCache(const char* noun, int64_t max_bytes) : noun_(noun), max_bytes_(max_bytes) {}

  // Null: there is none.
  Pointer Find(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, found->second);
    return recent_.front().value;
  }

  // The value that is kept: an earlier one, if another thread was faster. ResourceExhausted: with
  // the `bytes` of `value` and its key, those in use would take more than there may be.
  // InvalidArgument: so would this one alone, or with those of `own`, which the same request uses.
  absl::StatusOr<Pointer> Insert(const std::string& key, Pointer value, int64_t bytes,
                                 absl::Span<const Pointer> own = {}) {
    absl::MutexLock lock(&mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      return found->second->value;
    }
    const int64_t all_bytes = bytes + static_cast<int64_t>(2 * key.size()) + kEntryBytes;
    if (!MakeRoom(all_bytes)) {
      const int64_t request_bytes = BytesOf(own) + all_bytes;
      if (request_bytes > max_bytes_) {
        return absl::InvalidArgumentError(absl::StrCat("the ", noun_, " of the request take ",
                                                       request_bytes, " bytes, more than ",
                                                       max_bytes_, ": divide it, or ask for less"));
      }
      return Because(
          UnservedReason::kPreparation,
          absl::ResourceExhaustedError(absl::StrCat(
              "the ", noun_, " that requests in flight use take ", bytes_, " bytes: with ",
              all_bytes, " for this request's they would take more than ", max_bytes_)));
    }
    recent_.push_front({key, std::move(value), all_bytes});
    by_key_.emplace(key, recent_.begin());
    bytes_ += all_bytes;
    return recent_.front().value;
  }

  // The value of `key`, if it is there, has come to take `bytes`.
  void Resize(const std::string& key, int64_t bytes) {
    absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    Entry& entry = *found->second;
    const int64_t all_bytes = bytes + static_cast<int64_t>(2 * key.size()) + kEntryBytes;
    bytes_ += all_bytes - entry.bytes;
    entry.bytes = all_bytes;
    recent_.splice(recent_.begin(), recent_, found->second);
    (void)MakeRoom(0);
  }

  // Lets go of all that nobody uses.
  void DropUnused() {
    absl::MutexLock lock(&mutex_);
    (void)MakeRoom(max_bytes_);
  }

  int64_t bytes() const {
    absl::MutexLock lock(&mutex_);
    return bytes_;
  }

 private:
  // Of an entry's nodes in both containers, about.
  static constexpr int64_t kEntryBytes = 256;
  struct Entry {
    std::string key;
    Pointer value;
    int64_t bytes = 0;
  };
  using Entries = std::list<Entry>;

  // Lets go of what nobody uses, the longest unused first, until there are `bytes` to spare.
  bool MakeRoom(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (auto it = recent_.end(); bytes_ + bytes > max_bytes_ && it != recent_.begin();) {
      --it;
      if (it->value.use_count() > 1) continue;  // nobody but Find, under the lock, adds to it
      bytes_ -= it->bytes;
      by_key_.erase(it->key);
      it = recent_.erase(it);
    }
    return bytes_ + bytes <= max_bytes_;
  }

  // Each counts once.
  int64_t BytesOf(absl::Span<const Pointer> values) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    int64_t bytes = 0;
    for (const Entry& entry : recent_) {
      if (std::find(values.begin(), values.end(), entry.value) != values.end()) {
        bytes += entry.bytes;
      }
    }
    return bytes;
  }

  const char* const noun_;
  const int64_t max_bytes_;
  mutable absl::Mutex mutex_;
  Entries recent_ ABSL_GUARDED_BY(mutex_);  // last used first
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, typename Entries::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONVERTERS_BOUNDED_CACHE_H_
