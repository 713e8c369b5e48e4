// Why none of the blocks of a file may have decoded, as far as its LLRs tell.
#ifndef BASEBAND_CLIENT_CTL_LDPC_LLR_CHECK_H_
#define BASEBAND_CLIENT_CTL_LDPC_LLR_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace baseband::ctl {

// What the LLRs are told to be.
struct LlrBlocks {
  int64_t llrs_per_block = 0;    // > 0
  int64_t information_bits = 0;  // of a block, fillers apart
  int64_t fillers = 0;
  double llr_scale = 4;  // LLR units per natural LLR
};

// A sentence about `llrs`, whole blocks of signed bytes none of which decoded:
//   - they are text, or numbers of another type, where nearly all are what such numbers are and
//     bytes hardly ever are: float32, float64, int16;
//   - all are 0;
//   - by their own magnitudes so many bits are right that the code could correct the others by far:
//     then it is another code, or another order or sign of the bits, or the magnitudes say too
//     much, and the sentence names all of these;
//   - by the same they tell less than the information: too much noise for this code.
// Empty where nothing of that is so, as of most noise: LLRs do not say what they were meant to be.
std::string WhyNoneDecoded(absl::string_view llrs, const LlrBlocks& blocks);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_LLR_CHECK_H_
