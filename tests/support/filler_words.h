// LDPC code words that fillers do not belong to, and what a decoder may say of them.
#ifndef BASEBAND_TESTS_SUPPORT_FILLER_WORDS_H_
#define BASEBAND_TESTS_SUPPORT_FILLER_WORDS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tests/support/ldpc_words.h"

namespace baseband::testing {

// The LLRs, all of `magnitude`, of a random word of `code` whose last `num_ones` information bits
// are ones. The code must have an encoding plan.
inline std::vector<int8_t> LlrOfOnes(const ldpc::Code& code, int num_ones, int magnitude,
                                     Random& random) {
  std::vector<uint8_t> message(static_cast<size_t>(code.k()), 1);
  std::generate(message.begin(), message.end() - num_ones,
                [&random] { return static_cast<uint8_t>(random.Below(2)); });
  const std::vector<uint8_t> word = WordOf(code, 0, message);
  std::vector<int8_t> llr;
  for (const uint8_t bit : SentBits(code, word)) {
    llr.push_back(static_cast<int8_t>(bit != 0 ? -magnitude : magnitude));
  }
  return llr;
}

// Whether the decisions `soft`, [n], are the word of the information `bits`, packed, and zeros
// after them. A soft value of 0, which sum-product's are rounded to, tells of no decision.
inline bool IsWordOf(const ldpc::Code& code, int num_filler, absl::Span<const uint8_t> bits,
                     absl::Span<const int8_t> soft) {
  std::vector<uint8_t> message;
  for (int i = 0; i < code.k() - num_filler; ++i) message.push_back(BitAt(bits, i) ? 1 : 0);
  const std::vector<uint8_t> word = WordOf(code, num_filler, message);
  return std::equal(word.begin(), word.end(), soft.begin(), soft.end(),
                    [](uint8_t bit, int8_t llr) { return llr == 0 || (bit != 0) == (llr < 0); });
}

// Whether one of the fillers was decided 1.
inline bool IsAFillerOne(const ldpc::Code& code, int num_filler, absl::Span<const int8_t> soft) {
  return std::any_of(soft.begin() + (code.k() - num_filler), soft.begin() + code.k(),
                     [](int8_t llr) { return llr < 0; });
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_FILLER_WORDS_H_
