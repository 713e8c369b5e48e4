// The narrow NR decoder over base graph 1.
#include "kernels/ldpc/decode_narrow_launch.cuh"

namespace baseband::ldpc {
namespace {

using LargestDenseRows = NarrowVariant<device::LargestGraph1, 4, 4, true>;
using LargestAllRows = NarrowVariant<device::LargestGraph1, 46, 12, true>;
using DenseRows = NarrowVariant<device::BaseGraph1, 4, 4, true>;
using AllRows = NarrowVariant<device::BaseGraph1, 46, 12, true>;
using AnyRows = NarrowVariant<device::BaseGraph1, 46, 12, false>;

}  // namespace

absl::Status LaunchNarrow1(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  return LaunchNarrow<LargestDenseRows, LargestAllRows, DenseRows, AllRows, AnyRows>(batch, engine,
                                                                                     stream);
}

absl::Status PrepareNarrow1() {
  return PrepareNarrow<LargestDenseRows, LargestAllRows, DenseRows, AllRows, AnyRows>();
}

}  // namespace baseband::ldpc
