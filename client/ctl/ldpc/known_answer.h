// Known answers: one JSON object a line, made by independent implementations. Three forms, told
// apart by their fields; every field listed must be there, and no other:
//
//   encode, 5G NR   case bg zc ils k n_full info codeword
//   encode, 802.x   case standard rate z n k info codeword
//   decode, 5G NR   group case standard bg zc k k_prime filler n e ebn0_db sigma2 llr_scale
//                   llr_count info llr
//   decode, 802.x   group case standard n k z rate ebn0_db sigma2 llr_scale llr_count info llr
//
// Bits and LLRs are lower-case hex; bits fill bytes from the most significant bit and are filled up
// with zeros; an LLR is one signed byte, round(4 * natural LLR) clipped to +-127.
#ifndef BASEBAND_CLIENT_CTL_LDPC_KNOWN_ANSWER_H_
#define BASEBAND_CLIENT_CTL_LDPC_KNOWN_ANSWER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/code_shape.h"

namespace baseband::ctl {

struct KnownAnswer {
  enum class Kind { kEncode, kDecode };

  Kind kind = Kind::kEncode;
  std::string group;  // empty if the form has none
  int64_t number = 0;
  v1::LdpcCode code;
  client::CodeShape shape;
  int filler = 0;
  std::string info;      // k - filler bits, packed
  std::string codeword;  // kEncode: all columns * zc bits, packed
  // kDecode: LLRs of the first bits that are sent, and the channel they came through.
  std::string llr;
  double sigma2 = 0;
};

// One line. InvalidArgument names the field that is missing, unknown, of the wrong type or length,
// or at odds with the others: whatever the code or another field decides is checked to the last
// digit.
absl::StatusOr<KnownAnswer> ParseKnownAnswer(absl::string_view line);

// Checks the LLRs of a decode case against `codeword`, the bits that are sent for its info:
// fillers are +127, and no LLR is further than 6.5 standard deviations from what its bit and sigma2
// make likely. InvalidArgument names the LLR.
absl::Status CheckLlrs(const KnownAnswer& answer, absl::string_view codeword);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_KNOWN_ANSWER_H_
