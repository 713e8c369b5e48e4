// What one connection of a stranger does, step by step; and some that do it side by side.
#ifndef BASEBAND_TESTS_FUZZ_WIRE_SCRIPT_H_
#define BASEBAND_TESTS_FUZZ_WIRE_SCRIPT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/wire/methods.h"

namespace baseband::testing {

struct Step {
  enum class Kind {
    kSend,
    kPause,
    kAwait,        // until the server says something, or for so long
    kStopReading,  // what the server says stays in the socket from now on
    kHalfClose,    // nothing more is said, but listened to
  };
  Kind kind = Kind::kSend;
  std::string bytes;     // kSend
  int milliseconds = 0;  // kPause, kAwait
};

struct Script {
  int source = 1;         // comes from 127.0.1.`source`
  bool to_pages = false;  // to the metrics page instead
  std::vector<Step> steps;
  bool is_reset = false;  // at its end, instead of closed
  // For so long it stays, silent, after its steps.
  int linger_milliseconds = 0;
};

using Sequence = std::vector<Script>;

// The same for the same numbers and methods, whatever came before.
Sequence SequenceOf(uint64_t seed, int64_t number, const std::vector<Method>& methods);

// A line for each step, with the first bytes that it sends.
std::string Describe(const Sequence& sequence);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_WIRE_SCRIPT_H_
