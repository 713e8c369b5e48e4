// Known answers of 5G NR shared channels. Internal to known_answer.h, which has their forms.
#ifndef BASEBAND_CLIENT_CTL_LDPC_KNOWN_ANSWER_NR_H_
#define BASEBAND_CLIENT_CTL_LDPC_KNOWN_ANSWER_NR_H_

#include "absl/status/statusor.h"
#include "client/ctl/ldpc/known_answer.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

// `json` is an object with a field `out` or `tx`. As ParseKnownAnswer().
absl::StatusOr<KnownAnswer> ParseNrAnswer(const nlohmann::json& json);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_KNOWN_ANSWER_NR_H_
