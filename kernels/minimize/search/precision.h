// The arithmetic that a grid is searched in.
#ifndef BASEBAND_KERNELS_MINIMIZE_SEARCH_PRECISION_H_
#define BASEBAND_KERNELS_MINIMIZE_SEARCH_PRECISION_H_

namespace baseband::minimize {

enum class Precision { kFloat32, kFloat64 };

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SEARCH_PRECISION_H_
