// Random words of a code, and what a receiver sees of them.
#ifndef BASEBAND_TESTS_SUPPORT_LDPC_WORDS_H_
#define BASEBAND_TESTS_SUPPORT_LDPC_WORDS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/encode.h"
#include "tests/support/channel.h"

namespace baseband::testing {

inline bool BitAt(absl::Span<const uint8_t> packed, int i) {
  return (packed[i / 8] >> (7 - i % 8) & 1) != 0;
}

// Packs one byte a bit, most significant bit first, the last byte filled up with zero bits.
inline std::vector<uint8_t> PackBits(absl::Span<const uint8_t> bits) {
  std::vector<uint8_t> packed((bits.size() + 7) / 8, 0);
  for (size_t i = 0; i < bits.size(); ++i) {
    if (bits[i] != 0) packed[i / 8] = static_cast<uint8_t>(packed[i / 8] | 0x80 >> i % 8);
  }
  return packed;
}

// The word of `code`, [n], one byte a bit, of these information bits; its last `num_filler` ones
// are zero. The code must have an encoding plan.
inline std::vector<uint8_t> WordOf(const ldpc::Code& code, int num_filler,
                                   absl::Span<const uint8_t> message) {
  std::vector<uint8_t> word(static_cast<size_t>(code.n()), 0);
  const int info_bits = code.k() - num_filler;
  for (int i = 0; i < info_bits; ++i) word[i] = message[i];
  const std::vector<uint8_t> info = PackBits(absl::MakeSpan(word).subspan(0, info_bits));
  std::vector<uint8_t> parity(static_cast<size_t>(code.parity_bits() + 7) / 8);
  ldpc::EncodeOnCpu(code, info, info_bits, absl::MakeSpan(parity));
  for (int i = 0; i < code.parity_bits(); ++i) word[code.k() + i] = BitAt(parity, i) ? 1 : 0;
  return word;
}
// A random one.
inline std::vector<uint8_t> RandomWord(const ldpc::Code& code, int num_filler, Random& random) {
  std::vector<uint8_t> message(static_cast<size_t>(code.k() - num_filler));
  for (uint8_t& bit : message) bit = static_cast<uint8_t>(random.Next() >> 63);
  return WordOf(code, num_filler, message);
}

// The bits of `word` that are transmitted.
inline absl::Span<const uint8_t> SentBits(const ldpc::Code& code, absl::Span<const uint8_t> word) {
  return word.subspan(static_cast<size_t>(code.punctured_columns() * code.zc()));
}

// The default, and others at and between the limits.
inline constexpr ldpc::Scaling kScalings[] = {
    {},
    {0.001f},
    {0.3f},
    {0.5f},
    {0.8f},
    {1.0f},
    {0.7f, 0.3f, 1},
    {0.501f, 0.501f, 1},
    {0.001f, 0.8f, 1},
    {1.0f, 0.8333f, 1},
    {0.6f, 1.0f, 1},
    {0.3f, 1.0f},
};

// Information bits a transmitted bit.
inline double SentRate(const ldpc::Code& code) {
  return static_cast<double>(code.k()) / code.num_sent();
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_LDPC_WORDS_H_
