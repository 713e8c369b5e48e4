// What the tests of several rooms count with.
#ifndef BASEBAND_TESTS_SUPPORT_CONSTANTS_H_
#define BASEBAND_TESTS_SUPPORT_CONSTANTS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace baseband {

inline constexpr int64_t kMib = int64_t{1} << 20;
inline constexpr double kTwoPi = 6.283185307179586476925286766559;

// Where a clock stands that the test itself moves: not at the epoch, which may mean "never".
inline const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1);

}  // namespace baseband

#endif  // BASEBAND_TESTS_SUPPORT_CONSTANTS_H_
