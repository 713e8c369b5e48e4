#include "server/process/device_supervisor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"

namespace baseband::server {
namespace {

// For other devices to be done with what they have, where a reset concerns them.
constexpr absl::Duration kPausePatience = absl::Seconds(10);
// For memory to be had for the self-test, on a server whose pools are full.
constexpr absl::Duration kMemoryPatience = absl::Seconds(10);
constexpr absl::Duration kMemoryPause = absl::Milliseconds(50);

}  // namespace

DeviceSupervisor::DeviceSupervisor(DeviceSupervisorOptions options, Lifecycle* lifecycle)
    : options_(std::move(options)), lifecycle_(lifecycle), recovery_([this] {
        DeviceRecoveryOptions recovery;
        recovery.max_resets_per_hour = options_.max_resets_per_hour;
        recovery.patience = options_.patience;
        recovery.reset = [this](Device& device) { return Renew(device); };
        recovery.on_back = [this](Device& device, absl::Duration took) { OnBack(device, took); };
        recovery.on_given_up = [this](Device& device, const std::string& why) {
          OnGivenUp(device, why);
        };
        return recovery;
      }()) {}

void DeviceSupervisor::Connect(Dispatcher* dispatcher) {
  absl::MutexLock lock(&mutex_);
  dispatcher_ = dispatcher;
}

void DeviceSupervisor::Tell(std::function<void(bool)> set_serving) {
  absl::MutexLock lock(&mutex_);
  set_serving_ = std::move(set_serving);
  if (!serves_ && set_serving_) set_serving_(false);
}

void DeviceSupervisor::OnLoss(Device& device, DeviceLoss cause, const std::string& why) {
  const bool is_tried = recovery_.Begin(device, cause);
  options_.error(absl::StrCat(
      device.id(), " was lost (", kDeviceLossNames[static_cast<size_t>(cause)], "): ", why,
      is_tried ? absl::StrCat("; it is reset, ", recovery_.CountResets(device), " of ",
                              options_.max_resets_per_hour, " times in an hour")
      : cause == DeviceLoss::kError && options_.max_resets_per_hour > 0
          ? absl::StrCat("; it has been reset ", options_.max_resets_per_hour,
                         " times in the last hour, and that is enough")
          : ""));
  Judge();
}

absl::Status DeviceSupervisor::Renew(Device& device) {
  Dispatcher* dispatcher = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    dispatcher = dispatcher_;
  }
  if (dispatcher == nullptr) return absl::CancelledError("the process ends");
  BASEBAND_RETURN_IF_ERROR(device.Reset([dispatcher](const std::function<absl::Status()>& f) {
    return dispatcher->WhileLanesAreIdle(kPausePatience, f);
  }));
  const absl::Time deadline = SteadyNow() + kMemoryPatience;
  for (;;) {
    const absl::Status status = options_.self_test(device);
    if (!absl::IsResourceExhausted(status) || SteadyNow() > deadline) return status;
    absl::SleepFor(kMemoryPause);
  }
}

void DeviceSupervisor::OnBack(Device& device, absl::Duration took) {
  Dispatcher* dispatcher = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    dispatcher = dispatcher_;
  }
  if (dispatcher == nullptr) return;
  dispatcher->Restore(device);  // answers jobs: not under the lock. Stop waits for this thread
  options_.info(absl::StrCat(device.id(),
                             " was reset, passed its self-test and serves again, after ",
                             absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1)))));
  Judge();
}

void DeviceSupervisor::OnGivenUp(const Device& device, const std::string& why) {
  options_.error(absl::StrCat(device.id(), " does not come back: ", why));
  Judge();
}

void DeviceSupervisor::Judge() {
  absl::MutexLock lock(&mutex_);
  const bool serves = !Serving(options_.devices).empty();
  const bool may_serve = serves || recovery_.is_trying();
  lifecycle_->SetRecovering(!serves && may_serve);
  if (serves != serves_ && set_serving_) set_serving_(serves);
  serves_ = serves;
  if (may_serve || ended_) return;
  ended_ = true;
  lifecycle_->SetNoDevice();
  options_.end_process();
}

bool DeviceSupervisor::Stop() {
  const bool orderly = recovery_.Stop();
  absl::MutexLock lock(&mutex_);
  dispatcher_ = nullptr;
  set_serving_ = nullptr;
  return orderly;
}

}  // namespace baseband::server
