// Whether options make sense. Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_CLIENT_OPTIONS_H_
#define BASEBAND_CLIENT_CPP_CLIENT_OPTIONS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cpp/client.h"

namespace baseband::client {

// InvalidArgument: `option` `value` is not in [low, high].
absl::Status CheckRange(absl::string_view option, int64_t value, int64_t low, int64_t high);

// Whether `text` is printable ASCII without blanks, as metadata may have it; empty is.
bool IsToken(absl::string_view text);

// InvalidArgument names the option that is out of range, or does not go with another.
absl::Status CheckOptions(const ClientOptions& options);

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_CLIENT_OPTIONS_H_
