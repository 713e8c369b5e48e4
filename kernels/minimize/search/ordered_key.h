// Doubles as integers of the same order: what a profile's bins hold.
#ifndef BASEBAND_KERNELS_MINIMIZE_SEARCH_ORDERED_KEY_H_
#define BASEBAND_KERNELS_MINIMIZE_SEARCH_ORDERED_KEY_H_

#include <cstdint>
#include <cstring>

namespace baseband::minimize {

inline constexpr uint64_t kNoKey = ~uint64_t{0};  // above the key of every number

// a < b as doubles (no NaN; 0 is above -0) iff OrderedKey(a) < OrderedKey(b).
inline uint64_t OrderedKey(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits >> 63) != 0 ? ~bits : bits | uint64_t{1} << 63;
}

inline double FromOrderedKey(uint64_t key) {
  const uint64_t bits = (key >> 63) != 0 ? key & ~(uint64_t{1} << 63) : ~key;
  double value = 0.0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SEARCH_ORDERED_KEY_H_
