// How the CPU device walks a code: the order of rows, and where each circulant finds its column.
//
// A column is kept rotated. After row e has updated it, element i belongs to the bit that row i of
// that circulant checks, so that every row writes whole vectors from 0 on; the next row that needs
// the column reads it as one run that starts `read` elements later, into a mirrored tail.
// Columns of degree one keep no state: their a-posteriori value is channel plus one message, so
// they are stored in the order of their only row ("private").
#ifndef BASEBAND_KERNELS_LDPC_DECODE_PLAN_CPU_H_
#define BASEBAND_KERNELS_LDPC_DECODE_PLAN_CPU_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/ldpc/code.h"

namespace baseband::ldpc {

// A circulant of a column that several rows share.
struct SharedEdge {
  uint16_t column = 0;  // index into DecodePlan::columns()
  uint16_t read = 0;    // where its run starts in the column as the previous row left it
  uint16_t check = 0;   // where its run starts in the column as an iteration leaves it
};

// One block column of the code.
struct PlanColumn {
  uint16_t rotation = 0;  // element i is bit (i + rotation) mod zc between iterations
  bool is_private = false;
  uint16_t index = 0;  // among the shared columns, or among the private ones
};

struct PlanRow {
  uint16_t shared_begin = 0;
  uint16_t shared_count = 0;
  uint16_t private_begin = 0;  // private columns are numbered in the order of their rows
  uint16_t private_count = 0;
};

class DecodePlan {
 public:
  // Derives the plan of `code`. Allocates only when `code` is larger than any before it.
  void Assign(const Code& code);
  // Whether this is the plan of `code`: compares the blocks themselves, not a hash.
  bool IsFor(const Code& code) const;

  // Where the runs of edges() start for every group of `group_rows` rows of their circulants, in
  // the order in which a layered iteration visits them: [rows][groups][shared_count]. Kept for one
  // number of rows at a time; valid until the next call. May allocate, as Assign does.
  const uint16_t* Runs(size_t group_rows);

  int zc() const { return zc_; }
  const std::vector<PlanRow>& rows() const { return rows_; }
  const std::vector<SharedEdge>& edges() const { return edges_; }
  // One per block column of the code.
  const std::vector<PlanColumn>& columns() const { return columns_; }
  int num_shared() const { return num_shared_; }
  int num_private() const { return num_private_; }
  int max_row_degree() const { return max_row_degree_; }

 private:
  int zc_ = 0;
  int num_shared_ = 0;
  int num_private_ = 0;
  int max_row_degree_ = 0;
  std::vector<Edge> code_edges_;
  std::vector<PlanRow> rows_;
  std::vector<SharedEdge> edges_;
  std::vector<PlanColumn> columns_;
  size_t run_group_rows_ = 0;  // 0: none yet
  std::vector<uint16_t> runs_;
};

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_DECODE_PLAN_CPU_H_
