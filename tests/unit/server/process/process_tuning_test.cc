#include "server/process/process_tuning.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

#include "absl/synchronization/mutex.h"

namespace baseband::server {
namespace {

// In both orders, by one thread: no deadlock, but what Debian's Abseil ends a process for.
void LockInBothOrders() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  absl::Mutex first;
  absl::Mutex second;
  for (absl::Mutex* const outer : {&first, &second}) {
    absl::Mutex* const inner = outer == &first ? &second : &first;
    outer->Lock();
    inner->Lock();
    inner->Unlock();
    outer->Unlock();
  }
}

TEST(ProcessTuningTest, NoLockIsCheckedForDeadlocks) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer looks for them itself";
#endif
  EXPECT_EXIT(
      {
        LockWithoutChecks();
        LockInBothOrders();
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "^$");
}

TEST(ProcessTuningTest, AsManyDescriptorsAsThereMayBe) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit few = {files.rlim_max / 2, files.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  AllowManyDescriptors();
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(files.rlim_cur, files.rlim_max);
}

}  // namespace
}  // namespace baseband::server
