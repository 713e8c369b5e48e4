// The unrolled decoder over the 802.16e matrix of rate 1/2. Its blocks are small: all messages stay
// in registers, and many thread blocks share a multiprocessor.
#include "kernels/ldpc/decode_nr_launch.cuh"

namespace baseband::ldpc {
namespace {

using Variant = NrVariant<device::Wimax12, 12, 40, 9>;

}  // namespace

// Pairs of zc 1 would be more than a thread block has room for in shared memory.
bool IsWimax12(const Code& code) {
  return MatchesGraph<device::Wimax12>(code) && Variant::Takes(code);
}

absl::Status LaunchWimax12(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  return LaunchNrPlain<NrKind::kLayered, Variant>(batch, engine, stream);
}

absl::Status PrepareWimax12() { return PrepareNrPlain<NrKind::kLayered, Variant>(); }

}  // namespace baseband::ldpc
