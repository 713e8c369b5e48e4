// Preloaded into a program, lets a test set that program's clock: CLOCK_REALTIME is ahead of the
// host's by the nanoseconds, an int64, in the file that BASEBAND_CLOCK_SHIM names, which the test
// changes while the program runs. The steady clock stays as it is.
//
// The kernel knows nothing of it. Waits on a futex until a time of CLOCK_REALTIME, Abseil's, are
// made here what they would be after a set: they end when the shifted clock says so. pthread's
// waits by that clock, inside the C library, are not.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr int64_t kSecond = 1000000000;
constexpr int64_t kSlice = 20000000;  // a wait looks at the clock again after so many nanoseconds

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int64_t Offset() {
  static const auto* const offset = [] {
    static const std::atomic<int64_t> none{0};
    const char* const path = std::getenv("BASEBAND_CLOCK_SHIM");
    const int fd = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return &none;
    void* const mapped = mmap(nullptr, sizeof(none), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return mapped == MAP_FAILED ? &none : static_cast<const std::atomic<int64_t>*>(mapped);
  }();
  return offset->load(std::memory_order_relaxed);
}

int64_t ToNs(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }
timespec ToTimespec(int64_t ns) { return {ns / kSecond, ns % kSecond}; }

int64_t Now(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return ToNs(time);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* result) noexcept {
  static const auto real = Next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int error = real(clock, result);
  if (error == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    *result = ToTimespec(ToNs(*result) + Offset());
  }
  return error;
}

int gettimeofday(timeval* __restrict result, void* __restrict) noexcept {
  const int64_t now = Now(CLOCK_REALTIME);
  *result = {now / kSecond, now % kSecond / 1000};
  return 0;
}

time_t time(time_t* result) noexcept {
  const time_t now = Now(CLOCK_REALTIME) / kSecond;
  if (result != nullptr) *result = now;
  return now;
}

long syscall(long number, ...) noexcept {  // NOLINT: its type is the C library's
  static const auto real = Next<long (*)(long, ...)>("syscall");
  va_list list;
  va_start(list, number);
  long argument[6];
  for (long& each : argument) each = va_arg(list, long);
  va_end(list);
  const auto call = [&] {
    return real(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                argument[5]);
  };
  if (number != SYS_futex || argument[3] == 0 ||
      (argument[1] & ~FUTEX_PRIVATE_FLAG) != (FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME)) {
    return call();
  }
  const int64_t deadline = ToNs(*reinterpret_cast<const timespec*>(argument[3]));
  argument[1] &= ~FUTEX_CLOCK_REALTIME;
  for (;;) {
    const int64_t left = std::max<int64_t>(deadline - Now(CLOCK_REALTIME), 0);
    const timespec end = ToTimespec(Now(CLOCK_MONOTONIC) + std::min(left, kSlice));
    argument[3] = reinterpret_cast<long>(&end);
    const long result = call();
    if (result >= 0 || errno != ETIMEDOUT || left == 0) return result;
  }
}

}  // extern "C"
