// What a benchmark does when something goes wrong: it says so, and ends with exit code 1.
#ifndef BASEBAND_TESTS_BENCH_MUST_H_
#define BASEBAND_TESTS_BENCH_MUST_H_

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace baseband::bench {

[[noreturn]] inline void Fail(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
  std::exit(1);
}

inline void Must(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}
template <typename T>
T Must(absl::StatusOr<T> value) {
  Must(value.status());
  return *std::move(value);
}

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_MUST_H_
