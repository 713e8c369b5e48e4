// The NR decoder at the largest lifting size, which blocks of large transport blocks have:
// kernels of their own, whose shifts are constants. Layout of each variant: decode_nr.cuh.
#include "kernels/ldpc/decode_nr_launch.cuh"

namespace baseband::ldpc {
namespace {

using Largest1DenseRows = NrVariant<device::LargestGraph1, 4, 12, 2>;
using Largest1EightRows = NrVariant<device::LargestGraph1, 8, 14, 2>;
using Largest1TwelveRows = NrVariant<device::LargestGraph1, 12, 33, 2>;
using Largest1AllRows = NrVariant<device::LargestGraph1, 46, 103, 1, 4, 26>;
using Largest2DenseRows = NrVariant<device::LargestGraph2, 4, 0, 2>;
using Largest2FewRows = NrVariant<device::LargestGraph2, 8, 0, 2>;
using Largest2AllRows = NrVariant<device::LargestGraph2, 42, 100, 1, 2, 38>;
constexpr NrKind kKind = NrKind::kLayered;

}  // namespace

absl::Status LaunchNrLargest1(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  return LaunchNrPlain<kKind, Largest1DenseRows, Largest1EightRows, Largest1TwelveRows,
                       Largest1AllRows>(batch, engine, stream);
}
absl::Status LaunchNrLargest2(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  return LaunchNrPlain<kKind, Largest2DenseRows, Largest2FewRows, Largest2AllRows>(batch, engine,
                                                                                   stream);
}

absl::Status PrepareNrLargest() {
  return PrepareNrPlain<kKind, Largest1DenseRows, Largest1EightRows, Largest1TwelveRows,
                        Largest1AllRows, Largest2DenseRows, Largest2FewRows, Largest2AllRows>();
}

}  // namespace baseband::ldpc
