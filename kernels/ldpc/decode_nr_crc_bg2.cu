// The NR decoder over base graph 2 whose code words a CRC may stop: kernels of their own, so that
// the others stay as fast as they are.
#include "kernels/ldpc/decode_nr_launch.cuh"

namespace baseband::ldpc {

absl::Status LaunchNrCrc2(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  return LaunchNrCrc<Nr2DenseRows, Nr2FewRows, Nr2AllRows>(batch, engine, stream);
}

absl::Status PrepareNrCrc2() { return PrepareNrCrc<Nr2DenseRows, Nr2FewRows, Nr2AllRows>(); }

}  // namespace baseband::ldpc
