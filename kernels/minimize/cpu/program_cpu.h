// An expression as a list of instructions for the CPU, with the registers that they work on.
#ifndef BASEBAND_KERNELS_MINIMIZE_CPU_PROGRAM_CPU_H_
#define BASEBAND_KERNELS_MINIMIZE_CPU_PROGRAM_CPU_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/minimize/cpu/kernels_cpu.h"
#include "kernels/minimize/expression.h"

namespace baseband::minimize {

// Where a value lies. Uniform ones are the same for all points, registers hold a block of points.
struct Place {
  enum class Kind : uint8_t { kVariable, kUniform, kRegister, kResult } kind = Kind::kUniform;
  int number = 0;
};

struct Instruction {
  enum class Kind : uint8_t {
    kApply,      // out = op(in ..)
    kLoadIndex,  // out = node.index, uniform
    kLoadElement,
    kBeginSum,  // out = 0, and the sum's index to its begin
    kEndSum,    // index + 1, and back to `target` unless it was the last
  } kind = Kind::kApply;
  Op op = kMove;
  Place out;
  std::array<Place, 3> in;
  int node = -1;  // of the expression
  int target = 0;
};

struct Program {
  std::vector<Instruction> once;       // all that no variable changes, but for bodies of sums
  std::vector<Instruction> per_block;  // ends by writing the result
  std::vector<int> uniforms;           // the node that each holds
  int num_registers = 0;
};

// Registers are given anew as soon as their value has been used for the last time.
Program MakeProgram(const Expression& expression);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_CPU_PROGRAM_CPU_H_
