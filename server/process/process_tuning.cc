#include "server/process/process_tuning.h"

#include <malloc.h>
#include <sys/resource.h>

#include "absl/synchronization/mutex.h"

namespace baseband::server {

void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 2047 << 20);
}

void AllowManyDescriptors() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

void LockWithoutChecks() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

}  // namespace baseband::server
