// The unrolled decoder under the flooding schedule, over the base graphs of NR and the 802.16e
// matrix of rate 1/2: one instantiation for all rows of each. Layout: decode_nr.cuh.
#include "kernels/ldpc/decode_nr_launch.cuh"

namespace baseband::ldpc {
namespace {

using Nr1 = NrVariant<device::BaseGraph1, 46, 92, 1>;
using Nr2 = NrVariant<device::BaseGraph2, 42, 76, 1>;
using Wimax = NrVariant<device::Wimax12, 12, 36, 7>;

}  // namespace

absl::Status LaunchNrFlooding1(const DecodeBatch& batch, const Engine& engine,
                               cudaStream_t stream) {
  return LaunchNrPlain<NrKind::kFlooding, Nr1>(batch, engine, stream);
}
absl::Status LaunchNrFlooding2(const DecodeBatch& batch, const Engine& engine,
                               cudaStream_t stream) {
  return LaunchNrPlain<NrKind::kFlooding, Nr2>(batch, engine, stream);
}
absl::Status LaunchWimax12Flooding(const DecodeBatch& batch, const Engine& engine,
                                   cudaStream_t stream) {
  return LaunchNrPlain<NrKind::kFlooding, Wimax>(batch, engine, stream);
}

absl::Status PrepareNrFlooding() { return PrepareNrPlain<NrKind::kFlooding, Nr1, Nr2, Wimax>(); }

}  // namespace baseband::ldpc
