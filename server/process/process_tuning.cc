#include "server/process/process_tuning.h"

#include <stdlib.h>
#include <sys/resource.h>

#include <string>

#include "absl/synchronization/mutex.h"
#include "kernels/base/spinning_lock.h"
#include "server/device/device_queues.h"

namespace baseband::server {

void AllowManyDescriptors() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

void AskForDeviceQueues() {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(kDeviceQueues).c_str(), /*overwrite=*/0);
}

void LockWithoutChecks() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  SpinningLock::Allow();
}

}  // namespace baseband::server
