#include "kernels/ldpc/encode_program.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "kernels/ldpc/encode_math.h"

namespace baseband::ldpc {
namespace {

class ProgramBuilder {
 public:
  ProgramBuilder(const Code& code, absl::Span<const EncodePlan::Step> steps)
      : code_(code), steps_(steps) {
    const auto rows = static_cast<size_t>(code.rows());
    lambda_group_.resize(rows, EncodeProgram::kNone);
    parity_group_.resize(rows, EncodeProgram::kNone);
    group_level_.resize(static_cast<size_t>(code.kb()), -1);
  }

  EncodeProgram Build() {
    CountUses();
    AddLambdas();
    for (const EncodePlan::Step& step : steps_) {
      AddStep(step);
    }
    // Within a level, those that are kept come first, and the longest first: a loop over sums of
    // equal length is one that a CPU predicts, and the threads of a warp end together.
    std::stable_sort(program_.sums.begin(), program_.sums.end(),
                     [](const EncodeProgram::Sum& a, const EncodeProgram::Sum& b) {
                       return std::make_tuple(a.level, !a.is_kept(), -a.num_sources) <
                              std::make_tuple(b.level, !b.is_kept(), -b.num_sources);
                     });
    RenumberGroups();
    const int group_words = CpuGroupWords(code_.zc());
    for (const EncodeProgram::Source& source : program_.sources) {
      program_.cpu_positions.push_back(
          static_cast<uint32_t>(source.group * group_words * 64 + source.shift));
    }
    return std::move(program_);
  }

 private:
  void CountUses() {
    lambda_uses_.resize(lambda_group_.size(), 0);
    parity_is_used_.resize(parity_group_.size(), false);
    for (const EncodePlan::Step& step : steps_) {
      for (const EncodePlan::Term& term : step.terms) {
        if (term.is_parity) {
          parity_is_used_[term.index] = true;
        } else {
          ++lambda_uses_[term.index];
        }
      }
    }
  }

  std::vector<EncodeProgram::Source> Systematic(int row, int shift) const {
    std::vector<EncodeProgram::Source> sources;
    for (const Edge& edge : code_.row(row)) {
      if (edge.column < code_.kb()) {
        EncodeProgram::Source source;
        source.group = edge.column;
        source.shift = static_cast<uint16_t>((edge.shift + shift) % code_.zc());
        sources.push_back(source);
      }
    }
    return sources;
  }

  void AddLambdas() {
    for (int row = 0; row < code_.rows(); ++row) {
      const std::vector<EncodeProgram::Source> sources = Systematic(row, 0);
      if (lambda_uses_[static_cast<size_t>(row)] > 1 && sources.size() > 1) {
        lambda_group_[static_cast<size_t>(row)] = AddSum(sources, true, EncodeProgram::kNone);
      }
    }
  }

  void AddStep(const EncodePlan::Step& step) {
    std::vector<EncodeProgram::Source> sources;
    for (const EncodePlan::Term& term : step.terms) {
      const int group = (term.is_parity ? parity_group_ : lambda_group_)[term.index];
      if (group != EncodeProgram::kNone) {
        EncodeProgram::Source source;
        source.group = static_cast<uint16_t>(group);
        source.shift = term.shift;
        sources.push_back(source);
      } else {
        const std::vector<EncodeProgram::Source> in_place = Systematic(term.index, term.shift);
        sources.insert(sources.end(), in_place.begin(), in_place.end());
      }
    }
    parity_group_[step.column] = AddSum(sources, parity_is_used_[step.column], step.column);
  }

  // Returns the group it is kept in, if it is kept.
  int AddSum(const std::vector<EncodeProgram::Source>& sources, bool keep, int parity) {
    EncodeProgram::Sum sum;
    sum.first_source = static_cast<int>(program_.sources.size());
    sum.num_sources = static_cast<int>(sources.size());
    sum.parity = parity;
    for (const EncodeProgram::Source& source : sources) {
      sum.level = std::max(sum.level, group_level_[source.group] + 1);
    }
    program_.sources.insert(program_.sources.end(), sources.begin(), sources.end());
    if (keep) {
      sum.group = static_cast<int>(group_level_.size());
      group_level_.push_back(sum.level);
    }
    program_.sums.push_back(sum);
    return sum.group;
  }

  // Kept groups get ascending numbers in the order of their sums.
  void RenumberGroups() {
    std::vector<uint16_t> number(group_level_.size());
    int next = 0;
    for (; next < code_.kb(); ++next) {
      number[static_cast<size_t>(next)] = static_cast<uint16_t>(next);
    }
    for (EncodeProgram::Sum& sum : program_.sums) {
      if (sum.is_kept()) {
        number[static_cast<size_t>(sum.group)] = static_cast<uint16_t>(next);
        sum.group = next++;
      }
    }
    for (EncodeProgram::Source& source : program_.sources) {
      source.group = number[source.group];
    }
    program_.num_groups = next;
  }

  const Code& code_;
  absl::Span<const EncodePlan::Step> steps_;
  EncodeProgram program_;
  std::vector<int> lambda_uses_;
  std::vector<bool> parity_is_used_;
  std::vector<int> lambda_group_;  // by row
  std::vector<int> parity_group_;  // by column
  std::vector<int> group_level_;   // by group; -1 for information
};

class TableBuilder {
 public:
  TableBuilder(const Code& code, const EncodeProgram& program) : program_(program) {
    const bool is_copied = program.sources.size() <= kMaxCopiedSources;
    header_.zc = static_cast<uint32_t>(code.zc());
    header_.k = static_cast<uint32_t>(code.k());
    header_.parity_bits = static_cast<uint32_t>(code.parity_bits());
    header_.group_words = static_cast<uint32_t>(GroupWords(code.zc()));
    header_.extended_words = static_cast<uint32_t>(ExtendedWords(code.zc()));
    header_.group_magic = QuotientMagic(header_.group_words);
    header_.extended_magic = QuotientMagic(header_.extended_words);
    header_.whole_words = code.zc() % 32 == 0 && is_copied ? 1 : 0;
    if (header_.whole_words == 0) {
      // Staged: the information as it came, and later the parity; one word more may be read.
      const uint32_t info_words = (header_.k + 31) / 32;
      const uint32_t parity_words = static_cast<uint32_t>(code.rows()) * header_.group_words;
      header_.staging_words = std::max(info_words, parity_words) + 1;
    }
    for (size_t i = 0; i < program.sums.size(); ++i) {
      AddToPhases(i);
      AddSum(program.sums[i]);
    }
    header_.num_phases = static_cast<uint32_t>(phases_.size());
    Join(is_copied);
  }
  std::vector<uint32_t> Take() { return std::move(table_); }

 private:
  // Sums of one level that are kept, and those that are not, make one phase each.
  void AddToPhases(size_t index) {
    const EncodeProgram::Sum& sum = program_.sums[index];
    const bool is_first = index == 0;
    const bool new_level = is_first || program_.sums[index - 1].level != sum.level;
    if (new_level || program_.sums[index - 1].is_kept() != sum.is_kept()) {
      const uint32_t items = !sum.is_kept()             ? (header_.group_words + 1) / 2
                             : header_.whole_words != 0 ? header_.group_words
                                                        : header_.extended_words;
      EncodePhase phase{};
      phase.first_sum = static_cast<uint32_t>(index);
      phase.items_per_sum =
          items | (new_level && !is_first ? kPhaseBarrier : 0) | (sum.is_kept() ? kPhaseKeeps : 0);
      phase.magic = QuotientMagic(items);
      phases_.push_back(phase);
    }
    phases_.back().num_items += phases_.back().items_per_sum & kPhaseItems;
  }

  void AddSum(const EncodeProgram::Sum& sum) {
    EncodeTableSum out{};
    out.first_pair = static_cast<uint32_t>(sources_.size() / 2);
    out.num_pairs = static_cast<uint32_t>((sum.num_sources + 1) / 2);
    out.keep_at = sum.is_kept() ? GroupAt(sum.group) : kNoDestination;
    out.parity =
        sum.parity == EncodeProgram::kNone ? kNoDestination : static_cast<uint32_t>(sum.parity);
    sums_.push_back(out);
    for (int s = 0; s < sum.num_sources; ++s) {
      const auto& source = program_.sources[static_cast<size_t>(sum.first_source + s)];
      const uint32_t word = GroupAt(source.group) + source.shift / 32;
      sources_.push_back((4 * word) << 16 | source.shift % 32);
    }
    if (sum.num_sources % 2 != 0) {
      sources_.push_back(0);  // of the zero group
    }
  }

  // The first word of a group, counted from the zero group.
  uint32_t GroupAt(int group) const {
    return static_cast<uint32_t>(group + 1) * header_.extended_words;
  }

  void Join(bool is_copied) {
    std::vector<uint32_t> starts;
    for (uint32_t e = 0; e < header_.extended_words; ++e) {
      starts.push_back(32 * e % header_.zc);
    }
    table_.resize(kStartsAt);
    AppendPart(starts, &table_);
    header_.phases_at = AppendPart(phases_, &table_);
    header_.sums_at = AppendPart(sums_, &table_);
    header_.sources_at = AppendPart(sources_, &table_);
    header_.copied_words = is_copied ? static_cast<uint32_t>(table_.size()) - header_.phases_at : 0;
    header_.shared_bytes =
        4 * (header_.copied_words + header_.staging_words + GroupAt(program_.num_groups));
    std::memcpy(table_.data(), &header_, sizeof(header_));
  }

  const EncodeProgram& program_;
  EncodeTableHeader header_{};
  std::vector<EncodePhase> phases_;
  std::vector<EncodeTableSum> sums_;
  std::vector<uint32_t> sources_;
  std::vector<uint32_t> table_;
};

}  // namespace

EncodeProgram MakeProgram(const Code& code, absl::Span<const EncodePlan::Step> steps) {
  return ProgramBuilder(code, steps).Build();
}

std::vector<uint32_t> MakeTable(const Code& code, const EncodeProgram& program) {
  std::vector<uint32_t> table = TableBuilder(code, program).Take();
  AppendTile(code, program, &table);
  return table;
}

}  // namespace baseband::ldpc
