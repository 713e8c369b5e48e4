// Where a GPU's kernels find the tables of the codes that a task encodes with. Called in CUDA
// builds only.
#ifndef BASEBAND_SERVER_OPERATIONS_LDPC_ENCODE_TABLES_H_
#define BASEBAND_SERVER_OPERATIONS_LDPC_ENCODE_TABLES_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "kernels/ldpc/code.h"

namespace baseband::server {

struct CudaLaneView;

// Of the codes that were added. Those of the standards stay on the lane (lane_tables.h); with a
// client's own among them, and where the lane has no room for all, all lie in control memory.
class EncodeTables {
 public:
  // Every code of the task, as often as it occurs, before any At().
  absl::Status Add(const ldpc::CodePtr& code, const CudaLaneView& lane);
  // Puts those that are not kept into control memory from `control_end` on and moves it past them.
  void Place(const CudaLaneView& lane, int64_t* control_end);

  // Of an added code's table, in memory(); after Place().
  uint32_t At(const ldpc::Code& code) const { return offsets_.at(&code); }
  // Added codes.
  size_t size() const { return offsets_.size(); }
  // Whether all were on the lane before this task.
  bool AreThere(const CudaLaneView& lane) const;
  // `control` is control memory as the kernels are to read it.
  const uint8_t* memory(const CudaLaneView& lane, const uint8_t* control) const;

 private:
  std::map<const ldpc::Code*, uint32_t> offsets_;
  bool are_kept_ = true;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_LDPC_ENCODE_TABLES_H_
