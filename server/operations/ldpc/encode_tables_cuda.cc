// The GPU's side of EncodeTables. CUDA builds only.
#include <cstring>

#include "kernels/base/status_macros.h"
#include "kernels/ldpc/encode.h"
#include "server/device/cuda_lane_view.h"
#include "server/device/lane_tables.h"
#include "server/jobs/layout.h"
#include "server/operations/ldpc/encode_tables.h"

namespace baseband::server {
namespace {

absl::Span<const uint32_t> TableOf(const ldpc::Code& code) {
  return (*code.encode_plan())->table();
}

}  // namespace

absl::Status EncodeTables::Add(const ldpc::CodePtr& code, const CudaLaneView& lane) {
  const auto [entry, is_new] = offsets_.try_emplace(code.get(), 0);
  if (!is_new || !are_kept_) return absl::OkStatus();
  // Of a client's own codes there is no end: others' would not stay.
  if (code->family() == ldpc::Family::kCustom) {
    are_kept_ = false;
    return absl::OkStatus();
  }
  BASEBAND_ASSIGN_OR_RETURN(const absl::optional<int64_t> offset,
                            lane.lane_tables->Place(code, TableOf(*code)));
  are_kept_ = offset.has_value();
  entry->second = static_cast<uint32_t>(offset.value_or(0));
  return absl::OkStatus();
}

void EncodeTables::Place(const CudaLaneView& lane, int64_t* control_end) {
  if (are_kept_) return;
  for (auto& [code, offset] : offsets_) {
    const absl::Span<const uint32_t> table = TableOf(*code);
    std::memcpy(lane.control_host + *control_end, table.data(), table.size() * sizeof(uint32_t));
    offset = static_cast<uint32_t>(*control_end);
    *control_end += AlignUp(static_cast<int64_t>(table.size() * sizeof(uint32_t)));
  }
}

bool EncodeTables::AreThere(const CudaLaneView& lane) const {
  return are_kept_ && !lane.lane_tables->has_copied();
}

const uint8_t* EncodeTables::memory(const CudaLaneView& lane, const uint8_t* control) const {
  return are_kept_ ? lane.lane_tables->memory() : control;
}

}  // namespace baseband::server
