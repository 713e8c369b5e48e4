// The NR decoder at the largest lifting size, which blocks of large transport blocks have:
// kernels of their own, whose shifts are constants. Layout of each variant: decode_nr.cuh.
#include "kernels/ldpc/decode_nr_launch.cuh"

namespace baseband::ldpc {
namespace {

using First4 = NrVariant<device::LargestGraph1, 4, 12, 2>;
using First8 = NrVariant<device::LargestGraph1, 8, 14, 2>;
using First12 = NrVariant<device::LargestGraph1, 12, 31, 2>;
using First46 = NrVariant<device::LargestGraph1, 46, 103, 1, 4, 36>;
using Second4 = NrVariant<device::LargestGraph2, 4, 0, 2>;
using Second8 = NrVariant<device::LargestGraph2, 8, 0, 2>;
using Second42 = NrVariant<device::LargestGraph2, 42, 100, 1, 2, 38>;
constexpr NrKind kKind = NrKind::kLayered;

}  // namespace

absl::Status LaunchNrLargest1(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  return LaunchNrPlain<kKind, First4, First8, First12, First46>(batch, engine, stream);
}
absl::Status LaunchNrLargest2(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  return LaunchNrPlain<kKind, Second4, Second8, Second42>(batch, engine, stream);
}

absl::Status PrepareNrLargest() {
  return PrepareNrPlain<kKind, First4, First8, First12, First46, Second4, Second8, Second42>();
}

}  // namespace baseband::ldpc
