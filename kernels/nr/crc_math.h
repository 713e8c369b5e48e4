// When a decoded code block is right, for host and device.
#ifndef BASEBAND_KERNELS_NR_CRC_MATH_H_
#define BASEBAND_KERNELS_NR_CRC_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/crc/crc_math.h"

namespace baseband::nr {

// The soft bits of a block: how many are not 0, and how many of those say that the bit is a 1.
struct SoftSigns {
  uint32_t known = 0;
  uint32_t ones = 0;
};

// Whether a decoded block is right: `crc` is that of all its bits, its own CRC's included. Zeros
// have a right CRC, and are what a decoder decides where nothing is known; so a block of nothing
// but zeros is right only if something is known of it, and if its parity checks hold, too, or
// fewer than a third of what is known speaks for a 1: of a block of which nothing of use is known
// it is half.
BASEBAND_HOST_DEVICE constexpr bool IsBlockRight(uint32_t crc, bool any_bit, bool parity_ok,
                                                 SoftSigns soft) {
  return crc == 0 && (any_bit || (soft.known > 0 && (parity_ok || 3 * soft.ones < soft.known)));
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_CRC_MATH_H_
