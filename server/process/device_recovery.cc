#include "server/process/device_recovery.h"

#include <deque>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "kernels/base/steady_condition.h"

namespace baseband::server {
namespace {

// Of a process that ends, for a reset that is under way.
constexpr absl::Duration kLastPatience = absl::Seconds(2);

}  // namespace

// Outlives the recovery where a reset hangs: the thread in it still comes back here.
struct DeviceRecovery::Shared {
  explicit Shared(DeviceRecoveryOptions o) : options(std::move(o)) {}

  void ForgetOld(std::deque<absl::Time>& times) const {
    while (!times.empty() && times.front() <= options.clock() - absl::Hours(1)) times.pop_front();
  }

  const DeviceRecoveryOptions options;
  mutable absl::Mutex mutex;
  SteadyCondition changed;
  std::deque<Device*> waiting ABSL_GUARDED_BY(mutex);    // the first is being tried
  std::set<const Device*> ended ABSL_GUARDED_BY(mutex);  // of those: their lanes
  std::map<const Device*, std::deque<absl::Time>> resets ABSL_GUARDED_BY(mutex);
  bool stopping ABSL_GUARDED_BY(mutex) = false;
  bool hangs ABSL_GUARDED_BY(mutex) = false;
  std::thread worker;
};

DeviceRecovery::DeviceRecovery(DeviceRecoveryOptions options)
    : shared_(std::make_shared<Shared>(std::move(options))) {
  shared_->worker = std::thread([shared = shared_] { Work(shared); });
}

DeviceRecovery::~DeviceRecovery() { (void)Stop(); }

bool DeviceRecovery::Begin(Device& device, DeviceLoss cause) {
  if (cause != DeviceLoss::kError) return false;
  absl::MutexLock lock(&shared_->mutex);
  std::deque<absl::Time>& resets = shared_->resets[&device];
  shared_->ForgetOld(resets);
  if (shared_->stopping ||
      resets.size() >= static_cast<size_t>(shared_->options.max_resets_per_hour)) {
    return false;
  }
  resets.push_back(shared_->options.clock());
  shared_->ended.erase(&device);
  shared_->waiting.push_back(&device);
  shared_->changed.NotifyAll();
  return true;
}

void DeviceRecovery::LanesEnded(Device& device) {
  absl::MutexLock lock(&shared_->mutex);
  shared_->ended.insert(&device);
  shared_->changed.NotifyAll();
}

bool DeviceRecovery::is_trying() const {
  absl::MutexLock lock(&shared_->mutex);
  return !shared_->waiting.empty() && !shared_->stopping;
}

int DeviceRecovery::CountResets(const Device& device) const {
  absl::MutexLock lock(&shared_->mutex);
  std::deque<absl::Time>& resets = shared_->resets[&device];
  shared_->ForgetOld(resets);
  return static_cast<int>(resets.size());
}

bool DeviceRecovery::Stop() {
  {
    absl::MutexLock lock(&shared_->mutex);
    shared_->stopping = true;
    shared_->changed.NotifyAll();
  }
  if (shared_->worker.joinable()) shared_->worker.join();
  absl::MutexLock lock(&shared_->mutex);
  return !shared_->hangs;
}

void DeviceRecovery::Work(const std::shared_ptr<Shared>& shared) {
  for (;;) {
    Device* device = nullptr;
    {
      absl::MutexLock lock(&shared->mutex);
      shared->changed.AwaitUntil(shared->mutex, absl::InfiniteFuture(),
                                 [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared->mutex) {
                                   return shared->stopping || !shared->waiting.empty();
                                 });
      if (shared->stopping) return;
      device = shared->waiting.front();
    }
    const absl::Time begin = SteadyNow();
    const std::string why = Try(shared, *device);
    {
      absl::MutexLock lock(&shared->mutex);
      if (shared->stopping) return;
      if (!why.empty()) shared->waiting.pop_front();
    }
    if (!why.empty()) {
      shared->options.on_given_up(*device, why);
      continue;
    }
    shared->options.on_back(*device, SteadyNow() - begin);
    // Only now: there is no moment at which it neither serves nor may come back. It may have been
    // lost again meanwhile.
    absl::MutexLock lock(&shared->mutex);
    shared->waiting.pop_front();
  }
}

std::string DeviceRecovery::Try(const std::shared_ptr<Shared>& shared, Device& device) {
  const absl::Duration patience = shared->options.patience;
  {
    absl::MutexLock lock(&shared->mutex);
    const auto is_ready = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared->mutex) {
      return shared->stopping || shared->ended.count(&device) > 0;
    };
    if (!shared->changed.AwaitUntil(shared->mutex, SteadyNow() + patience, is_ready)) {
      return absl::StrCat("what ran on it has not ended within ", absl::FormatDuration(patience));
    }
    if (shared->stopping) return "the process ends";
  }
  const auto result = std::make_shared<absl::optional<absl::Status>>();
  std::thread([shared, result, &device] {
    absl::Status status = shared->options.reset(device);
    absl::MutexLock lock(&shared->mutex);
    *result = std::move(status);
    shared->changed.NotifyAll();
  }).detach();
  absl::MutexLock lock(&shared->mutex);
  const auto has_ended = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared->mutex) {
    return result->has_value();
  };
  shared->changed.AwaitUntil(shared->mutex, SteadyNow() + patience,
                             [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared->mutex) {
                               return has_ended() || shared->stopping;
                             });
  if (shared->stopping) {
    shared->changed.AwaitUntil(shared->mutex, SteadyNow() + kLastPatience, has_ended);
  }
  if (!has_ended()) {
    shared->hangs = true;
    return absl::StrCat("its reset has not ended within ", absl::FormatDuration(patience));
  }
  return (*result)->ok() ? "" : (*result)->ToString();
}

}  // namespace baseband::server
