// "Did you mean": the known name that is nearest to a mistyped one.
#ifndef BASEBAND_KERNELS_BASE_NEAREST_H_
#define BASEBAND_KERNELS_BASE_NEAREST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace baseband {

// Letters to insert, to leave out or to replace that lead from one to the other (Levenshtein), case
// and '-' against '_' apart.
size_t EditDistance(absl::string_view a, absl::string_view b);

// The element of `known` with the smallest EditDistance to `name`; the first of several. Empty if
// that changes more than a third of the letters and digits of `name`, or more than one of a short
// name: nobody means what is so far off.
std::string NearName(absl::string_view name, const std::vector<std::string>& known);

// What ends a sentence about an unknown name: "; did you mean `near`?"; empty if `near` is.
std::string DidYouMean(absl::string_view near);

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_NEAREST_H_
