// From the best point of a grid to the answer. Internal to minimize/.
#ifndef BASEBAND_KERNELS_MINIMIZE_SEARCH_REFINE_H_
#define BASEBAND_KERNELS_MINIMIZE_SEARCH_REFINE_H_

#include "kernels/minimize/search.h"

namespace baseband::minimize {

// answer->top has a point: fills in what follows of it. A refinement that finds nothing better than
// the grid's point leaves it there. What `may_continue` says other than OK ends it, as
// Search::Finish promises.
absl::Status Refine(const Problem& problem, const ContinueCheck& may_continue, Answer* answer);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SEARCH_REFINE_H_
