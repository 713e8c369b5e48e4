// Code words made here and not by a server: what tells whether a server's are right.
#ifndef BASEBAND_CLIENT_CTL_LDPC_LOCAL_ENCODER_H_
#define BASEBAND_CLIENT_CTL_LDPC_LOCAL_ENCODER_H_

#include <string>

#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"

namespace baseband::ctl {

// What Encode has to answer to `blocks` blocks of information, packed as a payload has them, with
// the output CODEWORD: the bits that are sent, each block in whole bytes. The last `filler`
// information bits of a block are zeros that `info` does not hold. The first words are proved to
// satisfy every parity check of the code, so that an encoder's mistake is not taken for the truth.
// InvalidArgument: no code, or one that cannot be encoded.
absl::StatusOr<std::string> EncodeHere(const v1::LdpcCode& code, int filler,
                                       const std::string& info, int blocks);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_LOCAL_ENCODER_H_
