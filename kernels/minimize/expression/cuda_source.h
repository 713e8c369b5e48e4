// CUDA C++ of an expression, for NVRTC. Host header; needs no CUDA.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_CUDA_SOURCE_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_CUDA_SOURCE_H_

#include <string>

#include "kernels/minimize/expression.h"

namespace baseband::minimize {

// The definition of
//   static __device__ __forceinline__ Real Evaluate(const Real* x, const Real* scalars,
//                                                   const Real* const* arrays)
// and, before it, of functions F<number> if it calls some. x[v] is variable v at the point,
// scalars[s] and arrays[a][i] are as in Names. The translation unit around it has defined Real
// before, as float or double according to `precision`, and begins with kFunctionsText. It needs
// no header, and has to be compiled as C++17 with --fmad=false, without fast-math: then the values
// are those that evaluate_cpu.h promises.
//
// The text is made of the tree alone: no character of it comes from a client. Equal structures
// (Expression::HasStructureOf) give equal texts.
std::string CudaFunction(const Expression& expression, Precision precision);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_CUDA_SOURCE_H_
