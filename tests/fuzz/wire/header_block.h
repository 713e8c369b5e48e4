// Header blocks of calls, as clients write them and as nobody does.
#ifndef BASEBAND_TESTS_FUZZ_WIRE_HEADER_BLOCK_H_
#define BASEBAND_TESTS_FUZZ_WIRE_HEADER_BLOCK_H_

#include <string>

#include "tests/support/channel.h"

namespace baseband::testing {

// Who a call says that it is.
enum class Caller {
  kNobody,
  kWrong,   // brings a token that nobody holds
  kHolder,  // brings kHoldersToken
};
inline constexpr char kHoldersToken[] = "wire-holder-token";

// What a server takes: all fields in an order that is allowed, in any form of HPACK but Huffman's,
// with or without those that are optional.
std::string ValidHeaders(const std::string& path, Caller caller, Random& random);
// One of those with something wrong: fields left out, twice, out of order, with names and values
// that are none or enormous; indices of nothing, numbers and strings without end, tables of any
// size. At most about 40 KiB.
std::string OddHeaders(const std::string& path, Caller caller, Random& random);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_WIRE_HEADER_BLOCK_H_
