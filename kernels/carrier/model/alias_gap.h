// How much likelier symbols make a carrier than the next of those that their line leaves open: what
// a frame's own comparison of the two is held against (judge_math.h).
#ifndef BASEBAND_KERNELS_CARRIER_MODEL_ALIAS_GAP_H_
#define BASEBAND_KERNELS_CARRIER_MODEL_ALIAS_GAP_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/base/continue_check.h"
#include "kernels/carrier/constellation.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

// SnrFacts::alias_gap and alias_square of a view's table, to `facts`. What `may_continue` says
// other than OK ends it, within milliseconds.
absl::Status FindAliasGap(const ModelView& view, int table, absl::Span<const Iq> points,
                          const ContinueCheck& may_continue, SnrFacts* facts);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MODEL_ALIAS_GAP_H_
