// The clock of programs that a test starts, to be set while they run.
#ifndef BASEBAND_TESTS_SUPPORT_SHIFTED_CLOCK_H_
#define BASEBAND_TESTS_SUPPORT_SHIFTED_CLOCK_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/server_process.h"

namespace baseband::testing {

// Programs that start while it lives go by it; see clock_shim.cc.
class ShiftedClock {
 public:
  ShiftedClock() {
    const int fd = mkostemp(path_.data(), O_CLOEXEC);
    EXPECT_EQ(ftruncate(fd, sizeof(*ahead_ns_)), 0);
    void* const mapped =
        mmap(nullptr, sizeof(*ahead_ns_), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    close(fd);
    ahead_ns_ = static_cast<std::atomic<int64_t>*>(mapped);
    setenv("BASEBAND_CLOCK_SHIM", path_.c_str(), 1);
    setenv("LD_PRELOAD", ProgramPath("clock_shim.so").c_str(), 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 0);
  }
  ~ShiftedClock() {
    unsetenv("LD_PRELOAD");
    unsetenv("BASEBAND_CLOCK_SHIM");
    munmap(ahead_ns_, sizeof(*ahead_ns_));
    unlink(path_.c_str());
  }
  ShiftedClock(const ShiftedClock&) = delete;
  ShiftedClock& operator=(const ShiftedClock&) = delete;

  // Sets it so much ahead of the host's.
  void Set(absl::Duration ahead) { ahead_ns_->store(absl::ToInt64Nanoseconds(ahead)); }

 private:
  std::string path_ = "/tmp/baseband_clock_XXXXXX";
  std::atomic<int64_t>* ahead_ns_ = nullptr;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_SHIFTED_CLOCK_H_
