#include "kernels/ldpc/code.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "kernels/ldpc/encode.h"
#include "kernels/ldpc/tables.h"

namespace baseband::ldpc {
namespace {

constexpr int kNrKb[] = {22, 10};       // information columns of base graphs 1 and 2
constexpr int kNrMaxRows[] = {46, 42};  // rows of base graphs 1 and 2
constexpr int kNrMinRows = 4;
constexpr int kNrPuncturedColumns = 2;

absl::Status OutOfRange(absl::string_view field, int64_t value, int64_t least, int64_t most) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " ", value, " is not in [", least, ", ", most, "]"));
}

// The numbers of a base matrix that need no look at its blocks.
absl::Status CheckShape(const BaseMatrix& matrix) {
  if (matrix.zc < 1 || matrix.zc > kMaxZc) {
    return OutOfRange("zc", matrix.zc, 1, kMaxZc);
  }
  if (matrix.rows < 1 || matrix.rows > kMaxRows) {
    return OutOfRange("rows", matrix.rows, 1, kMaxRows);
  }
  if (matrix.columns <= matrix.rows || matrix.columns > kMaxColumns) {
    return OutOfRange("columns", matrix.columns, matrix.rows + 1, kMaxColumns);
  }
  const int64_t kb = matrix.columns - matrix.rows;
  if (matrix.punctured_columns < 0 || matrix.punctured_columns > kb) {
    return OutOfRange("punctured_columns", matrix.punctured_columns, 0, kb);
  }
  const size_t num_shifts = static_cast<size_t>(matrix.rows) * static_cast<size_t>(matrix.columns);
  if (matrix.shifts.size() != num_shifts) {
    return absl::InvalidArgumentError(absl::StrCat("shifts has ", matrix.shifts.size(),
                                                   " entries, not rows * columns = ", num_shifts));
  }
  for (size_t i = 0; i < num_shifts; ++i) {
    if (matrix.shifts[i] < -1 || matrix.shifts[i] >= matrix.zc) {
      return absl::InvalidArgumentError(absl::StrCat("shifts[", i, "] is ", matrix.shifts[i],
                                                     ", not in [-1, ", matrix.zc - 1, "]"));
    }
  }
  return absl::OkStatus();
}

// Mixes `value` into `hash` (the finaliser of splitmix64).
uint64_t Mix(uint64_t hash, uint64_t value) {
  uint64_t x = hash + 0x9e3779b97f4a7c15u + value;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Codes made so far, by what they were asked for.
template <typename Key>
class Cache {
 public:
  // The code kept under `key`, or the one that `make()` gives, which is then kept.
  template <typename Make>
  absl::StatusOr<CodePtr> GetOrMake(const Key& key, const Make& make) {
    {
      absl::MutexLock lock(&mutex_);
      const auto found = codes_.find(key);
      if (found != codes_.end()) {
        return found->second;
      }
    }
    BASEBAND_ASSIGN_OR_RETURN(CodePtr code, make());
    absl::MutexLock lock(&mutex_);
    return codes_.emplace(key, std::move(code)).first->second;  // The first of two makers wins.
  }

 private:
  absl::Mutex mutex_;
  std::map<Key, CodePtr> codes_ ABSL_GUARDED_BY(mutex_);
};

// A 24-column matrix whose shifts `scale` brings to `zc`.
template <typename Scale>
BaseMatrix IeeeMatrix(absl::Span<const int8_t> shifts, int zc, const Scale& scale) {
  BaseMatrix matrix;
  matrix.rows = static_cast<int>(shifts.size()) / kIeeeColumns;
  matrix.columns = kIeeeColumns;
  matrix.zc = zc;
  for (const int8_t shift : shifts) {
    matrix.shifts.push_back(shift < 0 ? -1 : scale(shift));
  }
  return matrix;
}

absl::StatusOr<CodePtr> MakeNrCode(int base_graph, const NrLiftingSize& size, int rows) {
  BaseMatrix matrix;
  matrix.rows = rows;
  matrix.columns = kNrKb[base_graph - 1] + rows;
  matrix.zc = size.zc;
  matrix.punctured_columns = kNrPuncturedColumns;
  matrix.shifts.assign(static_cast<size_t>(matrix.rows * matrix.columns), -1);
  for (const NrEntry& entry : NrBaseGraph(base_graph)) {
    if (entry.row < rows) {
      matrix.shifts[static_cast<size_t>(entry.row * matrix.columns + entry.column)] =
          entry.v[size.set_index] % size.zc;
    }
  }
  return Code::Create(matrix, Family::kNr,
                      absl::StrCat("NR BG", base_graph, " Zc=", size.zc, " rows=", rows));
}

}  // namespace

absl::StatusOr<CodePtr> Code::Create(const BaseMatrix& matrix, Family family, std::string name) {
  BASEBAND_RETURN_IF_ERROR(CheckShape(matrix));
  std::shared_ptr<Code> code(new Code());
  code->family_ = family;
  code->name_ = std::move(name);
  code->zc_ = static_cast<int>(matrix.zc);
  code->rows_ = static_cast<int>(matrix.rows);
  code->columns_ = static_cast<int>(matrix.columns);
  code->punctured_columns_ = static_cast<int>(matrix.punctured_columns);

  std::vector<int> column_degree(static_cast<size_t>(matrix.columns), 0);
  code->row_begin_.push_back(0);
  for (int row = 0; row < code->rows_; ++row) {
    for (int column = 0; column < code->columns_; ++column) {
      const int shift = matrix.shifts[static_cast<size_t>(row * code->columns_ + column)];
      if (shift >= 0) {
        Edge edge;
        edge.row = static_cast<uint16_t>(row);
        edge.column = static_cast<uint16_t>(column);
        edge.shift = static_cast<uint16_t>(shift);
        code->edges_.push_back(edge);
        ++column_degree[static_cast<size_t>(column)];
      }
    }
    const int num_edges = static_cast<int>(code->edges_.size());
    const int degree = num_edges - code->row_begin_.back();
    if (degree < 2 || degree > kMaxRowDegree) {
      return absl::InvalidArgumentError(absl::StrCat("shifts: row ", row, " has ", degree,
                                                     " blocks, not in [2, ", kMaxRowDegree, "]"));
    }
    code->row_begin_.push_back(num_edges);
    code->max_row_degree_ = std::max(code->max_row_degree_, degree);
  }
  if (code->edges_.size() > kMaxEdges) {
    return absl::InvalidArgumentError(
        absl::StrCat("shifts has ", code->edges_.size(), " blocks, more than ", kMaxEdges));
  }
  for (size_t column = 0; column < column_degree.size(); ++column) {
    if (column_degree[column] == 0) {
      return absl::InvalidArgumentError(absl::StrCat("shifts: column ", column, " has no block"));
    }
    code->max_column_degree_ = std::max(code->max_column_degree_, column_degree[column]);
  }

  uint64_t hash = 0;
  for (const int64_t number : {matrix.zc, matrix.rows, matrix.columns, matrix.punctured_columns}) {
    hash = Mix(hash, static_cast<uint64_t>(number));
  }
  for (const Edge& edge : code->edges_) {
    hash = Mix(hash, (uint64_t{edge.row} << 32) | (uint64_t{edge.column} << 16) | edge.shift);
  }
  code->fingerprint_ = hash;
  return CodePtr(std::move(code));
}

const Code::EncodePlanOr& Code::encode_plan() const {
  if (const EncodePlanOr* const found = found_plan_.load(std::memory_order_acquire)) return *found;
  (void)FindEncodePlan(nullptr);
  return *found_plan_.load(std::memory_order_acquire);
}

absl::Status Code::FindEncodePlan(const ContinueCheck& may_continue) const {
  // Without the lock: whoever looks for it beside this one does not wait for this one's turns.
  absl::Status stopped;
  EncodePlanOr found = EncodePlan::Create(*this, [&] {
    stopped = MayContinue(may_continue);
    return stopped;
  });
  BASEBAND_RETURN_IF_ERROR(stopped);
  absl::MutexLock lock(&plan_mutex_);
  if (!has_encode_plan()) {
    plan_ = std::move(found);
    found_plan_.store(&plan_, std::memory_order_release);
  }
  return absl::OkStatus();
}

int64_t Code::bytes() const {
  auto bytes = static_cast<int64_t>(sizeof(*this) + edges_.capacity() * sizeof(Edge) +
                                    row_begin_.capacity() * sizeof(int));
  if (has_encode_plan() && encode_plan().ok()) bytes += (*encode_plan())->bytes();
  return bytes;
}

absl::StatusOr<CodePtr> NrCode(int64_t base_graph, int64_t zc, int64_t rows) {
  if (base_graph != 1 && base_graph != 2) {
    return OutOfRange("base_graph", base_graph, 1, 2);
  }
  const int max_rows = kNrMaxRows[base_graph - 1];
  if (rows != 0 && (rows < kNrMinRows || rows > max_rows)) {
    return absl::InvalidArgumentError(absl::StrCat("rows ", rows, " is neither 0 (all) nor in [",
                                                   kNrMinRows, ", ", max_rows, "] for base graph ",
                                                   base_graph));
  }
  rows = rows == 0 ? max_rows : rows;
  for (const NrLiftingSize& size : NrLiftingSizeTable()) {
    if (size.zc == zc) {
      static auto& cache = *new Cache<std::tuple<int64_t, int64_t, int64_t>>();
      return cache.GetOrMake({base_graph, zc, rows}, [&] {
        return MakeNrCode(static_cast<int>(base_graph), size, static_cast<int>(rows));
      });
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("zc ", zc, " is not a lifting size of 38.212 table 5.3.2-1 (2 .. 384)"));
}

absl::StatusOr<CodePtr> WimaxCode(const std::string& rate, int64_t n) {
  constexpr int kMinN = 576;
  constexpr int kMaxN = kIeeeColumns * kWimaxBaseZc;
  constexpr int kStepN = 96;
  if (n < kMinN || n > kMaxN || n % kStepN != 0) {
    return absl::InvalidArgumentError(absl::StrCat("n ", n, " is not a code length of 802.16e (",
                                                   kMinN, ", ", kMinN + kStepN, " .. ", kMaxN,
                                                   ")"));
  }
  const auto zc = static_cast<int>(n / kIeeeColumns);
  for (const WimaxMatrix& matrix : WimaxMatrices()) {
    if (rate == matrix.rate) {
      static auto& cache = *new Cache<std::pair<std::string, int64_t>>();
      return cache.GetOrMake({rate, n}, [&] {
        const auto scale = [&](int shift) {
          return matrix.scales_by_modulo ? shift % zc : shift * zc / kWimaxBaseZc;
        };
        return Code::Create(IeeeMatrix(matrix.shifts, zc, scale), Family::kWimax,
                            absl::StrCat("802.16e rate=", rate, " n=", n));
      });
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "rate '", rate, "' is not a code rate of 802.16e (1/2, 2/3A, 2/3B, 3/4A, 3/4B, 5/6)"));
}

absl::StatusOr<CodePtr> WifiCode(const std::string& rate, int64_t n) {
  bool length_exists = false;
  for (const WifiMatrix& matrix : WifiMatrices()) {
    const bool length_matches = matrix.zc * kIeeeColumns == n;
    length_exists |= length_matches;
    if (length_matches && rate == matrix.rate) {
      static auto& cache = *new Cache<std::pair<std::string, int64_t>>();
      return cache.GetOrMake({rate, n}, [&] {
        return Code::Create(IeeeMatrix(matrix.shifts, matrix.zc, [](int shift) { return shift; }),
                            Family::kWifi, absl::StrCat("802.11n rate=", rate, " n=", n));
      });
    }
  }
  if (!length_exists) {
    return absl::InvalidArgumentError(
        absl::StrCat("n ", n, " is not a code length of 802.11n (648, 1296, 1944)"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("rate '", rate, "' is not a code rate of 802.11n (1/2, 2/3, 3/4, 5/6)"));
}

absl::Span<const int> NrLiftingSizes() {
  static const std::vector<int>& sizes = *[] {
    auto* all = new std::vector<int>();
    for (const NrLiftingSize& size : NrLiftingSizeTable()) {
      all->push_back(size.zc);
    }
    return all;
  }();
  return sizes;
}

}  // namespace baseband::ldpc
