// Rate matching of one code block on a CPU, TS 38.212 clause 5.4.2, and back: bit selection from
// the circular buffer and interleaving. What goes where is in rate_match_math.h.
#ifndef BASEBAND_KERNELS_NR_RATE_MATCH_H_
#define BASEBAND_KERNELS_NR_RATE_MATCH_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/nr/bit_run.h"
#include "kernels/nr/rate_match_math.h"

namespace baseband::nr {

// Writes f_0 .. f_{e-1} to bits [out_bit, out_bit + e) of `out` and leaves all its other bits as
// they are, those of the bytes where it begins and ends included.
//   buffer  d_0 .. d_{n_cb-1}, packed, most significant bit first; bytes past the last bit that is
//           sent need not be there, and what stands in the place of fillers plays no part
// Runs on the calling thread with SIMD; allocates nothing. Thread-safe for calls whose output has
// no byte in common.
void RateMatchOnCpu(const RateMatch& rate_match, absl::Span<const uint8_t> buffer, uint8_t* out,
                    int64_t out_bit);
// The same, but writes only the bytes of `out` that it fills and returns the bits of the others.
// Thread-safe for calls whose output has no bit in common.
EdgeBits RateMatchInsideOnCpu(const RateMatch& rate_match, absl::Span<const uint8_t> buffer,
                              uint8_t* out, int64_t out_bit);

// The other way round, for LLRs (int8, positive: 0; -128 is read as -127):
//   llr   [e], as received: llr[i] belongs to f_i
//   soft  [n_cb], in and out: the LLRs of d. With `combine`, those of earlier transmissions, to
//         which these are added (HARQ); without, what it holds plays no part, and it is 0 where
//         nothing is received.
// All that is received of one bit, and what was there, are added in whole numbers, and the sum
// clipped once to +-127. Fillers are 0.
// Runs on the calling thread with SIMD. Allocates nothing after a thread's first call.
// Thread-safe.
void RateDematchOnCpu(const RateMatch& rate_match, absl::Span<const int8_t> llr, bool combine,
                      absl::Span<int8_t> soft);

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_RATE_MATCH_H_
