#include "server/device/lane_tables.h"

#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"

namespace baseband::server {

absl::StatusOr<LaneTables> LaneTables::Create(int64_t bytes, cudaStream_t stream) {
  LaneTables tables;
  BASEBAND_ASSIGN_OR_RETURN(tables.memory_, cuda::CreateDeviceBuffer<uint8_t>(bytes));
  tables.stream_ = stream;
  return tables;
}

void LaneTables::BeginTask() {
  has_copied_ = false;
  if (!is_full_) return;
  kept_.clear();
  end_ = 0;
  is_full_ = false;
}

absl::StatusOr<absl::optional<int64_t>> LaneTables::Place(const std::shared_ptr<const void>& owner,
                                                          absl::Span<const uint32_t> table) {
  Kept& kept = kept_[owner.get()];
  // At the address of one that died another may live.
  if (kept.owner.lock() == owner) return kept.offset;
  const auto table_bytes = static_cast<int64_t>(table.size() * sizeof(uint32_t));
  if (table_bytes > static_cast<int64_t>(memory_.size()) - end_) {
    kept_.erase(owner.get());
    is_full_ = true;
    return absl::nullopt;
  }
  // The memory is not page-locked: the table was read when this returns.
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
      cudaMemcpyAsync(memory_.data() + end_, table.data(), static_cast<size_t>(table_bytes),
                      cudaMemcpyHostToDevice, stream_),
      "cudaMemcpyAsync"));
  has_copied_ = true;
  kept = {owner, end_};
  end_ += (table_bytes + 15) / 16 * 16;
  return kept.offset;
}

}  // namespace baseband::server
