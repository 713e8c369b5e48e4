// LLRs as clients have them, made the int8 LLRs of kernels/ldpc/decode.h. Positive means 0.
#ifndef BASEBAND_KERNELS_NR_LLR_FORMAT_H_
#define BASEBAND_KERNELS_NR_LLR_FORMAT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/nr/llr_format_math.h"

namespace baseband::nr {

enum class LlrFormat : uint8_t {
  kInt8,     // -128 counts as -127; the scale is not read
  kInt16,    // little endian
  kFloat16,  // IEEE binary16, little endian; an infinity is +-127, a NaN is 0 and is counted
  kPacked6,  // two's complement, four in three octets, the first in the most significant bits
  kPacked4,  // two's complement, two in an octet, the first in the upper half
};

// The bytes of LLRs 0 .. count - 1 of a row.
constexpr int64_t LlrBytes(LlrFormat format, int64_t count) {
  switch (format) {
    case LlrFormat::kInt8:
      return count;
    case LlrFormat::kInt16:
    case LlrFormat::kFloat16:
      return 2 * count;
    case LlrFormat::kPacked6:
      return (6 * count + 7) / 8;
    case LlrFormat::kPacked4:
      return (count + 1) / 2;
  }
  return 0;
}

inline constexpr float kMinLlrFormatScale = 1e-6f;
inline constexpr float kMaxLlrFormatScale = 1e6f;

// Makes int8 LLRs of LLRs first, first + 1, .. of `row`, as many as `llr` takes:
//   llr = round(value * scale), held to +-127, ties to even.
// `scale` is kMinLlrFormatScale .. kMaxLlrFormatScale: the decoder's LLRs for one unit of the
// row's; for natural LLRs (kFloat16) that is its llr_scale. `row` holds LlrBytes bytes, of any
// alignment. Returns how many were NaN. To the bit the same on every processor and device. SIMD,
// chosen for this processor at run time. Allocates nothing. Thread-safe.
int64_t ToInt8LlrsOnCpu(LlrFormat format, float scale, absl::Span<const uint8_t> row, int64_t first,
                        absl::Span<int8_t> llr);

// Where the scale of int16 LLRs is not known, it is chosen from a block's own LLRs:
//   ChosenScale(MagnitudeSumOnCpu(row, first, count), count, MeanLlrFor(qm, code_rate))
// Transmissions that are added up need one scale for all: they name it.
//
// Min-sum itself knows no scale, but integers lose weak LLRs below a half, and all that sets strong
// ones apart above 127, and the decoder's offset wants weak ones of a few units. Of a natural LLR
// of 1, layered min-sum in this library makes best use as 5 with QPSK, 7.5 with 16QAM, and 10 where
// bits differ more in strength (tests/bench/nr_llr_scale.csv). So as many times the mean natural
// |LLR| is aimed at that max-log gives on a channel of white noise where blocks of that rate begin
// to be decoded, from simulations. A channel some dB better or worse loses little.
//
// `qm` as ever; `code_rate`: information bits with CRC over bits sent, K' / E, of the first
// transmission; held to 0.2 .. 0.95.
float MeanLlrFor(int qm, double code_rate);

// The sum of magnitudes of `count` int16 LLRs from `first` on; -32768 counts 32768. As
// ToInt8LlrsOnCpu.
uint64_t MagnitudeSumOnCpu(absl::Span<const uint8_t> row, int64_t first, int64_t count);

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_LLR_FORMAT_H_
