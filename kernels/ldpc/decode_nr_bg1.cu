// The NR decoder over base graph 1. Layout of each variant: decode_nr.cuh.
#include "kernels/ldpc/decode_nr_launch.cuh"

namespace baseband::ldpc {
namespace {

using FewRows = NrVariant<device::BaseGraph1, 4, 8, 2>;
using AllRows = NrVariant<device::BaseGraph1, 46, 94, 1>;

}  // namespace

absl::Status LaunchNr1(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  const absl::StatusOr<DeviceLimits> limits = QueryDeviceLimits();
  if (!limits.ok()) return limits.status();
  if (FewRows::Takes(*batch.code)) return FewRows::Launch(batch, engine, *limits, stream);
  return AllRows::Launch(batch, engine, *limits, stream);
}

absl::Status PrepareNr1() {
  BASEBAND_RETURN_IF_ERROR(FewRows::Prepare());
  return AllRows::Prepare();
}

}  // namespace baseband::ldpc
