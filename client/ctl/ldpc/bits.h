// Packed bits, as payloads carry them: bit 0 in the most significant bit of the first byte.
#ifndef BASEBAND_CLIENT_CTL_LDPC_BITS_H_
#define BASEBAND_CLIENT_CTL_LDPC_BITS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace baseband::ctl {

inline bool GetBit(absl::string_view bytes, int64_t index) {
  return (static_cast<uint8_t>(bytes[index / 8]) >> (7 - index % 8)) & 1;
}

// Two lower-case digits a byte, and nothing else; InvalidArgument says where it is not so.
absl::StatusOr<std::string> FromHex(absl::string_view hex);

// Whether the bits of `bytes` from number `bits` on are all zero.
bool PaddingIsZero(absl::string_view bytes, int64_t bits);

// How many of the first `bits` bits differ, and the first that does (-1: none). Both operands hold
// that many.
int64_t CountBitDifferences(absl::string_view a, absl::string_view b, int64_t bits);
int64_t FirstDifferingBit(absl::string_view a, absl::string_view b, int64_t bits);

// Copies `count` bits; `to` must hold zeros there. The ranges lie inside the operands.
void CopyBits(absl::string_view from, int64_t from_bit, std::string* to, int64_t to_bit,
              int64_t count);

// Cuts `data` into blocks of `block_bits` bits, each packed into whole bytes; the last is filled up
// with zeros. Empty data makes no block.
std::string Segment(absl::string_view data, int64_t block_bits);

// The first `size` bytes of what Segment() cut: its inverse.
std::string Reassemble(absl::string_view blocks, int64_t block_bits, int64_t size);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_BITS_H_
