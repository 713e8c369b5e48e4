// What replays of known answers are made of. Internal to replay.h.
#ifndef BASEBAND_CLIENT_CTL_LDPC_REPLAY_CALLS_H_
#define BASEBAND_CLIENT_CTL_LDPC_REPLAY_CALLS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cpp/client.h"
#include "client/ctl/common/session.h"
#include "client/ctl/ldpc/replay.h"

namespace baseband::ctl {

// The part of ReplayAll() that is of 5G NR shared channels. Encode cases: the bits that are sent.
// Decode cases: all transmissions in turn, soft bits sent back and forth; after the last one
// payload and CRCs, after the first whether it decodes by itself. Besides, the LLRs are compared
// with what the server sends of the payload.
void ReplayNr(client::Client* client, const GlobalFlags& flags, const RequestLimits& limits,
              const v1::DecodeGroup& decode, std::vector<ReplayCase>* cases);

namespace replay_internal {

using Cases = absl::Span<ReplayCase* const>;
using Done = std::function<void(absl::Status)>;

// DataLoss names the first bit that differs.
absl::Status CompareBits(absl::string_view what, absl::string_view expected, absl::string_view got,
                         int64_t bits);

// Sends `cases` as one request with `call`, which judges the answer. When a request of several
// cases is refused, sends them one by one, so that only the culprit fails.
using Call = std::function<void(Cases, Done)>;
void RunChunks(const GlobalFlags& flags, const RequestLimits& limits, int64_t case_bytes,
               const Call& call, Cases cases);

}  // namespace replay_internal
}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_REPLAY_CALLS_H_
