#include "server/shm/errands.h"

#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace baseband::server {

void RunElsewhere(std::function<void()> work) {
  // One for both: what the work holds must not stay with the thread that began it.
  const auto kept = std::make_shared<std::function<void()>>(std::move(work));
  const auto run = [kept] {
    (*kept)();
    *kept = nullptr;
  };
  try {
    std::thread(run).detach();
  } catch (const std::system_error&) {
    run();
  }
}

struct Errands::Count {
  absl::Mutex mutex;
  int running ABSL_GUARDED_BY(mutex) = 0;

  void Add(int change) ABSL_LOCKS_EXCLUDED(mutex) {
    const absl::MutexLock lock(&mutex);
    running += change;
  }
};

Errands::Errands() : count_(std::make_shared<Count>()) {}

Errands::~Errands() {
  const absl::MutexLock lock(&count_->mutex);
  count_->mutex.Await(absl::Condition(
      +[](Count* count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(count->mutex) { return count->running == 0; },
      count_.get()));
}

void Errands::Run(std::function<void()> errand) {
  count_->Add(1);
  // The count outlives this, which may go as soon as it is 0.
  RunElsewhere([errand = std::move(errand), count = count_]() mutable {
    errand();
    errand = nullptr;
    count->Add(-1);
  });
}

}  // namespace baseband::server
