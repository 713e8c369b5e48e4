// What a bench takes of the processors itself.
#ifndef BASEBAND_TESTS_BENCH_CPU_SECONDS_H_
#define BASEBAND_TESTS_BENCH_CPU_SECONDS_H_

#include <sys/resource.h>
#include <time.h>

#include "absl/time/time.h"

namespace baseband::bench {

// Of all threads of this process since its start.
inline double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return absl::ToDoubleSeconds(absl::DurationFromTimeval(usage.ru_utime) +
                               absl::DurationFromTimeval(usage.ru_stime));
}

// Of the calling thread since its start.
inline double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_CPU_SECONDS_H_
