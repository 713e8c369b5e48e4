// Loops that are unrolled at compile time. Device code.
#ifndef BASEBAND_KERNELS_LDPC_UNROLL_CUH_
#define BASEBAND_KERNELS_LDPC_UNROLL_CUH_

#include <utility>

#include "kernels/base/host_device.h"

namespace baseband::ldpc::device {

// f(0), f(1), .. f(kCount - 1), each argument a compile-time constant.
template <int kValue>
struct Constant {
  BASEBAND_HOST_DEVICE constexpr operator int() const { return kValue; }
};
template <class F, int... kIs>
__device__ __forceinline__ void ForEach(std::integer_sequence<int, kIs...>, F&& f) {
  (f(Constant<kIs>{}), ...);
}
template <int kCount, class F>
__device__ __forceinline__ void Unroll(F&& f) {
  ForEach(std::make_integer_sequence<int, kCount>{}, f);
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_UNROLL_CUH_
