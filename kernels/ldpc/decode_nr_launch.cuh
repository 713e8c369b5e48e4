// Launches of the NR decoder: which instantiation of the kernel, and its parameters. Host code.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_LAUNCH_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_LAUNCH_CUH_

#include "kernels/ldpc/decode_launch.h"
#include "kernels/ldpc/decode_nr.cuh"
#include "kernels/ldpc/decode_parameters.cuh"

namespace baseband::ldpc {

// Whether `code` has the first rows of Graph, and no others.
template <class Graph>
bool MatchesGraph(const Code& code) {
  if (code.zc() > Graph::kMaxZc || code.rows() > Graph::kRows ||
      code.columns() != Graph::kCoreColumns + std::max(0, code.rows() - Graph::kDenseRows)) {
    return false;
  }
  int next = 0;
  for (int r = 0; r < code.rows(); ++r) {
    if (code.row(r).size() != Graph::kDegree[r]) return false;
    for (const Edge& edge : code.row(r)) {
      if (edge.column != Graph::kColumn[next++]) return false;
    }
  }
  return code.rows() >= Graph::kDenseRows;
}

template <class Graph>
device::NrParameters MakeNrParameters(const DecodeBatch& batch, const Engine& engine, int pairs) {
  const Code& code = *batch.code;
  device::NrParameters p{};
  p.io = MakeIo(batch);
  p.shape = MakeShape(batch, engine, pairs);
  p.factor = FactorHalves(engine);
  p.limit = LimitHalves(engine);
  p.minus_zc4 = 0 - 4 * p.shape.zc;
  const absl::Span<const Edge> edges = code.edges();
  for (size_t e = 0; e < edges.size(); ++e) p.shift4[e] = 4u * edges[e].shift;
  return p;
}

// One instantiation for codes of up to kMaxRows rows, of which `blocks` thread blocks share a
// multiprocessor; kRegisterWords of the messages stay in registers.
template <class Graph, int kMaxRows, int kRegisterWords, int kBlocks>
struct NrVariant {
  template <bool kSidewise, bool kSoft>
  static constexpr auto Kernel() {
    return device::DecodeNrKernel<Graph, kMaxRows, kRegisterWords, kBlocks, kSidewise, kSoft>;
  }
  static constexpr int SharedBytes(int pairs) {
    return 4 * device::NrDecoder<Graph, kMaxRows, kRegisterWords, false, false>::SharedWords(pairs);
  }
  static_assert(kBlocks * (SharedBytes(Graph::kMaxZc / 2) + 1024) <= 228 * 1024);

  static bool Takes(const Code& code) { return code.rows() <= kMaxRows; }

  static absl::Status Prepare() {
    constexpr int kBytes = SharedBytes(Graph::kMaxZc / 2);  // zc = 2 has the most pairs
    BASEBAND_RETURN_IF_ERROR(PrepareKernel(Kernel<false, false>(), kBytes));
    BASEBAND_RETURN_IF_ERROR(PrepareKernel(Kernel<false, true>(), kBytes));
    BASEBAND_RETURN_IF_ERROR(PrepareKernel(Kernel<true, false>(), kBytes));
    return PrepareKernel(Kernel<true, true>(), kBytes);
  }

  static absl::Status Launch(const DecodeBatch& batch, const Engine& engine,
                             const DeviceLimits& limits, cudaStream_t stream) {
    const int zc = batch.code->zc();
    const int num_pairs = (batch.num_blocks + 1) / 2;
    const int pairs = PairsPerBlock(zc, num_pairs, Graph::kMaxZc, limits);
    device::NrParameters p = MakeNrParameters<Graph>(batch, engine, pairs);
    const auto kernel = pairs > 1 ? (batch.soft ? Kernel<true, true>() : Kernel<true, false>())
                                  : (batch.soft ? Kernel<false, true>() : Kernel<false, false>());
    return LaunchKernel(kernel, (num_pairs + pairs - 1) / pairs, pairs * zc, SharedBytes(pairs), p,
                        stream);
  }
};

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_LAUNCH_CUH_
