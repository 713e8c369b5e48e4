// The slow, obvious versions of TS 38.212: the oracle of the tests. Bits are one to a byte, and
// everything follows from the formulas one bit at a time.
#ifndef BASEBAND_KERNELS_NR_REFERENCE_H_
#define BASEBAND_KERNELS_NR_REFERENCE_H_

#include "kernels/ldpc/reference.h"
#include "kernels/nr/crc_math.h"

namespace baseband::nr {

using ldpc::Bits;

// Clause 5.1, by division of polynomials: the parity bits, p_0 first.
Bits ReferenceCrc(Crc crc, const Bits& message);

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_REFERENCE_H_
