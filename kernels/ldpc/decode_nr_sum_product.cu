// Sum-product under the layered schedule, over the base graphs of NR and the 802.16e matrix of rate
// 1/2. Host code around decode_nr_sum_product.cuh.
#include "kernels/ldpc/decode_launch.h"
#include "kernels/ldpc/decode_nr_sum_product.cuh"
#include "kernels/ldpc/decode_parameters.cuh"

namespace baseband::ldpc {
namespace {

// kBlocks thread blocks share a multiprocessor.
template <class Graph, int kRegisterEdges, int kSharedEdges, int kBlocks>
struct Variant {
  using Decoder = device::NrSumProductDecoder<Graph, kRegisterEdges, kSharedEdges, true>;
  template <bool kSidewise>
  static constexpr auto kKernel =
      device::DecodeNrSumProductKernel<Graph, kRegisterEdges, kSharedEdges, kBlocks, kSidewise>;
  static constexpr int kMostBytes = Decoder::SharedBytes(Graph::kMaxZc / 2);
  static_assert(kBlocks * (kMostBytes + 1024) <= 228 * 1024);

  static int64_t WorkspaceBytes() { return int64_t{4} * Decoder::kWorkspaceWords * kMostSlots; }
  static absl::Status Prepare() {
    BASEBAND_RETURN_IF_ERROR(PrepareKernel(kKernel<false>, kMostBytes));
    return PrepareKernel(kKernel<true>, kMostBytes);
  }
  static absl::Status Launch(const DecodeBatch& batch, cudaStream_t stream) {
    const absl::StatusOr<DeviceLimits> limits = QueryDeviceLimits();
    if (!limits.ok()) return limits.status();
    const Code& code = *batch.code;
    const int words = SideBySide(code.zc(), batch.num_blocks, Graph::kMaxZc, *limits);
    device::NrSumProductParameters p{};
    p.io = MakeIo(batch);
    p.shape = MakeShape(batch, Engine{}, 1);
    p.words = static_cast<uint32_t>(words);
    p.llr_scale = batch.parameters.llr_scale;
    p.workspace = static_cast<float*>(batch.workspace);
    p.shifts = MakeNrShifts(code);
    int blocks = (batch.num_blocks + words - 1) / words;
    if (Decoder::kWorkspaceWords > 0) {
      blocks = std::min({blocks, kMostSlots, kBlocks * limits->multiprocessors});
    }
    return LaunchKernel(words == 1 ? kKernel<false> : kKernel<true>, blocks, words * code.zc(),
                        Decoder::SharedBytes(words), p, stream);
  }
};

using Nr1 = Variant<device::BaseGraph1, 64, 112, 1>;
using Nr2 = Variant<device::BaseGraph2, 60, 99, 1>;
using Wimax = Variant<device::Wimax12, 32, 44, 8>;

}  // namespace

int64_t NrSumProductWorkspaceBytes1() { return Nr1::WorkspaceBytes(); }
int64_t NrSumProductWorkspaceBytes2() { return Nr2::WorkspaceBytes(); }
absl::Status LaunchNrSumProduct1(const DecodeBatch& batch, const Engine& /*engine*/,
                                 cudaStream_t stream) {
  return Nr1::Launch(batch, stream);
}
absl::Status LaunchNrSumProduct2(const DecodeBatch& batch, const Engine& /*engine*/,
                                 cudaStream_t stream) {
  return Nr2::Launch(batch, stream);
}
absl::Status LaunchWimax12SumProduct(const DecodeBatch& batch, const Engine& /*engine*/,
                                     cudaStream_t stream) {
  return Wimax::Launch(batch, stream);
}

absl::Status PrepareNrSumProduct() {
  BASEBAND_RETURN_IF_ERROR(Nr1::Prepare());
  BASEBAND_RETURN_IF_ERROR(Nr2::Prepare());
  return Wimax::Prepare();
}

}  // namespace baseband::ldpc
