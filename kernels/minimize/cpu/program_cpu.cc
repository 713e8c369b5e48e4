#include "kernels/minimize/cpu/program_cpu.h"

#include <algorithm>

namespace baseband::minimize {
namespace {

class Compiler {
 public:
  explicit Compiler(const Expression& expression)
      : nodes_(expression.nodes()),
        sum_around_(nodes_.size(), -1),
        sums_from_(nodes_.size()),
        released_after_(nodes_.size()),
        place_(nodes_.size()),
        target_(nodes_.size()) {}

  Program Compile() {
    FindSums();
    FindLastUses();
    const int last = static_cast<int>(nodes_.size()) - 1;
    for (int id = 0; id <= last; ++id) {
      for (const int sum : sums_from_[static_cast<size_t>(id)]) BeginSum(sum);
      Compile(id);
    }
    if (place_.back().kind != Place::Kind::kResult) {
      Instruction move;
      move.out.kind = Place::Kind::kResult;
      move.in[0] = place_.back();
      program_.per_block.push_back(move);
    }
    return program_;
  }

 private:
  const Node& At(int id) const { return nodes_[static_cast<size_t>(id)]; }
  Place& PlaceOf(int id) { return place_[static_cast<size_t>(id)]; }

  void FindSums() {
    for (int id = static_cast<int>(nodes_.size()) - 1; id >= 0; --id) {  // outer before inner ones
      if (At(id).op != Op::kSum) continue;
      sums_from_[static_cast<size_t>(At(id).body)].push_back(id);
      for (int inner = At(id).body; inner < id; ++inner) {
        if (At(inner).depth == At(id).depth + 1) sum_around_[static_cast<size_t>(inner)] = id;
      }
    }
  }

  // A value from outside of a sum is needed until the sum is through.
  void FindLastUses() {
    std::vector<int> last_use(nodes_.size(), -1);
    for (int id = 0; id < static_cast<int>(nodes_.size()); ++id) {
      for (const int operand : At(id).operands) {
        if (operand < 0) continue;
        int until = id;
        while (At(until).depth > At(operand).depth) until = sum_around_[static_cast<size_t>(until)];
        int& last = last_use[static_cast<size_t>(operand)];
        last = std::max(last, until);
      }
    }
    for (size_t id = 0; id < nodes_.size(); ++id) {
      if (last_use[id] >= 0) {
        released_after_[static_cast<size_t>(last_use[id])].push_back(static_cast<int>(id));
      }
    }
  }

  // Where the instructions of a node go: what does not vary is computed once, unless it stands in a
  // sum that does.
  std::vector<Instruction>& CodeOf(int id) {
    int outermost = id;
    while (At(outermost).depth > 0) outermost = sum_around_[static_cast<size_t>(outermost)];
    return At(outermost).is_varying ? program_.per_block : program_.once;
  }

  Place NewPlace(int id) {
    Place place;
    if (!At(id).is_varying) {
      place.number = static_cast<int>(program_.uniforms.size());
      program_.uniforms.push_back(id);
      return place;
    }
    place.kind = Place::Kind::kRegister;
    if (free_.empty()) free_.push_back(program_.num_registers++);
    place.number = free_.back();
    free_.pop_back();
    return place;
  }

  void ReleaseAfter(int id) {
    for (const int released : released_after_[static_cast<size_t>(id)]) {
      const Place place = PlaceOf(released);
      if (place.kind == Place::Kind::kRegister) free_.push_back(place.number);
    }
  }

  void BeginSum(int id) {
    PlaceOf(id) = NewPlace(id);
    Instruction begin;
    begin.kind = Instruction::Kind::kBeginSum;
    begin.out = PlaceOf(id);
    begin.node = id;
    CodeOf(id).push_back(begin);
    target_[static_cast<size_t>(id)] = static_cast<int>(CodeOf(id).size());
  }

  void Compile(int id) {
    const Node& node = At(id);
    Instruction instruction;
    instruction.node = id;
    instruction.op = node.op;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (node.operands[i] >= 0) instruction.in[i] = PlaceOf(node.operands[i]);
    }
    switch (node.op) {
      case Op::kVariable:
        PlaceOf(id) = Place{Place::Kind::kVariable, node.number};
        return;
      case Op::kConstant:
      case Op::kScalar:
        PlaceOf(id) = NewPlace(id);
        return;
      case Op::kSum:
        EndSum(id, instruction);
        ReleaseAfter(id);
        return;
      case Op::kIndex:
        instruction.kind = Instruction::Kind::kLoadIndex;
        break;
      case Op::kElement:
        instruction.kind = Instruction::Kind::kLoadElement;
        break;
      default:
        break;
    }
    ReleaseAfter(id);  // the result may take an operand's place
    const bool is_result = id + 1 == static_cast<int>(nodes_.size()) && node.is_varying;
    PlaceOf(id) = is_result ? Place{Place::Kind::kResult, 0} : NewPlace(id);
    instruction.out = PlaceOf(id);
    CodeOf(id).push_back(instruction);
  }

  void EndSum(int id, Instruction add) {
    const bool is_of_products = At(id).operands[1] >= 0;
    add.op = is_of_products ? Op::kMultiplyAdd : Op::kAdd;
    add.in[is_of_products ? 2 : 1] = PlaceOf(id);
    add.out = PlaceOf(id);
    CodeOf(id).push_back(add);
    Instruction end;
    end.kind = Instruction::Kind::kEndSum;
    end.node = id;
    end.target = target_[static_cast<size_t>(id)];
    CodeOf(id).push_back(end);
  }

  const std::vector<Node>& nodes_;
  std::vector<int> sum_around_;                   // the innermost; -1
  std::vector<std::vector<int>> sums_from_;       // sums whose bodies begin at a node
  std::vector<std::vector<int>> released_after_;  // nodes whose values a node is the last to use
  std::vector<Place> place_;
  std::vector<int> target_;  // of sums
  std::vector<int> free_;    // registers
  Program program_;
};

}  // namespace

Program MakeProgram(const Expression& expression) { return Compiler(expression).Compile(); }

}  // namespace baseband::minimize
