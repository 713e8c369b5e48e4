// When the calls of a load are due.
#ifndef BASEBAND_CLIENT_LOAD_ARRIVALS_H_
#define BASEBAND_CLIENT_LOAD_ARRIVALS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace baseband::load {

inline constexpr int kMaxCells = 4096;

struct Pace {
  enum class Kind {
    kClosed,    // no schedule: `in_flight` calls, each answer makes room for the next call
    kConstant,  // `rate` calls a second, evenly spaced
    kPoisson,   // `rate` calls a second on average, at independent instants
    kSlots,  // a call of each of `cells` cells at the beginning of each slot, up to `jitter` late
  };
  Kind kind = Kind::kClosed;
  double rate = 0;
  int in_flight = 8;
  int cells = 1;
  absl::Duration slot = absl::Microseconds(500);
  absl::Duration jitter;

  // Calls a second that are due; 0 for a closed loop.
  double offered() const;
  // InvalidArgument names the field out of its range: rate (0, 10^7], in_flight 1 .. 65536, cells
  // 1 .. kMaxCells, slot 10 us .. 10 s, jitter 0 .. slot.
  absl::Status Check() const;
  // "2000 calls/s, Poisson".
  std::string ToText() const;
};

// One of `parts` sequences that make the schedule of `pace` together. Pure: the same arguments give
// the same sequence. Not for a closed loop. Not thread-safe.
class Arrivals {
 public:
  Arrivals(const Pace& pace, int part, int parts, uint64_t seed);

  // When the next call is due, since the load's begin; never before the one before it.
  absl::Duration Next();

 private:
  void NextSlot();

  const Pace pace_;
  const int part_;
  const int parts_;
  std::mt19937_64 random_;
  int64_t index_ = 0;
  absl::Duration last_;
  std::vector<absl::Duration> slot_;  // what is left of the current slot, latest first
};

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_ARRIVALS_H_
