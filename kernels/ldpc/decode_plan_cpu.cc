#include "kernels/ldpc/decode_plan_cpu.h"

#include <algorithm>
#include <array>

namespace baseband::ldpc {
namespace {

bool SameBlock(const Edge& a, const Edge& b) {
  return a.row == b.row && a.column == b.column && a.shift == b.shift;
}

}  // namespace

bool DecodePlan::IsFor(const Code& code) const {
  return zc_ == code.zc() && rows_.size() == static_cast<size_t>(code.rows()) &&
         columns_.size() == static_cast<size_t>(code.columns()) &&
         std::equal(code_edges_.begin(), code_edges_.end(), code.edges().begin(),
                    code.edges().end(), SameBlock);
}

void DecodePlan::Assign(const Code& code) {
  zc_ = code.zc();
  max_row_degree_ = code.max_row_degree();
  code_edges_.assign(code.edges().begin(), code.edges().end());
  rows_.assign(static_cast<size_t>(code.rows()), PlanRow());
  columns_.assign(static_cast<size_t>(code.columns()), PlanColumn());
  edges_.clear();
  run_group_rows_ = 0;

  std::array<int, kMaxColumns> degree{};
  for (const Edge& edge : code_edges_) {
    ++degree[edge.column];
    columns_[edge.column].rotation = edge.shift;  // the last row's stays
  }
  num_shared_ = num_private_ = 0;
  for (size_t c = 0; c < columns_.size(); ++c) {
    columns_[c].is_private = degree[c] == 1;
    if (!columns_[c].is_private) columns_[c].index = static_cast<uint16_t>(num_shared_++);
  }

  std::array<int, kMaxColumns> rotation{};
  for (size_t c = 0; c < columns_.size(); ++c) rotation[c] = columns_[c].rotation;
  const auto run_start = [this](int shift, int rotated_by) {
    return static_cast<uint16_t>((shift - rotated_by + zc_) % zc_);
  };
  for (int r = 0; r < code.rows(); ++r) {
    PlanRow& row = rows_[static_cast<size_t>(r)];
    row.shared_begin = static_cast<uint16_t>(edges_.size());
    row.private_begin = static_cast<uint16_t>(num_private_);
    for (const Edge& edge : code.row(r)) {
      PlanColumn& column = columns_[edge.column];
      if (column.is_private) {
        column.index = static_cast<uint16_t>(num_private_++);
        ++row.private_count;
        continue;
      }
      SharedEdge shared;
      shared.column = column.index;
      shared.read = run_start(edge.shift, rotation[edge.column]);
      shared.check = run_start(edge.shift, column.rotation);
      rotation[edge.column] = edge.shift;
      edges_.push_back(shared);
      ++row.shared_count;
    }
  }
}

const uint16_t* DecodePlan::Runs(size_t group_rows) {
  if (run_group_rows_ == group_rows) return runs_.data();
  run_group_rows_ = group_rows;
  runs_.clear();
  const auto zc = static_cast<size_t>(zc_);
  for (const PlanRow& row : rows_) {
    for (size_t t = 0; t < zc; t += group_rows) {
      for (size_t j = 0; j < row.shared_count; ++j) {
        runs_.push_back(static_cast<uint16_t>((t + edges_[row.shared_begin + j].read) % zc));
      }
    }
  }
  return runs_.data();
}

}  // namespace baseband::ldpc
