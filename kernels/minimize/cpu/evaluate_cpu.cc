#include "kernels/minimize/cpu/evaluate_cpu.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/work_steps.h"
#include "kernels/minimize/cpu/kernels_cpu.h"
#include "kernels/minimize/cpu/program_cpu.h"
#include "kernels/minimize/expression/functions.h"

namespace baseband::minimize {

// Of Evaluator::State, which has a name outside of this file.
struct FreeAligned {
  void operator()(void* memory) const {
    ::operator delete (memory, std::align_val_t{kVectorBytes});
  }
};

namespace {

// Of a register. Small enough that those of an ordinary expression stay in the first cache.
constexpr size_t kBlockBytes = 2048;

absl::Status CheckCount(absl::string_view what, size_t given, size_t wanted) {
  if (given == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(given, " ", what, ", but the expression has ", wanted));
}

template <typename T>
std::unique_ptr<T[], FreeAligned> NewAligned(size_t count) {
  void* const memory = ::operator new (count * sizeof(T), std::align_val_t{kVectorBytes});
  std::memset(memory, 0, count * sizeof(T));
  return std::unique_ptr<T[], FreeAligned>(static_cast<T*>(memory));
}

int64_t ValueOf(const LinearIndex& index, const std::array<int64_t, kMaxSumDepth>& indices) {
  int64_t value = index.constant;
  for (size_t d = 0; d < kMaxSumDepth; ++d) value += index.coefficients[d] * indices[d];
  return value;
}

}  // namespace

template <typename T>
struct Evaluator<T>::State {
  static constexpr size_t kVector = kVectorBytes / sizeof(T);
  static constexpr size_t kBlock = kBlockBytes / sizeof(T);

  // An instruction with its addresses. What is of a variable or the result moves with the points.
  struct Step {
    Instruction::Kind kind = Instruction::Kind::kApply;
    BlockKernel<T> kernel = nullptr;
    BlockOperands<T> operands;  // those that stay
    std::array<int, 3> variable = {-1, -1, -1};
    bool writes_result = false;
    bool is_uniform = false;
    const Node* node = nullptr;
    int target = 0;
  };

  std::shared_ptr<const Expression> expression;
  std::vector<absl::Span<const T>> arrays;
  std::vector<Step> per_block;
  // Uniforms, registers, then a vector of each variable and of the result for the last points.
  std::unique_ptr<T[], FreeAligned> memory;
  size_t memory_size = 0;
  T* registers = nullptr;
  T* tail = nullptr;
  std::array<int64_t, kMaxSumDepth> indices{};

  T* AddressOf(const Place& place) {
    switch (place.kind) {
      case Place::Kind::kUniform:
        return memory.get() + static_cast<size_t>(place.number) * kVector;
      case Place::Kind::kRegister:
        return registers + static_cast<size_t>(place.number) * kBlock;
      default:
        return nullptr;
    }
  }

  std::vector<Step> StepsOf(const std::vector<Instruction>& instructions) {
    const BlockKernels<T>& kernels = KernelsOfThisProcessor<T>();
    std::vector<Step> steps;
    for (const Instruction& instruction : instructions) {
      Step step;
      step.kind = instruction.kind;
      step.kernel = kernels[static_cast<size_t>(instruction.op)];
      step.operands.out = AddressOf(instruction.out);
      step.writes_result = instruction.out.kind == Place::Kind::kResult;
      step.is_uniform = instruction.out.kind == Place::Kind::kUniform;
      for (size_t i = 0; i < instruction.in.size(); ++i) {
        const Place& place = instruction.in[i];
        step.operands.in[i] = AddressOf(place);
        step.operands.step[i] = place.kind == Place::Kind::kUniform ? 0 : 1;
        if (place.kind == Place::Kind::kVariable) step.variable[i] = place.number;
      }
      if (instruction.node >= 0) {
        step.node = &expression->nodes()[static_cast<size_t>(instruction.node)];
      }
      step.target = instruction.target;
      steps.push_back(step);
    }
    return steps;
  }

  void Allocate(const Program& program) {
    const size_t uniforms = program.uniforms.size() * kVector;
    const size_t blocks = static_cast<size_t>(program.num_registers) * kBlock;
    memory_size = uniforms + blocks + (kMaxVariables + 1) * kVector;
    memory = NewAligned<T>(memory_size);
    registers = memory.get() + uniforms;
    tail = registers + blocks;
  }

  // `variables` and `result` at the first of `count` points, a whole number of vectors.
  void Run(const std::vector<Step>& steps, const std::array<const T*, kMaxVariables>& variables,
           T* result, size_t count) {
    const size_t end = steps.size();
    for (size_t at = 0; at < end; ++at) {
      const Step& step = steps[at];
      T* const out = step.operands.out;
      switch (step.kind) {
        case Instruction::Kind::kApply: {
          BlockOperands<T> operands = step.operands;
          for (size_t i = 0; i < 3; ++i) {
            if (step.variable[i] >= 0) {
              operands.in[i] = variables[static_cast<size_t>(step.variable[i])];
            }
          }
          if (step.writes_result) operands.out = result;
          operands.count = step.is_uniform ? 1 : count;
          step.kernel(operands);
          break;
        }
        case Instruction::Kind::kLoadIndex:
          std::fill_n(out, kVector, static_cast<T>(ValueOf(step.node->index, indices)));
          break;
        case Instruction::Kind::kLoadElement: {
          const auto& array = arrays[static_cast<size_t>(step.node->number)];
          std::fill_n(out, kVector, array[static_cast<size_t>(ValueOf(step.node->index, indices))]);
          break;
        }
        case Instruction::Kind::kBeginSum:
          std::fill_n(out, step.is_uniform ? kVector : count, T{0});
          indices[static_cast<size_t>(step.node->depth)] = step.node->begin;
          break;
        case Instruction::Kind::kEndSum: {
          if (!CountStep()) return;
          int64_t& index = indices[static_cast<size_t>(step.node->depth)];
          if (index++ < step.node->end) at = static_cast<size_t>(step.target) - 1;
          break;
        }
      }
    }
  }
};

template <typename T>
Evaluator<T>::Evaluator(std::unique_ptr<State> state) : state_(std::move(state)) {}
template <typename T>
Evaluator<T>::Evaluator(Evaluator&&) noexcept = default;
template <typename T>
Evaluator<T>& Evaluator<T>::operator=(Evaluator&&) noexcept = default;
template <typename T>
Evaluator<T>::~Evaluator() = default;

template <typename T>
absl::StatusOr<Evaluator<T>> Evaluator<T>::Create(
    const std::shared_ptr<const Expression>& expression, absl::Span<const double> scalars,
    absl::Span<const absl::Span<const T>> arrays) {
  const std::vector<int64_t>& sizes = expression->array_sizes();
  BASEBAND_RETURN_IF_ERROR(
      CheckCount("scalars", scalars.size(), static_cast<size_t>(expression->num_scalars())));
  BASEBAND_RETURN_IF_ERROR(CheckCount("arrays", arrays.size(), sizes.size()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    BASEBAND_RETURN_IF_ERROR(CheckCount(absl::StrCat("elements in arrays[", i, "]"),
                                        arrays[i].size(), static_cast<size_t>(sizes[i])));
  }
  const Program program = MakeProgram(*expression);
  auto state = std::make_unique<State>();
  state->expression = expression;
  state->arrays.assign(arrays.begin(), arrays.end());
  state->Allocate(program);
  for (size_t i = 0; i < program.uniforms.size(); ++i) {
    const Node& node = state->expression->nodes()[static_cast<size_t>(program.uniforms[i])];
    double value = node.constant;
    if (node.op == Op::kScalar) value = scalars[static_cast<size_t>(node.number)];
    std::fill_n(state->memory.get() + i * State::kVector, State::kVector, static_cast<T>(value));
  }
  {
    // Other pieces of the search, which may be wanted, find it in the workspace.
    const WantedScope to_its_end(nullptr);
    state->Run(state->StepsOf(program.once), {}, nullptr, 0);
  }
  state->per_block = state->StepsOf(program.per_block);
  return Evaluator(std::move(state));
}

template <typename T>
void Evaluator<T>::Evaluate(const T* const* variables, int count, T* values) {
  const auto num_variables = static_cast<size_t>(state_->expression->num_variables());
  const auto num_points = static_cast<size_t>(std::max(count, 0));
  const size_t whole = num_points / State::kVector * State::kVector;
  std::array<const T*, kMaxVariables> at{};
  for (size_t i = 0; i < whole; i += State::kBlock) {
    for (size_t v = 0; v < num_variables; ++v) at[v] = variables[v] + i;
    state_->Run(state_->per_block, at, values + i, std::min(State::kBlock, whole - i));
  }
  if (whole == num_points) return;
  // The last points by copies, for there may be no whole vector to read and to write.
  const size_t left = num_points - whole;
  for (size_t v = 0; v < num_variables; ++v) {
    T* const copy = state_->tail + v * State::kVector;
    std::fill_n(std::copy_n(variables[v] + whole, left, copy), State::kVector - left,
                variables[v][whole]);
    at[v] = copy;
  }
  T* const result = state_->tail + kMaxVariables * State::kVector;
  state_->Run(state_->per_block, at, result, State::kVector);
  std::copy_n(result, left, values + whole);
}

template <typename T>
int64_t Evaluator<T>::workspace_bytes() const {
  return static_cast<int64_t>(state_->memory_size * sizeof(T));
}

template class Evaluator<float>;
template class Evaluator<double>;

}  // namespace baseband::minimize
