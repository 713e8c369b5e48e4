// Soft bits as HARQ holds them between transmissions, in 8, 6 or 4 bits each; soft_pack_math.h says
// what becomes of a value.
#ifndef BASEBAND_KERNELS_NR_SOFT_PACK_H_
#define BASEBAND_KERNELS_NR_SOFT_PACK_H_

#include <cstdint>

#include "absl/types/span.h"

namespace baseband::nr {

// Bits of a soft bit that is held.
inline constexpr int kHeldSoftSizes[] = {8, 6, 4};

// What `count` soft bits of `size` bits, one of those, take: a multiple of 16 bytes.
inline int64_t HeldSoftBytes(int size, int64_t count) {
  return ((count + 15) / 16 * (2 * size) + 15) / 16 * 16;
}

// `size` is 6 or 4; `packed` has HeldSoftBytes(size, soft.size()), of which those that hold soft
// bits, sixteen at a time, are written or read. Thread-safe, allocate nothing.
void PackSoftOnCpu(int size, absl::Span<const int8_t> soft, uint8_t* packed);
void UnpackSoftOnCpu(int size, const uint8_t* packed, absl::Span<int8_t> soft);

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_SOFT_PACK_H_
