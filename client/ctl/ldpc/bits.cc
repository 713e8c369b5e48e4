#include "client/ctl/ldpc/bits.h"

#include <algorithm>
#include <cstring>

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/code_shape.h"

namespace baseband::ctl {
namespace {

using client::PackedBytes;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The bits of byte `index` that belong to the first `bits` bits.
uint8_t Mask(int64_t index, int64_t bits) {
  const int64_t left = bits - 8 * index;
  return static_cast<uint8_t>(left >= 8 ? 0xff : 0xff << (8 - left));
}

uint8_t Difference(absl::string_view a, absl::string_view b, int64_t index, int64_t bits) {
  return static_cast<uint8_t>((a[index] ^ b[index]) & Mask(index, bits));
}

}  // namespace

absl::StatusOr<std::string> FromHex(absl::string_view hex) {
  if (hex.size() % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("an odd number of digits, ", hex.size()));
  }
  std::string bytes(hex.size() / 2, '\0');
  for (size_t i = 0; i < hex.size(); ++i) {
    const int digit = HexDigit(hex[i]);
    if (digit < 0) {
      return absl::InvalidArgumentError(absl::StrCat("digit ", i, " is not one of 0-9a-f"));
    }
    bytes[i / 2] = static_cast<char>(bytes[i / 2] | (i % 2 == 0 ? digit << 4 : digit));
  }
  return bytes;
}

bool PaddingIsZero(absl::string_view bytes, int64_t bits) {
  const int64_t total = static_cast<int64_t>(bytes.size()) * 8;
  for (int64_t bit = bits; bit < total; ++bit) {
    if (GetBit(bytes, bit)) {
      return false;
    }
  }
  return true;
}

int64_t CountBitDifferences(absl::string_view a, absl::string_view b, int64_t bits) {
  int64_t count = 0;
  for (int64_t i = 0; i < PackedBytes(bits); ++i) {
    count += absl::popcount(Difference(a, b, i, bits));
  }
  return count;
}

int64_t FirstDifferingBit(absl::string_view a, absl::string_view b, int64_t bits) {
  for (int64_t i = 0; i < PackedBytes(bits); ++i) {
    if (const uint8_t difference = Difference(a, b, i, bits); difference != 0) {
      return 8 * i + absl::countl_zero(difference);
    }
  }
  return -1;
}

void CopyBits(absl::string_view from, int64_t from_bit, std::string* to, int64_t to_bit,
              int64_t count) {
  if (from_bit % 8 == 0 && to_bit % 8 == 0) {
    const int64_t bytes = count / 8;
    if (bytes > 0) {
      std::memcpy(&(*to)[to_bit / 8], from.data() + from_bit / 8, bytes);
    }
    from_bit += 8 * bytes;
    to_bit += 8 * bytes;
    count -= 8 * bytes;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (GetBit(from, from_bit + i)) {
      char& byte = (*to)[(to_bit + i) / 8];
      byte = static_cast<char>(byte | (0x80 >> ((to_bit + i) % 8)));
    }
  }
}

std::string Segment(absl::string_view data, int64_t block_bits) {
  const int64_t bits = static_cast<int64_t>(data.size()) * 8;
  const int64_t blocks = (bits + block_bits - 1) / block_bits;
  const int64_t block_bytes = PackedBytes(block_bits);
  std::string result(blocks * block_bytes, '\0');
  for (int64_t b = 0; b < blocks; ++b) {
    CopyBits(data, b * block_bits, &result, 8 * b * block_bytes,
             std::min(block_bits, bits - b * block_bits));
  }
  return result;
}

std::string Reassemble(absl::string_view blocks, int64_t block_bits, int64_t size) {
  const int64_t block_bytes = PackedBytes(block_bits);
  std::string result(size, '\0');
  for (int64_t begin = 0; begin < 8 * size; begin += block_bits) {
    CopyBits(blocks, 8 * (begin / block_bits) * block_bytes, &result, begin,
             std::min(block_bits, 8 * size - begin));
  }
  return result;
}

}  // namespace baseband::ctl
