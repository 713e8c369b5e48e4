// The NR decoder over base graph 2. Layout of each variant: decode_nr.cuh.
#include "kernels/ldpc/decode_nr_launch.cuh"

namespace baseband::ldpc {

absl::Status LaunchNr2(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  if (batch.code->zc() == device::kLargestZc) return LaunchNrLargest2(batch, engine, stream);
  return LaunchNrPlain<NrKind::kLayered, Nr2DenseRows, Nr2FewRows, Nr2AllRows>(batch, engine,
                                                                               stream);
}

absl::Status PrepareNr2() {
  return PrepareNrPlain<NrKind::kLayered, Nr2DenseRows, Nr2FewRows, Nr2AllRows>();
}

}  // namespace baseband::ldpc
