#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "kernels/base/status_macros.h"
#include "kernels/ldpc/circulant.h"
#include "kernels/ldpc/encode.h"
#include "kernels/ldpc/encode_program.h"

namespace baseband::ldpc {
namespace {

// A sum of rotated sources in which equal terms cancel.
class TermSum {
 public:
  explicit TermSum(int zc) : zc_(zc) {}

  void Add(bool is_parity, int index, int shift) {
    const auto key = std::make_tuple(is_parity, index, (shift % zc_ + zc_) % zc_);
    if (!terms_.insert(key).second) {
      terms_.erase(key);
    }
  }
  size_t size() const { return terms_.size(); }

  std::vector<EncodePlan::Term> ToTerms() const {
    std::vector<EncodePlan::Term> terms;
    for (const auto& [is_parity, index, shift] : terms_) {
      EncodePlan::Term term;
      term.is_parity = is_parity;
      term.index = static_cast<uint16_t>(index);
      term.shift = static_cast<uint16_t>(shift);
      terms.push_back(term);
    }
    return terms;
  }

 private:
  int zc_;
  std::set<std::tuple<bool, int, int>> terms_;
};

absl::Status Singular() {
  return absl::FailedPreconditionError(
      "the code cannot be encoded: its parity part has no inverse over GF(2)");
}

// Solves H * c = 0 for the parity groups. `column` below is a parity group, 0 .. rows - 1.
class Solver {
 public:
  Solver(const Code& code, const ContinueCheck& may_continue)
      : code_(code),
        may_continue_(may_continue),
        parity_(static_cast<size_t>(code.rows())),
        solved_(parity_.size(), false),
        level_(parity_.size(), 0) {
    for (const Edge& edge : code.edges()) {
      if (edge.column >= code.kb()) {
        parity_[edge.row].push_back({edge.column - code.kb(), edge.shift});
      }
    }
  }

  absl::StatusOr<std::vector<EncodePlan::Step>> Run() {
    PeelExtension();
    while (num_core_solved_ < core_rows_.size()) {
      if (!SolveSingleUnknowns() && !SolveSumOfRows()) {
        BASEBAND_RETURN_IF_ERROR(SolveByInverse());
      }
    }
    for (auto last = peeled_.rbegin(); last != peeled_.rend(); ++last) {
      SolveFromRow(last->first, last->second);
    }
    return std::move(steps_);
  }

 private:
  struct Block {
    int column;
    int shift;
  };

  // Sets aside, again and again, a row with a parity column that no other row has: such a column
  // is computed last, from that row. The other rows are the core.
  void PeelExtension() {
    const size_t num = parity_.size();
    std::vector<int> degree(num, 0);
    for (const std::vector<Block>& row : parity_) {
      for (const Block& block : row) {
        ++degree[static_cast<size_t>(block.column)];
      }
    }
    std::vector<bool> is_peeled(num, false);
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t r = 0; r < num; ++r) {
        const auto alone = std::find_if(
            parity_[r].begin(), parity_[r].end(),
            [&](const Block& block) { return degree[static_cast<size_t>(block.column)] == 1; });
        if (is_peeled[r] || alone == parity_[r].end()) {
          continue;
        }
        for (const Block& block : parity_[r]) {
          --degree[static_cast<size_t>(block.column)];
        }
        is_peeled[r] = true;
        peeled_.emplace_back(static_cast<int>(r), alone->column);
        progress = true;
      }
    }
    for (size_t r = 0; r < num; ++r) {
      if (!is_peeled[r]) {
        core_rows_.push_back(static_cast<int>(r));
      }
    }
  }

  int CountUnknowns(int row) const {
    return static_cast<int>(std::count_if(RowBlocks(row).begin(), RowBlocks(row).end(),
                                          [&](const Block& b) { return !IsSolved(b.column); }));
  }

  // One round over the core's rows with a single unknown each. All of a round see the same
  // columns as solved, so that their steps do not wait for each other.
  bool SolveSingleUnknowns() {
    std::vector<std::pair<int, int>> found;
    for (const int row : core_rows_) {
      if (CountUnknowns(row) == 1) {
        for (const Block& block : RowBlocks(row)) {
          if (!IsSolved(block.column)) {
            found.emplace_back(row, block.column);
          }
        }
      }
    }
    const size_t before = num_core_solved_;
    for (const auto& [row, column] : found) {
      if (!IsSolved(column)) {  // Two rows may have led to the same column.
        SolveFromRow(row, column);
        ++num_core_solved_;
      }
    }
    return num_core_solved_ > before;
  }

  // The closed form of dual-diagonal matrices: in the sum of all rows with unknowns, all blocks
  // of unknown columns cancel but for one.
  bool SolveSumOfRows() {
    TermSum unknowns(code_.zc());
    TermSum rest(code_.zc());
    for (const int row : core_rows_) {
      if (CountUnknowns(row) == 0) {
        continue;
      }
      rest.Add(false, row, 0);
      for (const Block& block : RowBlocks(row)) {
        (IsSolved(block.column) ? rest : unknowns).Add(true, block.column, block.shift);
      }
    }
    if (unknowns.size() != 1) {
      return false;
    }
    const EncodePlan::Term unknown = unknowns.ToTerms()[0];
    TermSum sum(code_.zc());
    for (const EncodePlan::Term& term : rest.ToTerms()) {
      sum.Add(term.is_parity, term.index, term.shift - unknown.shift);
    }
    AddStep(unknown.index, sum);
    ++num_core_solved_;
    return true;
  }

  // What remains, exactly: every unknown is a sum of the right-hand sides of the rows with
  // unknowns, weighted with the inverse of the matrix they form.
  absl::Status SolveByInverse() {
    std::vector<int> rows;
    std::set<int> columns;
    for (const int row : core_rows_) {
      if (CountUnknowns(row) > 0) {
        rows.push_back(row);
      }
      for (const Block& block : RowBlocks(row)) {
        if (!IsSolved(block.column)) {
          columns.insert(block.column);
        }
      }
    }
    if (columns.size() != core_rows_.size() - num_core_solved_) {
      return Singular();  // An unknown column has no block left in the core.
    }
    const std::vector<int> unknowns(columns.begin(), columns.end());
    CirculantMatrix matrix(rows.size(), std::vector<Polynomial>(unknowns.size(), Polynomial{}));
    for (size_t r = 0; r < rows.size(); ++r) {
      for (const Block& block : RowBlocks(rows[r])) {
        if (!IsSolved(block.column)) {
          const auto at = std::lower_bound(unknowns.begin(), unknowns.end(), block.column);
          matrix[r][static_cast<size_t>(at - unknowns.begin())] = Monomial(block.shift);
        }
      }
    }
    BASEBAND_ASSIGN_OR_RETURN(const absl::optional<CirculantMatrix> inverse,
                              LeftInverse(std::move(matrix), code_.zc(), may_continue_));
    if (!inverse) {
      return Singular();
    }
    BASEBAND_RETURN_IF_ERROR(CheckDensity(*inverse, rows));
    std::vector<TermSum> sums(unknowns.size(), TermSum(code_.zc()));
    for (size_t u = 0; u < unknowns.size(); ++u) {
      BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue_));
      for (size_t r = 0; r < rows.size(); ++r) {
        for (const int by : Exponents((*inverse)[u][r])) {
          sums[u].Add(false, rows[r], by);
          for (const Block& block : RowBlocks(rows[r])) {
            if (IsSolved(block.column)) {
              sums[u].Add(true, block.column, block.shift + by);
            }
          }
        }
      }
    }
    for (size_t u = 0; u < unknowns.size(); ++u) {
      AddStep(unknowns[u], sums[u]);
      ++num_core_solved_;
    }
    return absl::OkStatus();
  }

  absl::Status CheckDensity(const CirculantMatrix& inverse, const std::vector<int>& rows) const {
    int64_t num_terms = 0;
    for (const std::vector<Polynomial>& line : inverse) {
      for (size_t r = 0; r < rows.size(); ++r) {
        const int known = static_cast<int>(RowBlocks(rows[r]).size()) - CountUnknowns(rows[r]);
        num_terms += int64_t{Weight(line[r])} * (1 + known);
      }
    }
    if (num_terms > EncodePlan::kMaxTerms) {
      return absl::FailedPreconditionError(
          absl::StrCat("the code cannot be encoded: the inverse of its parity part needs ",
                       num_terms, " terms, more than ", EncodePlan::kMaxTerms));
    }
    return absl::OkStatus();
  }

  void SolveFromRow(int row, int column) {
    const auto unknown = std::find_if(RowBlocks(row).begin(), RowBlocks(row).end(),
                                      [&](const Block& b) { return b.column == column; });
    TermSum sum(code_.zc());
    sum.Add(false, row, -unknown->shift);
    for (const Block& block : RowBlocks(row)) {
      if (block.column != column) {
        sum.Add(true, block.column, block.shift - unknown->shift);
      }
    }
    AddStep(column, sum);
  }

  void AddStep(int column, const TermSum& sum) {
    EncodePlan::Step step;
    step.column = static_cast<uint16_t>(column);
    step.terms = sum.ToTerms();
    for (const EncodePlan::Term& term : step.terms) {
      if (term.is_parity) {
        step.level = std::max(step.level, static_cast<uint16_t>(level_[term.index] + 1));
      }
    }
    solved_[static_cast<size_t>(column)] = true;
    level_[static_cast<size_t>(column)] = step.level;
    steps_.push_back(std::move(step));
  }

  bool IsSolved(int column) const { return solved_[static_cast<size_t>(column)]; }
  const std::vector<Block>& RowBlocks(int row) const { return parity_[static_cast<size_t>(row)]; }

  const Code& code_;
  const ContinueCheck& may_continue_;
  std::vector<std::vector<Block>> parity_;   // the parity blocks of each row
  std::vector<bool> solved_;                 // by column
  std::vector<uint16_t> level_;              // by column
  std::vector<std::pair<int, int>> peeled_;  // row and its column, in the order of peeling
  std::vector<int> core_rows_;
  size_t num_core_solved_ = 0;
  std::vector<EncodePlan::Step> steps_;
};

// The sum of a step with the parity groups among its terms put in place, where that has few terms;
// as core matrices of NR have. Never more than a few steps' worth of work: a client's own may have
// thousands of terms.
absl::optional<TermSum> PutInPlace(int zc, const EncodePlan::Step& step,
                                   absl::Span<const EncodePlan::Step* const> step_of) {
  constexpr size_t kMaxTerms = 6;
  constexpr size_t kMaxPut = 4 * kMaxTerms;  // before equal ones cancel
  size_t num_put = step.terms.size();
  for (const EncodePlan::Term& term : step.terms) {
    if (term.is_parity) num_put += step_of[term.index]->terms.size();
    if (num_put > kMaxPut) return absl::nullopt;
  }
  TermSum sum(zc);
  for (const EncodePlan::Term& term : step.terms) {
    if (!term.is_parity) {
      sum.Add(false, term.index, term.shift);
      continue;
    }
    for (const EncodePlan::Term& inner : step_of[term.index]->terms) {
      sum.Add(inner.is_parity, inner.index, inner.shift + term.shift);
    }
  }
  if (sum.size() > kMaxTerms) return absl::nullopt;
  return sum;
}

// Steps with the same results, of fewer levels: what others need is made from information where
// that is no more work.
std::vector<EncodePlan::Step> Flatten(const Code& code, absl::Span<const EncodePlan::Step> steps) {
  std::vector<EncodePlan::Step> flat(steps.begin(), steps.end());
  const auto rows = static_cast<size_t>(code.rows());
  std::vector<bool> is_used(rows, false);
  std::vector<const EncodePlan::Step*> step_of(rows, nullptr);  // by column
  for (const EncodePlan::Step& step : steps) {
    for (const EncodePlan::Term& term : step.terms) {
      if (term.is_parity) is_used[term.index] = true;
    }
  }
  for (EncodePlan::Step& step : flat) {
    step_of[step.column] = &step;
    if (!is_used[step.column]) continue;
    if (const absl::optional<TermSum> sum = PutInPlace(code.zc(), step, step_of)) {
      step.terms = sum->ToTerms();
    }
  }
  return flat;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const EncodePlan>> EncodePlan::Create(
    const Code& code, const ContinueCheck& may_continue) {
  auto plan = std::make_shared<EncodePlan>();
  BASEBAND_ASSIGN_OR_RETURN(plan->steps_, Solver(code, may_continue).Run());
  std::stable_sort(plan->steps_.begin(), plan->steps_.end(),
                   [](const Step& a, const Step& b) { return a.level < b.level; });
  plan->num_levels_ = plan->steps_.back().level + 1;
  BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
  plan->program_ = std::make_shared<const EncodeProgram>(MakeProgram(code, plan->steps_));
  BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
  const EncodeProgram flat = MakeProgram(code, Flatten(code, plan->steps_));
  BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
  plan->table_ = MakeTable(code, flat);
  return std::shared_ptr<const EncodePlan>(std::move(plan));
}

int64_t EncodePlan::bytes() const {
  auto bytes = static_cast<int64_t>(table_.size() * sizeof(table_[0]) +
                                    program_->sums.size() * sizeof(program_->sums[0]) +
                                    program_->sources.size() * sizeof(program_->sources[0]));
  for (const Step& step : steps_) {
    bytes += static_cast<int64_t>(sizeof(step) + step.terms.size() * sizeof(Term));
  }
  return bytes;
}

}  // namespace baseband::ldpc
