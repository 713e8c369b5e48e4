// What a thread allocates and computes, and what the process holds, counted while it happens. For
// programs under AddressSanitizer, whose hooks see every allocation.
#ifndef BASEBAND_TESTS_FUZZ_METER_H_
#define BASEBAND_TESTS_FUZZ_METER_H_

#include <sanitizer/allocator_interface.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace baseband::testing {

// Bytes that were allocated and not freed since InstallMeter.
inline std::atomic<int64_t> live_bytes{0};
// Of them, what this thread allocated and freed, and the most that this ever came to.
inline thread_local int64_t thread_net_bytes = 0;
inline thread_local int64_t thread_peak_bytes = 0;

inline void OnMalloc(const volatile void*, size_t size) {
  const auto bytes = static_cast<int64_t>(size);
  live_bytes.fetch_add(bytes, std::memory_order_relaxed);
  thread_net_bytes += bytes;
  thread_peak_bytes = std::max(thread_peak_bytes, thread_net_bytes);
}
inline void OnFree(const volatile void* memory) {
  if (memory == nullptr) return;
  const auto bytes =
      static_cast<int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(memory)));
  live_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  thread_net_bytes -= bytes;
}

// Once, before anything is measured.
inline void InstallMeter() {
  if (__sanitizer_install_malloc_and_free_hooks(&OnMalloc, &OnFree) == 0) std::abort();
}

// What this thread does from here on. One at a time on a thread.
class Meter {
 public:
  Meter() { Restart(); }
  void Restart() {
    begin_bytes_ = thread_peak_bytes = thread_net_bytes;
    begin_s_ = ThreadSeconds();
  }

  int64_t peak_bytes() const { return thread_peak_bytes - begin_bytes_; }
  // Less what was freed, whoever allocated that.
  int64_t net_bytes() const { return thread_net_bytes - begin_bytes_; }
  double cpu_s() const { return ThreadSeconds() - begin_s_; }

 private:
  static double ThreadSeconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  int64_t begin_bytes_ = 0;
  double begin_s_ = 0.0;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_METER_H_
