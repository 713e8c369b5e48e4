// The powers of x modulo a CRC's polynomial, on a GPU. Host header; CUDA builds only.
#ifndef BASEBAND_KERNELS_LDPC_CRC_POWERS_H_
#define BASEBAND_KERNELS_LDPC_CRC_POWERS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/crc/crc_math.h"

namespace baseband::ldpc {

inline constexpr int kCrcPowers = 22 * 384;  // the largest k of NR

// [kCrcPowers]: x^i modulo the polynomial of `crc`. Memory of the current device, that of the
// program's own constants: nobody frees it. Waits for nothing once PrepareDecodeKernels was called.
absl::StatusOr<const uint32_t*> CrcPowersOnDevice(Crc crc);

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_CRC_POWERS_H_
