// The slow, obvious encoder and parity check: the oracle of the tests. Bits are one to a byte, and
// everything follows from the definition of a code in code.h.
#ifndef BASEBAND_KERNELS_LDPC_REFERENCE_H_
#define BASEBAND_KERNELS_LDPC_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/ldpc/code.h"

namespace baseband::ldpc {

using Bits = std::vector<uint8_t>;  // each 0 or 1

// The first `count` bits of `bytes`, most significant first, and back; the last byte is filled up
// with zero bits.
Bits UnpackBits(absl::Span<const uint8_t> bytes, int count);
std::vector<uint8_t> PackBits(const Bits& bits);

// H * codeword over GF(2): [parity_bits], zero if the word is one of the code. `codeword` has n
// bits, the punctured ones included.
Bits Syndrome(const Code& code, const Bits& codeword);

// Whether `codeword` is a word of the code.
bool CheckParity(const Code& code, const Bits& codeword);

// The parity of k information bits, by Gaussian elimination of the whole parity part of H: cubic
// in parity_bits. FailedPrecondition if it is singular.
absl::StatusOr<Bits> ReferenceEncode(const Code& code, const Bits& info);

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_REFERENCE_H_
