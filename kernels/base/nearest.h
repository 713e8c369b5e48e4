// "Did you mean": the known name that is nearest to a mistyped one.
#ifndef BASEBAND_KERNELS_BASE_NEAREST_H_
#define BASEBAND_KERNELS_BASE_NEAREST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace baseband {

// The element of `known` (not empty) with the smallest edit distance to `name`, case and '-'
// against
// '_' apart; the first of several.
std::string NearestName(absl::string_view name, const std::vector<std::string>& known);

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_NEAREST_H_
