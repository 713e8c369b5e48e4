// The operations of expressions on blocks of values, compiled for several instruction sets; the
// best one is chosen at run time. The program that calls them: program_cpu.h.
#ifndef BASEBAND_KERNELS_MINIMIZE_CPU_KERNELS_CPU_H_
#define BASEBAND_KERNELS_MINIMIZE_CPU_KERNELS_CPU_H_

#include <array>
#include <cstddef>

#include "kernels/minimize/expression.h"

namespace baseband::minimize {

// The widest vector of any instruction set here. Blocks are whole ones of these, and an operand
// that is the same for all points is one of these, filled with it.
inline constexpr size_t kVectorBytes = 64;

// out[i] = f(in[0][i], ..) for i < count, rounded up to whole vectors of the processor. `out` may
// be one of the inputs. A condition is a value whose bits are all ones or all zeros.
template <typename T>
struct BlockOperands {
  T* out = nullptr;
  std::array<const T*, 3> in{};
  std::array<size_t, 3> step{};  // 1; 0 for the same vector throughout
  size_t count = 0;
};

template <typename T>
using BlockKernel = void (*)(const BlockOperands<T>& operands);

// By Op. What leaves, sums and kMove (below) have is a copy of the operand.
template <typename T>
using BlockKernels = std::array<BlockKernel<T>, kNumOps>;
inline constexpr Op kMove = Op::kConstant;

// T is float or double.
template <typename T>
const BlockKernels<T>& KernelsOfThisProcessor();

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_CPU_KERNELS_CPU_H_
