// Known answers against a server, many to a request, judged one by one.
#ifndef BASEBAND_CLIENT_CTL_LDPC_REPLAY_H_
#define BASEBAND_CLIENT_CTL_LDPC_REPLAY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cpp/client.h"
#include "client/ctl/common/session.h"
#include "client/ctl/ldpc/known_answer.h"

namespace baseband::ctl {

struct ReplayCase {
  std::string where;    // "FILE:LINE"
  absl::Status status;  // OK: passed, or not replayed yet
  KnownAnswer answer;   // if the status was OK before the replay
};

// Replays all cases whose status is OK and writes what went wrong into it. Encode cases: the whole
// code word is compared. Decode cases: the information bits and the parity status; `decode` says
// with which decoder (its code, count and filler are ignored). Besides, the LLRs are compared with
// the code word that the server's Encode makes of the information bits. Cases of shared channels
// likewise, through EncodeSharedChannel and DecodeSharedChannel, of whose decoder `decode` says how
// many iterations and which scale factor.
void ReplayAll(client::Client* client, const GlobalFlags& flags, const RequestLimits& limits,
               const v1::DecodeGroup& decode, std::vector<ReplayCase>* cases);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_REPLAY_H_
