// The NR decoder over base graph 1 whose code words a CRC may stop: kernels of their own, so that
// the others stay as fast as they are.
#include "kernels/ldpc/decode_nr_launch.cuh"

namespace baseband::ldpc {

absl::Status LaunchNrCrc1(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  return LaunchNrCrc<Nr1DenseRows, Nr1EightRows, Nr1TwelveRows, Nr1AllRows>(batch, engine, stream);
}

absl::Status PrepareNrCrc1() {
  return PrepareNrCrc<Nr1DenseRows, Nr1EightRows, Nr1TwelveRows, Nr1AllRows>();
}

}  // namespace baseband::ldpc
