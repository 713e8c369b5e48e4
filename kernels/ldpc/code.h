// Quasi-cyclic LDPC codes: what a code is, and where the codes of the standards come from.
//
// A code is a base matrix of `rows` x `columns` blocks, each of `zc` x `zc` bits. A block is either
// zero or the identity circularly shifted right by `shift`: its row r has its one at column
// (r + shift) mod zc. The first kb = columns - rows block columns are systematic (information),
// the rest are parity. Bit j of block column c is bit c * zc + j of the code word.
#ifndef BASEBAND_KERNELS_LDPC_CODE_H_
#define BASEBAND_KERNELS_LDPC_CODE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "kernels/base/continue_check.h"

namespace baseband::ldpc {

// Limits of every code, a client's own included.
inline constexpr int kMaxZc = 512;
inline constexpr int kMaxRows = 64;
inline constexpr int kMaxColumns = 128;
inline constexpr int kMaxRowDegree = 32;
inline constexpr int kMaxEdges = 1024;

// One non-zero block of a base matrix.
struct Edge {
  uint16_t row = 0;
  uint16_t column = 0;
  uint16_t shift = 0;  // 0 .. zc - 1
};

// A base matrix as its owner gives it, whatever the numbers.
struct BaseMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t zc = 0;
  // The first `punctured_columns` block columns are never transmitted (2 in 5G NR, else 0).
  int64_t punctured_columns = 0;
  std::vector<int> shifts;  // [rows][columns], row-major; -1 for a zero block, else 0 .. zc - 1
};

// Families, for messages, metrics and kernels: of a code of kNr shape and shifts are the
// standard's.
enum class Family { kNr, kWimax, kWifi, kCustom };

// An immutable code. Thread-safe. Make one with the factories below and share it: tables that the
// encoders and decoders derive from a code are kept beside it.
class Code {
 public:
  // Checks `matrix` against the limits above and for shape: 1 <= rows < columns, every row with two
  // blocks or more, every column with at least one. InvalidArgument names field, value and range.
  static absl::StatusOr<std::shared_ptr<const Code>> Create(const BaseMatrix& matrix, Family family,
                                                            std::string name);

  Family family() const { return family_; }
  const std::string& name() const { return name_; }  // "NR BG1 Zc=384 rows=46"
  int zc() const { return zc_; }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int kb() const { return columns_ - rows_; }
  int punctured_columns() const { return punctured_columns_; }
  int k() const { return kb() * zc_; }      // information bits, fillers included
  int n() const { return columns_ * zc_; }  // code bits, punctured ones included
  int num_sent() const { return (columns_ - punctured_columns_) * zc_; }
  int parity_bits() const { return rows_ * zc_; }

  // All blocks, sorted by row, then column.
  absl::Span<const Edge> edges() const { return edges_; }
  // The blocks of one row.
  absl::Span<const Edge> row(int r) const {
    return absl::Span<const Edge>(edges_).subspan(row_begin_[r], row_begin_[r + 1] - row_begin_[r]);
  }
  int max_row_degree() const { return max_row_degree_; }
  int max_column_degree() const { return max_column_degree_; }

  // Equal for equal matrices (same zc, shape, puncturing, blocks), whatever their family; different
  // otherwise but for a 64-bit hash collision. Stable within a process.
  uint64_t fingerprint() const { return fingerprint_; }

  using EncodePlanOr = absl::StatusOr<std::shared_ptr<const class EncodePlan>>;
  // How to encode, or why this code cannot be encoded (its parity part has no inverse, or one too
  // dense). Found when it is first asked for, which takes up to half a second for dense matrices.
  const EncodePlanOr& encode_plan() const;
  bool has_encode_plan() const { return found_plan_.load(std::memory_order_acquire) != nullptr; }
  // Finds it, so that encode_plan() returns at once. Not OK: `may_continue` said so before it was
  // found, and nothing is kept.
  absl::Status FindEncodePlan(const ContinueCheck& may_continue) const;

  // Of memory, about, with the plan if it has been found.
  int64_t bytes() const;

 private:
  Code() = default;

  Family family_ = Family::kCustom;
  std::string name_;
  int zc_ = 0;
  int rows_ = 0;
  int columns_ = 0;
  int punctured_columns_ = 0;
  std::vector<Edge> edges_;
  std::vector<int> row_begin_;  // [rows + 1]
  int max_row_degree_ = 0;
  int max_column_degree_ = 0;
  uint64_t fingerprint_ = 0;

  mutable absl::Mutex plan_mutex_;
  mutable EncodePlanOr plan_ ABSL_GUARDED_BY(plan_mutex_);
  mutable std::atomic<const EncodePlanOr*> found_plan_{nullptr};  // plan_, which changes no more
};

using CodePtr = std::shared_ptr<const Code>;

// 5G NR, 3GPP TS 38.212 clause 5.3.2, tables 5.3.2-1 to -3. `base_graph` is 1 or 2, `zc` one of the
// 51 lifting sizes, `rows` 4 .. 46 (42 for base graph 2), 0 for all: the first `rows` rows and the
// first kb + rows columns. The factories below keep what they made and return the same object
// again; InvalidArgument names field, value and range.
absl::StatusOr<CodePtr> NrCode(int64_t base_graph, int64_t zc, int64_t rows = 0);

// IEEE 802.16e-2005 8.4.9.2.5.1. `rate` is "1/2", "2/3A", "2/3B", "3/4A", "3/4B" or "5/6"; `n` is
// 576, 672, .., 2304.
absl::StatusOr<CodePtr> WimaxCode(const std::string& rate, int64_t n);

// IEEE 802.11n-2009 Annex R. `rate` is "1/2", "2/3", "3/4" or "5/6"; `n` is 648, 1296 or 1944.
absl::StatusOr<CodePtr> WifiCode(const std::string& rate, int64_t n);

// The 51 lifting sizes of table 5.3.2-1, ascending.
absl::Span<const int> NrLiftingSizes();

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_CODE_H_
