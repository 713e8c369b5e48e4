// What requests may cost for each byte that came, measured. The bounds are for the sanitizers'
// builds, where code is five to twenty times slower; what they are to catch is a thousand times
// beyond them.
#ifndef BASEBAND_TESTS_FUZZ_BOUNDS_H_
#define BASEBAND_TESTS_FUZZ_BOUNDS_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "absl/status/status.h"
#include "kernels/base/continue_check.h"
#include "tests/fuzz/meter.h"

namespace baseband::testing {

struct Bounds {
  int64_t bytes = 0;  // beside those for each byte that came
  int64_t bytes_per_byte = 0;
  double seconds = 0.0;
  double seconds_per_byte = 0.0;
};

// On a thread that serves gRPC. The smallest group takes 4 bytes on the wire, and as a message and
// as what becomes of it about 1 KiB.
inline constexpr Bounds kOnCallThread = {int64_t{1} << 20, 512, 0.2, 20e-6};
// On the slow path, between two questions: the largest table of a model is 25 MB, made of as much
// again.
inline constexpr Bounds kInSlice = {int64_t{64} << 20, 512, 0.3, 2e-6};
// From a job's end to its reply.
inline constexpr Bounds kForReply = {int64_t{1} << 20, 512, 0.2, 20e-6};

inline void CheckBounds(const Meter& meter, const Bounds& bounds, int64_t bytes,
                        const char* where) {
  const double seconds = meter.cpu_s();
  const int64_t most_bytes = bounds.bytes + bounds.bytes_per_byte * bytes;
  const double most_seconds = bounds.seconds + bounds.seconds_per_byte * static_cast<double>(bytes);
  if (meter.peak_bytes() <= most_bytes && seconds <= most_seconds) return;
  std::fprintf(stderr, "%s: %lld bytes (at most %lld), %.3f s of a core (at most %.3f) for %lld\n",
               where, static_cast<long long>(meter.peak_bytes()),
               static_cast<long long>(most_bytes), seconds, most_seconds,
               static_cast<long long>(bytes));
  std::abort();
}

// A piece of work on the slow path: every slice of it is held against kInSlice, and once it was
// told to end it asks no more.
class Slices {
 public:
  // `check` is asked in turn.
  Slices(ContinueCheck check, int64_t bytes) : check_(std::move(check)), bytes_(bytes) {}
  ~Slices() { CheckBounds(meter_, kInSlice, bytes_, "the last slice"); }
  Slices(const Slices&) = delete;
  Slices& operator=(const Slices&) = delete;

  ContinueCheck check() {
    return [this] {
      CheckBounds(meter_, kInSlice, bytes_, "a slice");
      if (!end_.ok()) {
        std::fprintf(stderr, "asked again after: %s\n", end_.ToString().c_str());
        std::abort();
      }
      end_ = check_();
      meter_.Restart();
      return end_;
    };
  }

 private:
  const ContinueCheck check_;
  const int64_t bytes_;
  absl::Status end_;
  Meter meter_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_BOUNDS_H_
