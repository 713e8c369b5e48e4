// Schwefel's function: 418.9828872724339 n - sum over n axes of x sin(sqrt(|x|)). On [-500, 500]
// its minimum, 0 but for the constant's rounding, is at x = 420.968746.. on every axis; the next
// best are far away. The paper's test function (papers/grid-minimisation).
#ifndef BASEBAND_KERNELS_MINIMIZE_SCHWEFEL_H_
#define BASEBAND_KERNELS_MINIMIZE_SCHWEFEL_H_

#include "kernels/minimize/functional.h"

namespace baseband::minimize {

inline constexpr double kSchwefelConstant = 418.9828872724339;

// Of 1 .. kMaxAxes dimensions. Computed from the left, each product fused with its subtraction: as
// the same expression (expression.h) is.
FunctionalPtr MakeSchwefel(int num_axes);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SCHWEFEL_H_
