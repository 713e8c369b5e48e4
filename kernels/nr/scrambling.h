// Scrambling, TS 38.211 clauses 6.3.1.1 (PUSCH) and 7.3.1.1 (PDSCH): bit i of a code word is sent
// as b(i) + c(i) modulo 2, c being the Gold sequence of clause 5.2.1 that c_init starts.
//
// The placeholders x and y of 6.3.1.1, which stand in place of bits where a code word carries
// uplink control information of one or two bits, are not known here: the receiver of such a code
// word has to undo them itself.
#ifndef BASEBAND_KERNELS_NR_SCRAMBLING_H_
#define BASEBAND_KERNELS_NR_SCRAMBLING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/nr/scrambling_math.h"

namespace baseband::nr {

// c_init of clause 7.3.1.1: rnti in 0 .. 65535, code_word 0 or 1, n_id in 0 .. 1023; and
// of 6.3.1.1, whose only code word is 0.
constexpr uint32_t ScramblingInit(int rnti, int code_word, int n_id) {
  return static_cast<uint32_t>(rnti) << 15 | static_cast<uint32_t>(code_word) << 14 |
         static_cast<uint32_t>(n_id);
}

// Bits c(first), c(first + 1), .. as packed bits; the last byte is filled up with zeros. `bits`
// holds BytesForBits(count) bytes.
void GoldSequence(uint32_t c_init, int64_t first, int64_t count, absl::Span<uint8_t> bits);

// Adds c(first), c(first + 1), .. to bits [begin, begin + count) of `bits`, packed, and leaves the
// others as they are: scrambles or descrambles bits [first, first + count) of a code word.
void ScrambleBits(uint32_t c_init, int64_t first, absl::Span<uint8_t> bits, int64_t begin,
                  int64_t count);

// Turns the sign of llr[i] where c(first + i) is 1; -128 counts as -127. So they are descrambled.
void DescrambleLlrs(uint32_t c_init, int64_t first, absl::Span<int8_t> llr);

// All of these: `first` at least 0, c_init at most kMaxScramblingInit. To begin anywhere costs less
// than a microsecond. SIMD, chosen for this processor at run time. Allocate nothing. Thread-safe.

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_SCRAMBLING_H_
