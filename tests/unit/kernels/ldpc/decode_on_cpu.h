// What DecodeOnCpu makes of a block. For the tests of this folder.
#ifndef BASEBAND_TESTS_UNIT_KERNELS_LDPC_DECODE_ON_CPU_H_
#define BASEBAND_TESTS_UNIT_KERNELS_LDPC_DECODE_ON_CPU_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "kernels/ldpc/decode.h"
#include "tests/support/ldpc_words.h"

namespace baseband::ldpc {

using ::baseband::testing::Random;

struct Decoded {
  std::vector<uint8_t> bits;
  std::vector<int8_t> soft;
  DecodeResult result;
};

inline Decoded Decode(const Code& code, const DecodeParameters& parameters, int num_filler,
                      absl::Span<const int8_t> llr) {
  Decoded out;
  out.bits.assign(static_cast<size_t>(DecodedBytes(code, num_filler)), 0xa5);
  out.soft.assign(static_cast<size_t>(code.n()), 0x5a);
  out.result = DecodeOnCpu(code, parameters, num_filler, llr, absl::MakeSpan(out.bits),
                           absl::MakeSpan(out.soft));
  return out;
}

// LLRs of the zero word near what `code` can just decode.
inline std::vector<int8_t> NoisyLlr(const Code& code, Random& random) {
  const std::vector<uint8_t> zeros(static_cast<size_t>(code.num_sent()), 0);
  const double variance = testing::NoiseVariance(2.5, testing::SentRate(code));
  return testing::QuantiseLlr(testing::SendOverAwgn(zeros, variance, random), 4.0);
}

}  // namespace baseband::ldpc

#endif  // BASEBAND_TESTS_UNIT_KERNELS_LDPC_DECODE_ON_CPU_H_
