// A simulation in batches, on several threads, whose result depends on neither their number nor
// their timing.
#ifndef BASEBAND_CLIENT_CTL_STUDIES_IN_ORDER_H_
#define BASEBAND_CLIENT_CTL_STUDIES_IN_ORDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace baseband::ctl {

// Puts batches back in order and decides when there are enough. Thread-safe.
template <typename Batch>
class InOrder {
 public:
  // `count` is given the batches one at a time, in the order of their numbers, and says whether
  // there are enough; then, or after an error, it gets no more.
  explicit InOrder(std::function<bool(const Batch&)> count) : count_(std::move(count)) {}

  // Makes batches number 0, 1, .. by `measure` on `threads` threads until there are enough. The
  // error of the first batch that has one.
  absl::Status Run(int threads,
                   const std::function<absl::StatusOr<Batch>(int64_t number)>& measure) {
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back([&] {
        for (int64_t number; (number = Take()) >= 0;) {
          Add(number, measure(number));
        }
      });
    }
    for (std::thread& worker : workers) {
      worker.join();
    }
    absl::MutexLock lock(&mutex_);
    return error_;
  }

 private:
  // The number of the next batch, or -1 when there are enough.
  int64_t Take() {
    absl::MutexLock lock(&mutex_);
    return finished_ ? -1 : next_to_take_++;
  }

  void Add(int64_t number, absl::StatusOr<Batch> batch) {
    absl::MutexLock lock(&mutex_);
    waiting_.emplace(number, std::move(batch));
    while (!finished_ && !waiting_.empty() && waiting_.begin()->first == next_to_count_) {
      const absl::StatusOr<Batch>& next = waiting_.begin()->second;
      error_ = next.status();
      finished_ = !next.ok() || count_(*next);
      waiting_.erase(waiting_.begin());
      ++next_to_count_;
    }
  }

  const std::function<bool(const Batch&)> count_;
  absl::Mutex mutex_;
  int64_t next_to_take_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_to_count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, absl::StatusOr<Batch>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_STUDIES_IN_ORDER_H_
