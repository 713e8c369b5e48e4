// What was compiled from expressions, shared by all who ask for the same: one of them compiles, the
// others wait for it. Host header; knows no compiler.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_COMPILE_CACHE_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_COMPILE_CACHE_H_

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/search/precision.h"

namespace baseband::minimize {

// Code for one kind of device.
struct CompileKey {
  std::shared_ptr<const Expression> expression;  // its structure
  Precision precision = Precision::kFloat64;
  int architecture = 0;

  bool operator==(const CompileKey& other) const {
    return precision == other.precision && architecture == other.architecture &&
           expression->hash() == other.expression->hash() &&
           expression->HasStructureOf(*other.expression);
  }
};

// Keeps the `capacity` values that were asked for last; who holds one keeps it alive. Thread-safe.
template <typename Value>
class CompileCache {
 public:
  using Pointer = std::shared_ptr<const Value>;
  using Compile = std::function<absl::StatusOr<Pointer>()>;

  explicit CompileCache(size_t capacity) : capacity_(capacity) {}

  // The value of `key`, from `compile` if there is none yet; *compiled says whether this call made
  // it. A failure goes to all who wait for it, and is not kept. `compile` runs without a lock.
  absl::StatusOr<Pointer> Get(const CompileKey& key, const Compile& compile, bool* compiled) {
    *compiled = false;
    std::shared_ptr<Entry> entry;
    {
      absl::MutexLock lock(&mutex_);
      entry = Touch(key);
      if (entry != nullptr) {
        mutex_.Await(absl::Condition(
            +[](Entry* e) { return e->value.has_value(); }, entry.get()));
        return *entry->value;
      }
      entry = std::make_shared<Entry>();
      entry->key = key;
      entries_.push_front(entry);
      if (entries_.size() > capacity_) entries_.pop_back();
    }
    absl::StatusOr<Pointer> value = compile();
    *compiled = true;
    absl::MutexLock lock(&mutex_);
    entry->value = value;
    if (!value.ok()) entries_.remove(entry);
    return value;
  }

  // The value if it is there, else null. Never waits.
  Pointer Find(const CompileKey& key) {
    absl::MutexLock lock(&mutex_);
    const std::shared_ptr<Entry> entry = Touch(key);
    if (entry == nullptr || !entry->value.has_value() || !entry->value->ok()) return nullptr;
    return **entry->value;
  }

  size_t size() const {
    absl::MutexLock lock(&mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    CompileKey key;
    absl::optional<absl::StatusOr<Pointer>> value;  // none: being compiled
  };

  // The entry, as the one asked for last.
  std::shared_ptr<Entry> Touch(const CompileKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if ((*at)->key == key) {
        entries_.splice(entries_.begin(), entries_, at);
        return entries_.front();
      }
    }
    return nullptr;
  }

  const size_t capacity_;
  mutable absl::Mutex mutex_;
  std::list<std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);  // asked for last, first
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_COMPILE_CACHE_H_
