// What a bench, or a server of its, takes of the processors.
#ifndef BASEBAND_TESTS_BENCH_CPU_SECONDS_H_
#define BASEBAND_TESTS_BENCH_CPU_SECONDS_H_

#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#include "absl/time/time.h"
#include "tests/bench/must.h"

namespace baseband::bench {

// Of all threads of this process since its start.
inline double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return absl::ToDoubleSeconds(absl::DurationFromTimeval(usage.ru_utime) +
                               absl::DurationFromTimeval(usage.ru_stime));
}

// Of the process `pid` since its start.
inline double CpuSecondsOf(pid_t pid) {
  clockid_t clock = 0;
  timespec time = {};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    Fail("no processor time of a server");
  }
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Of the calling thread since its start.
inline double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_CPU_SECONDS_H_
