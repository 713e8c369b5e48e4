// Fingerprints of the noisy cases published with the project's known answers. Noise has no
// redundancy: one changed LLR still decodes to the same bits. So these cases are recognised by what
// was sent, and then must have arrived as published.
#ifndef BASEBAND_CLIENT_CTL_LDPC_PUBLISHED_LLRS_H_
#define BASEBAND_CLIENT_CTL_LDPC_PUBLISHED_LLRS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace baseband::ctl {

// `info` are the packed bits sent, `llr` the bytes received. OK for a case that is not among the
// published ones; InvalidArgument for one whose LLRs differ from those published.
absl::Status CheckAgainstPublished(absl::string_view info, absl::string_view llr);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_PUBLISHED_LLRS_H_
