// CRCs of packed bits on a CPU, TS 38.212 clause 5.1; crc_math.h has them as polynomials.
#ifndef BASEBAND_KERNELS_CRC_CRC_H_
#define BASEBAND_KERNELS_CRC_CRC_H_

#include <cstdint>

#include "kernels/crc/crc_math.h"

namespace baseband {

// The CRC of bits [first_bit, first_bit + count) of `bits`, most significant first in each byte;
// count 0 or more. Its highest bit is the one to send first. Reads no byte that holds none of the
// bits. Thread-safe.
uint32_t CrcOfBits(Crc crc, const uint8_t* bits, int64_t first_bit, int64_t count);

// Tables for a device of its own. Entry [i][byte] is the CRC of `byte` with i zero bytes behind it,
// moved up to the top of the word (by 32 - bits), so that all CRCs are computed alike: with
//   w = the next 32 bits ^ the register, register' = [3][w >> 24] ^ [2][w >> 16 & 255] ^ ..
inline constexpr int kCrcTableSlices = 8;
using CrcTable = uint32_t[kCrcTableSlices][256];
const CrcTable& CrcTableOf(Crc crc);

}  // namespace baseband

#endif  // BASEBAND_KERNELS_CRC_CRC_H_
