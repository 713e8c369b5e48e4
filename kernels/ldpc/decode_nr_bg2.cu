// The NR decoder over base graph 2. Layout of each variant: decode_nr.cuh.
#include "kernels/ldpc/decode_nr_launch.cuh"

namespace baseband::ldpc {
namespace {

using FewRows = NrVariant<device::BaseGraph2, 8, 0, 2>;
using AllRows = NrVariant<device::BaseGraph2, 42, 100, 1>;

}  // namespace

absl::Status LaunchNr2(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  const absl::StatusOr<DeviceLimits> limits = QueryDeviceLimits();
  if (!limits.ok()) return limits.status();
  if (FewRows::Takes(*batch.code)) return FewRows::Launch(batch, engine, *limits, stream);
  return AllRows::Launch(batch, engine, *limits, stream);
}

absl::Status PrepareNr2() {
  BASEBAND_RETURN_IF_ERROR(FewRows::Prepare());
  return AllRows::Prepare();
}

}  // namespace baseband::ldpc
