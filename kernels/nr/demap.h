// Demapping: from equalised symbols to the LLRs of their bits, for the constellations of
// TS 38.211 clause 5.1.
#ifndef BASEBAND_KERNELS_NR_DEMAP_H_
#define BASEBAND_KERNELS_NR_DEMAP_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/nr/demap_math.h"
#include "kernels/nr/symbols.h"

namespace baseband::nr {

// Where the noise variance N0 of a symbol y = x + n is found: N0 = E|n|^2, of both parts together,
// where x has unit mean energy, that is, after the symbol's values were divided by
// SymbolLayout::scale.
enum class NoiseFormat : uint8_t {
  kOne,      // DemapParameters::noise_variance for all
  kFloat32,  // one a symbol, in a buffer laid out as the symbols are, little endian
  kFloat16,
};

inline constexpr float kMinLlrScale = 1.0f / 1024.0f;
inline constexpr float kMaxLlrScale = 1024.0f;
// With which layered min-sum loses least over all modulations and code rates, see MeanLlrFor.
inline constexpr float kGoodLlrScale = 6.0f;

struct DemapParameters {
  int qm = 2;  // 1, 2, 4, 6, 8 or 10
  SymbolLayout layout;
  NoiseFormat noise_format = NoiseFormat::kOne;
  float noise_variance = 1.0f;      // read only for kOne
  float llr_scale = kGoodLlrScale;  // kMinLlrScale .. kMaxLlrScale
  // false: max-log, that is, of either sum of the LLR the largest term: exactly that, for every
  // bit. true: the sums.
  bool log_sum = false;
};

constexpr int BytesPerVariance(NoiseFormat format) {
  return format == NoiseFormat::kFloat32 ? 4 : format == NoiseFormat::kFloat16 ? 2 : 0;
}

// The numbers of `parameters` as the kernels use them.
DemapScale MakeDemapScale(const DemapParameters& parameters);

// Demaps symbols [first, first + count) of a code word on the calling thread.
//   symbols  the buffer of the whole code word, of any alignment; only symbols of the range are
//   read noise    the same of variances; empty for NoiseFormat::kOne llr      [count * qm]: in the
//   order of the bits,
//              llr = round(llr_scale * ln(P(bit = 0) / P(bit = 1)))
//            held to +-127, ties to even
// Returns how many symbols cannot be used: those with a part that is NaN or infinite or with a
// variance that is not finite or not above zero. Their LLRs are zero; whoever must not guess
// refuses the code word when any were found. A variance as small as there are is none of them: it
// makes LLRs +-127.
//
// To the bit the same on every processor and device: demap_math.h says what is computed. Before it
// is rounded, an LLR is the formula's within
//   2^-20 (4 llr_scale unit^2 / N0) (M / 2) (|t| + M),
// t being its part of y in units, M the levels of an axis; with log_sum within 1e-4 llr_scale
// more, and where max-log is beyond 80 llr_scale, it is that.
// SIMD, chosen for this processor at run time. Allocates nothing. Thread-safe.
int64_t DemapOnCpu(const DemapParameters& parameters, absl::Span<const uint8_t> symbols,
                   absl::Span<const uint8_t> noise, int64_t first, int64_t count,
                   absl::Span<int8_t> llr);

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_DEMAP_H_
