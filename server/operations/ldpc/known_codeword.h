// A code word that a standard's encoder gives, for the self-tests of Encode and Decode.
#ifndef BASEBAND_SERVER_OPERATIONS_LDPC_KNOWN_CODEWORD_H_
#define BASEBAND_SERVER_OPERATIONS_LDPC_KNOWN_CODEWORD_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/base/hex.h"
#include "kernels/base/status_macros.h"
#include "kernels/ldpc/code.h"

namespace baseband::server {

// TS 38.212, base graph 2, Zc = 10: case 119 of the known answers in tests/vectors/ldpc. Neither
// its information nor its parity ends on a byte.
struct KnownCodeword {
  // Enough that a launch has more than one pair of blocks, and an odd one.
  static constexpr int kCount = 5;

  static absl::StatusOr<KnownCodeword> Make() {
    KnownCodeword known;
    BASEBAND_ASSIGN_OR_RETURN(known.code, ldpc::NrCode(/*base_graph=*/2, /*zc=*/10));
    return known;
  }

  // kCount times, one after the other.
  std::string Info() const { return Repeat(BytesOfHex(kInfo)); }
  std::string Codeword() const { return Repeat(BytesOfHex(kCodeword)); }
  // The received values of the sent bits, sure but for every 16th, which is wrong.
  std::string NoisyLlr() const {
    const std::string codeword = BytesOfHex(kCodeword);
    std::string llr;
    for (int bit = code->n() - code->num_sent(); bit < code->n(); ++bit) {
      const bool one = codeword[static_cast<size_t>(bit / 8)] >> (7 - bit % 8) & 1;
      const bool wrong = bit % 16 == 5;
      llr.push_back(static_cast<char>(one == wrong ? 12 : -12));
    }
    return Repeat(llr);
  }

  ldpc::CodePtr code;

 private:
  static constexpr char kInfo[] = "8365455671e1f63cb9eeb4cc50";
  static constexpr char kCodeword[] =
      "8365455671e1f63cb9eeb4cc50e0ae308b90f61592af061e3b86f87fce5ac779adee0ed6118d5e1ec07e699a768f"
      "6b618a73a86ed99aeed0832c7baa476daa7e1e";

  static std::string Repeat(const std::string& text) {
    std::string result;
    for (int i = 0; i < kCount; ++i) result += text;
    return result;
  }
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_LDPC_KNOWN_CODEWORD_H_
