// What to say, and what to advise, when a server is not reached.
#ifndef BASEBAND_CLIENT_CTL_COMMON_CONNECT_ERRORS_H_
#define BASEBAND_CLIENT_CTL_COMMON_CONNECT_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/ctl/common/session.h"

namespace baseband::ctl {

// The part of gRPC's message that says what went wrong, in plain words where they are known:
// "Connection refused", "the server's certificate is not signed by an authority that is trusted
// here".
std::string ReasonOf(absl::string_view message);

// Unavailable in two lines: what was tried and why it failed, of `message`, which is gRPC's; and
// the flags that may help with that. `otherwise` is the advice where TLS has no part in it.
absl::Status CannotConnect(const GlobalFlags& flags, absl::string_view message,
                           absl::string_view otherwise);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_CONNECT_ERRORS_H_
