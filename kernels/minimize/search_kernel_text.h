// search_kernel.cuh as text, for NVRTC. Internal to minimize/, CUDA builds only.
#ifndef BASEBAND_KERNELS_MINIMIZE_SEARCH_KERNEL_TEXT_H_
#define BASEBAND_KERNELS_MINIMIZE_SEARCH_KERNEL_TEXT_H_

namespace baseband::minimize {

extern const char* const kSearchKernelText;

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SEARCH_KERNEL_TEXT_H_
