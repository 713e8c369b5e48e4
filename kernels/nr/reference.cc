#include "kernels/nr/reference.h"

#include <cstddef>

namespace baseband::nr {
namespace {

// The generators as clause 5.1 writes them: the powers of D that they are the sum of.
std::vector<int> PowersOf(Crc crc) {
  switch (crc) {
    case Crc::kCrc16:
      return {16, 12, 5, 0};
    case Crc::kCrc24A:
      return {24, 23, 18, 17, 14, 11, 10, 7, 6, 5, 4, 3, 1, 0};
    case Crc::kCrc24B:
      return {24, 23, 6, 5, 1, 0};
  }
  return {};
}

}  // namespace

Bits ReferenceCrc(Crc crc, const Bits& message) {
  const std::vector<int> powers = PowersOf(crc);
  const auto length = static_cast<size_t>(powers.front());
  Bits rest = message;
  rest.resize(message.size() + length, 0);
  for (size_t i = 0; i < message.size(); ++i) {
    if (rest[i] == 0) continue;
    for (const int power : powers) {
      rest[i + length - static_cast<size_t>(power)] ^= 1;
    }
  }
  return Bits(rest.end() - static_cast<ptrdiff_t>(length), rest.end());
}

}  // namespace baseband::nr
