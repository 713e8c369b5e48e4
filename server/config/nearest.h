// "Did you mean": the known name that is nearest to a mistyped one.
#ifndef BASEBAND_SERVER_CONFIG_NEAREST_H_
#define BASEBAND_SERVER_CONFIG_NEAREST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace baseband::server {

// The element of `known` (not empty) with the smallest edit distance to `name`, case and '-'
// against
// '_' apart.
std::string NearestName(absl::string_view name, const std::vector<std::string>& known);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_NEAREST_H_
