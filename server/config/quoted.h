// Names and words that others chose, as refusals and the log tell them.
#ifndef BASEBAND_SERVER_CONFIG_QUOTED_H_
#define BASEBAND_SERVER_CONFIG_QUOTED_H_

#include <string>

#include "absl/strings/string_view.h"

namespace baseband::server {

// 'Like this': printable ASCII that ends where its quote does; of what is long the first 128 bytes,
// and how many there are.
std::string Quoted(absl::string_view text);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_QUOTED_H_
