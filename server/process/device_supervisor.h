// What the process makes of devices that are lost and come back: health, probes, the log, and its
// own end.
#ifndef BASEBAND_SERVER_PROCESS_DEVICE_SUPERVISOR_H_
#define BASEBAND_SERVER_PROCESS_DEVICE_SUPERVISOR_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/batching/dispatcher.h"
#include "server/device/device.h"
#include "server/process/device_recovery.h"
#include "server/process/lifecycle.h"

namespace baseband::server {

struct DeviceSupervisorOptions {
  std::vector<Device*> devices;
  int max_resets_per_hour = 4;
  absl::Duration patience = absl::Seconds(30);  // see DeviceRecoveryOptions
  // Whether a device that was reset gives right answers. ResourceExhausted: there was no memory to
  // find out, and it is asked again for a while.
  std::function<absl::Status(Device&)> self_test;
  // Called once when no device serves and none will come back; must not wait.
  std::function<void()> end_process = [] {};
  // Called with a line for the log.
  std::function<void(const std::string&)> info = [](const std::string&) {};
  std::function<void(const std::string&)> error = [](const std::string&) {};
};

// A device that has faulted is reset and tested, and serves again; while none serves, but one may
// come back, the process is alive and not ready, and its health is NOT_SERVING. Thread-safe.
class DeviceSupervisor {
 public:
  // `lifecycle` and the devices outlive it.
  DeviceSupervisor(DeviceSupervisorOptions options, Lifecycle* lifecycle);

  // Devices come back to `dispatcher`, until Stop. Before the first loss.
  void Connect(Dispatcher* dispatcher);
  // `set_serving` hears when the last device is lost, now if that has been, and when the first one
  // comes back; until Stop, or until another or none is given. Not after Stop.
  void Tell(std::function<void(bool)> set_serving);

  // As DispatcherOptions has them.
  void OnLoss(Device& device, DeviceLoss cause, const std::string& why);
  void OnLossEnd(Device& device) { recovery_.LanesEnded(device); }

  // No device comes back any more. False: a reset hangs, and the process must end without
  // destructors.
  bool Stop();

 private:
  absl::Status Renew(Device& device);
  void OnBack(Device& device, absl::Duration took);
  void OnGivenUp(const Device& device, const std::string& why);
  // Draws the conclusions from which devices serve, and may.
  void Judge() ABSL_LOCKS_EXCLUDED(mutex_);

  const DeviceSupervisorOptions options_;
  Lifecycle* const lifecycle_;
  absl::Mutex mutex_;
  Dispatcher* dispatcher_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::function<void(bool)> set_serving_ ABSL_GUARDED_BY(mutex_);
  bool serves_ ABSL_GUARDED_BY(mutex_) = true;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  DeviceRecovery recovery_;  // last: its thread uses all of the above
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_DEVICE_SUPERVISOR_H_
