// LDPC code words whose information bits end in a CRC, and LLRs of them that hold parity checks up.
#ifndef BASEBAND_TESTS_SUPPORT_CRC_WORDS_H_
#define BASEBAND_TESTS_SUPPORT_CRC_WORDS_H_

#include <cstdint>
#include <vector>

#include "kernels/crc/crc.h"
#include "tests/support/ldpc_words.h"

namespace baseband::testing {

// As RandomWord; its last bits before the fillers are the CRC of those before. Fewer than
// k - 24 - 1 fillers.
inline std::vector<uint8_t> RandomCrcWord(const ldpc::Code& code, int num_filler, Crc crc,
                                          Random& random) {
  const int bits = PolynomialOf(crc).bits;
  const int payload = code.k() - num_filler - bits;
  std::vector<uint8_t> message(static_cast<size_t>(code.k()), 0);
  for (int i = 0; i < payload; ++i) message[static_cast<size_t>(i)] = random.Below(2) != 0;
  const uint32_t value = CrcOfBits(crc, PackBits(message).data(), 0, payload);
  for (int i = 0; i < bits; ++i) {
    message[static_cast<size_t>(payload + i)] = static_cast<uint8_t>(value >> (bits - 1 - i) & 1);
  }
  return WordOf(code, num_filler, message);
}

// The LLRs of `word`, all of `magnitude`, but for the last parity bit, of a column in one check
// only, which is wrong and sure: that check never holds.
inline std::vector<int8_t> HeldUpLlr(const ldpc::Code& code, const std::vector<uint8_t>& word,
                                     int magnitude) {
  std::vector<int8_t> llr;
  for (const uint8_t bit : SentBits(code, word)) {
    llr.push_back(static_cast<int8_t>(bit != 0 ? -magnitude : magnitude));
  }
  llr.back() = static_cast<int8_t>(llr.back() < 0 ? 127 : -127);
  return llr;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_CRC_WORDS_H_
