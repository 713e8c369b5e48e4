// Files that nvcc compiles, as text for NVRTC: without #include, to be given in this order.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_CUDA_TEXTS_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_CUDA_TEXTS_H_

namespace baseband::minimize {

// trigonometry_constants.h, trigonometry.cuh and remainder.cuh: what expressions call.
extern const char* const kFunctionsText;
// search_kernel.cuh.
extern const char* const kSearchKernelText;

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_CUDA_TEXTS_H_
