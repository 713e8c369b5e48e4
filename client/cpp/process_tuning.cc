#include "client/cpp/process_tuning.h"

#include <cstdlib>  // defines __GLIBC__ where there is one

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "absl/synchronization/mutex.h"

namespace baseband::client {

bool ApplyMallocTuning() {
#if defined(__GLIBC__)
  constexpr int kMmapThreshold = 32 << 20;  // the largest value glibc takes
  constexpr int kTrimThreshold = 2047 << 20;
  return mallopt(M_MMAP_THRESHOLD, kMmapThreshold) == 1 &&
         mallopt(M_TRIM_THRESHOLD, kTrimThreshold) == 1;
#else
  return false;
#endif
}

void LockWithoutChecks() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

void QuietGrpcLog() { setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0); }

}  // namespace baseband::client
