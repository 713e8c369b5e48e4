// The narrow NR decoder over base graph 2.
#include "kernels/ldpc/decode_narrow_launch.cuh"

namespace baseband::ldpc {
namespace {

using LargestDenseRows = NarrowVariant<device::LargestGraph2, 4, 4, true>;
using LargestAllRows = NarrowVariant<device::LargestGraph2, 42, 42, true>;
using DenseRows = NarrowVariant<device::BaseGraph2, 4, 4, true>;
using AllRows = NarrowVariant<device::BaseGraph2, 42, 42, true>;
using AnyRows = NarrowVariant<device::BaseGraph2, 42, 42, false>;

}  // namespace

absl::Status LaunchNarrow2(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  return LaunchNarrow<LargestDenseRows, LargestAllRows, DenseRows, AllRows, AnyRows>(batch, engine,
                                                                                     stream);
}

absl::Status PrepareNarrow2() {
  return PrepareNarrow<LargestDenseRows, LargestAllRows, DenseRows, AllRows, AnyRows>();
}

}  // namespace baseband::ldpc
