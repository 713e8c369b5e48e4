// Brings devices that have faulted back into service, a few times an hour.
//
//   DeviceRecovery recovery(options);
//   ... on_loss:     if (!recovery.Begin(device, cause)) { it is lost for good }
//   ... on_loss_end: recovery.LanesEnded(device);
//   later:           options.on_back(device) or options.on_given_up(device, why)
#ifndef BASEBAND_SERVER_PROCESS_DEVICE_RECOVERY_H_
#define BASEBAND_SERVER_PROCESS_DEVICE_RECOVERY_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kernels/base/steady_time.h"
#include "server/device/device.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

struct DeviceRecoveryOptions {
  int max_resets_per_hour = 4;  // of one device; 0: none ever
  // For the lanes of a lost device to end, and then for its reset and self-test.
  absl::Duration patience = absl::Seconds(30);
  std::function<absl::Time()> clock = &SteadyNow;  // by which an hour is measured
  // Resets `device` and tests it. Called on a thread of its own, for it may never return.
  std::function<absl::Status(Device&)> reset;
  // Called on the recovery's thread, one of them once for each Begin that returned true, unless
  // Stop came before.
  std::function<void(Device&, absl::Duration took)> on_back;
  std::function<void(Device&, const std::string& why)> on_given_up;
};

// Thread-safe.
class DeviceRecovery {
 public:
  explicit DeviceRecovery(DeviceRecoveryOptions options);
  // As Stop; where that is false the process should have ended by now.
  ~DeviceRecovery();
  DeviceRecovery(const DeviceRecovery&) = delete;
  DeviceRecovery& operator=(const DeviceRecovery&) = delete;

  // Whether it is tried to bring `device` back, which was lost just now: it has faulted, not got
  // stuck (a reset waits for what runs) nor been given up by an admin, and not as often in the last
  // hour as it may.
  bool Begin(Device& device, DeviceLoss cause);
  // No lane of it is busy any more.
  void LanesEnded(Device& device);

  // Whether a device may yet come back.
  bool is_trying() const;
  // Of the last hour.
  int CountResets(const Device& device) const;

  // Ends it: nobody comes back any more. False: a reset hangs, and the process must end without
  // destructors.
  bool Stop();

 private:
  struct Shared;
  static void Work(const std::shared_ptr<Shared>& shared);
  // What went wrong; empty if all went well.
  static std::string Try(const std::shared_ptr<Shared>& shared, Device& device);

  const std::shared_ptr<Shared> shared_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_DEVICE_RECOVERY_H_
