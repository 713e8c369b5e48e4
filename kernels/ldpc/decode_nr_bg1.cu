// The NR decoder over base graph 1. Layout of each variant: decode_nr.cuh.
#include "kernels/ldpc/decode_nr_launch.cuh"

namespace baseband::ldpc {

absl::Status LaunchNr1(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  if (batch.code->zc() == device::kLargestZc) return LaunchNrLargest1(batch, engine, stream);
  return LaunchNrPlain<NrKind::kLayered, Nr1DenseRows, Nr1EightRows, Nr1TwelveRows, Nr1AllRows>(
      batch, engine, stream);
}

absl::Status PrepareNr1() {
  return PrepareNrPlain<NrKind::kLayered, Nr1DenseRows, Nr1EightRows, Nr1TwelveRows, Nr1AllRows>();
}

}  // namespace baseband::ldpc
