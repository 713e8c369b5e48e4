// `demo`: a file through Encode, BPSK over white Gaussian noise, and Decode.
#ifndef BASEBAND_CLIENT_CTL_DEMO_DEMO_LDPC_H_
#define BASEBAND_CLIENT_CTL_DEMO_DEMO_LDPC_H_

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "client/ctl/common/session.h"
#include "client/ctl/demo/demo_run.h"

namespace baseband::ctl {

// `decode` with its code. Without an Eb/N0 one at which all should decode; if a block does not, the
// file is sent again at a higher one, a few times. Statuses: those of the calls.
absl::StatusOr<DemoOutcome> RunLdpcDemo(const Session& session, const DemoInput& input,
                                        const v1::DecodeGroup& decode,
                                        const absl::optional<double>& ebn0_db);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DEMO_DEMO_LDPC_H_
