// What somebody's mistakes make of right bytes.
#ifndef BASEBAND_TESTS_FUZZ_WIRE_MUTATIONS_H_
#define BASEBAND_TESTS_FUZZ_WIRE_MUTATIONS_H_

#include <string>
#include <vector>

#include "tests/support/channel.h"

namespace baseband::testing {

// One to eight bytes, or runs of them, changed, gone, new, or twice.
std::string MutatedBytes(std::string bytes, Random& random);

// HTTP/2 frames, one to three of them gone, twice, in another order, with another head, or mutated
// inside.
std::string MutatedFrames(std::vector<std::string> frames, Random& random);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_WIRE_MUTATIONS_H_
