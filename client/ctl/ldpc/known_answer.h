// Known answers: one JSON object a line, made by independent implementations. Seven forms, told
// apart by their fields; every field listed must be there, and no other:
//
//   encode, 5G NR   case bg zc ils k n_full info codeword
//   encode, 802.x   case standard rate z n k info codeword
//   decode, 5G NR   group case standard bg zc k k_prime filler n e ebn0_db sigma2 llr_scale
//                   llr_count info llr
//   decode, 802.x   group case standard n k z rate ebn0_db sigma2 llr_scale llr_count info llr
//
//   code block      case bg zc k filler k_prime rv qm n nref ncb k0 e info out
//   transport block case a r_x1024 bg rv qm layers tbs_lbrm nref g tb_crc_bits b c kb zc k k_prime
//                   filler n ncb k0 e tb cbs out
//   its decoding    case a r_x1024 bg qm layers tbs_lbrm nref g c zc k k_prime filler n ncb e
//   snr_db
//                   llr_scale tb tx decodes_after_first_tx
//
// Bits and LLRs are lower-case hex; bits fill bytes from the most significant bit and are filled up
// with zeros; an LLR is one signed byte, round(4 * natural LLR) clipped to +-127.
#ifndef BASEBAND_CLIENT_CTL_LDPC_KNOWN_ANSWER_H_
#define BASEBAND_CLIENT_CTL_LDPC_KNOWN_ANSWER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/code_shape.h"

namespace baseband::ctl {

struct KnownAnswer {
  enum class Kind { kEncode, kDecode, kSharedEncode, kSharedDecode };

  Kind kind = Kind::kEncode;
  std::string group;  // empty if the form has none
  int64_t number = 0;
  v1::LdpcCode code;
  client::CodeShape shape;
  int filler = 0;
  std::string info;      // k - filler bits, packed; of a transport block all of it
  std::string codeword;  // kEncode: all columns * zc bits, packed
  // kDecode: LLRs of the first bits that are sent, and the channel they came through.
  std::string llr;
  double sigma2 = 0;  // kSharedDecode, too

  // 5G NR shared channels. The block with the redundancy version of its first transmission.
  v1::SharedChannelBlock block;
  int64_t coded_bits = 0;  // that are sent, each time
  std::string sent;        // kSharedEncode: those bits, packed
  struct Transmission {
    uint32_t rv = 0;
    std::string llr;  // as received
  };
  std::vector<Transmission> transmissions;  // kSharedDecode: to be combined, which decodes
  int64_t soft_bytes = 0;                   // what a receiver keeps in between
  // Whether the first one decodes by itself.
  bool first_decodes = true;

  bool is_shared() const { return kind == Kind::kSharedEncode || kind == Kind::kSharedDecode; }
};

// One line. InvalidArgument names the field that is missing, unknown, of the wrong type or length,
// or at odds with the others: whatever the code or another field decides is checked to the last
// digit.
absl::StatusOr<KnownAnswer> ParseKnownAnswer(absl::string_view line);

// Checks LLR number `index` of a bit that was sent over a channel of noise variance sigma2: it is
// no further than 6.5 standard deviations from what these make likely. InvalidArgument names the
// LLR.
absl::Status CheckLlr(int index, int llr, bool bit, double sigma2);

// Checks the LLRs of a decode case against `codeword`, the bits that are sent for its info:
// fillers are +127, the others as CheckLlr() has it.
absl::Status CheckLlrs(const KnownAnswer& answer, absl::string_view codeword);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_KNOWN_ANSWER_H_
