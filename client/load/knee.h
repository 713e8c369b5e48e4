// The highest rate that a server bears.
#ifndef BASEBAND_CLIENT_LOAD_KNEE_H_
#define BASEBAND_CLIENT_LOAD_KNEE_H_

#include <functional>

#include "absl/status/statusor.h"

namespace baseband::load {

// Whether a load of that many calls a second is borne; an error ends the search.
using Bears = std::function<absl::StatusOr<bool>(double rate)>;

// Looks for the highest rate that is borne: doubles or halves from `first_rate` > 0 until one is
// and the next is not, then takes the middle of their logarithms until they are within `precision`
// (0.05: 5 %) of each other. Returns the highest that was borne. NotFound when not even
// first_rate / 1024 is; at first_rate * 1024 (or 10^7) it stops and returns that.
absl::StatusOr<double> FindKnee(double first_rate, double precision, const Bears& bears);

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_KNEE_H_
