// Makes the memory of regions on a thread of its own: page-locking goes through a GPU's driver,
// which takes milliseconds, and as long as it likes while a GPU is being reset. Seals and ends it
// on others: there a client's own file may keep them waiting.
#ifndef BASEBAND_SERVER_SHM_GRANT_THREAD_H_
#define BASEBAND_SERVER_SHM_GRANT_THREAD_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/base/steady_condition.h"
#include "server/shm/errands.h"
#include "server/shm/region_table.h"

namespace baseband::server {

// Thread-safe. None of its methods waits for a driver, but the destructor.
class GrantThread {
 public:
  struct Order {
    uint64_t id = 0;
    int fd = -1;  // whose; the thread does not look at either
    std::string client;
    int64_t bytes = 0;
    std::string region;  // of Seal()
    absl::Time until;    // of SteadyNow(); afterwards it is not begun, and nothing is told of it
  };
  struct Made {
    Order order;
    absl::StatusOr<RegionTable::Grant> grant;  // of Seal() an empty one
  };

  // `table` outlives it; `made` runs on the thread when TakeMade() has something.
  GrantThread(RegionTable* table, std::function<void()> made);
  // Waits for what is being made, sealed and ended. What nobody has taken is removed from the
  // table.
  ~GrantThread();
  GrantThread(const GrantThread&) = delete;
  GrantThread& operator=(const GrantThread&) = delete;

  // One after the other, what was freed before goes first. As many wait as there are callers, each
  // of whom has one at a time.
  void Add(Order order);
  // Seals the region of the order, beside all others.
  void Seal(Order order);
  std::vector<Made> TakeMade();
  // Something was removed from the table.
  void Reap();

 private:
  void Run();
  void Tell(Made made) ABSL_LOCKS_EXCLUDED(mutex_);

  RegionTable* const table_;
  const std::function<void()> made_signal_;
  absl::Mutex mutex_;
  SteadyCondition changed_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_removed_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Order> orders_ ABSL_GUARDED_BY(mutex_);
  std::vector<Made> made_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
  Errands errands_;  // last: waited for first
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SHM_GRANT_THREAD_H_
