// Launches of the NR decoder: which instantiation of the kernel, and its parameters. Host code.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_LAUNCH_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_LAUNCH_CUH_

#include "kernels/ldpc/crc_powers.h"
#include "kernels/ldpc/decode_launch.h"
#include "kernels/ldpc/decode_nr.cuh"
#include "kernels/ldpc/decode_parameters.cuh"

namespace baseband::ldpc {

using device::NrKind;

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
  p.scales.heavy = HeavyScaleOf(engine);
  p.scales.light = LightScaleOf(engine);
  p.scales.limit = LimitHalves(engine);
  for (int r = 0; r < code.rows(); ++r) {
    if (Graph::kDegree[r] >= kHeavyDegree) p.scales.heavy_rows |= uint64_t{1} << r;
  }
  p.shifts = MakeNrShifts(code);
  return p;
}

// One instantiation for codes of up to kMaxRows rows and lifting sizes from kLeastZc on, of which
// kBlocks thread blocks share a multiprocessor; kRegisterWords of the messages stay in registers,
// of the others up to kWidth are read at an access; kChannelWords: of device::ExtensionColumns.
template <class Graph, int kMaxRows, int kRegisterWords, int kBlocks, int kWidth = 2,
          int kChannelWords = 0, int kLeastZc = 2>
struct NrVariant {
  template <bool kSidewise, NrKind kKind>
  static constexpr auto Kernel() {
    return device::DecodeNrKernel<Graph, kMaxRows, kRegisterWords, kBlocks, kWidth, kChannelWords,
                                  kSidewise, kKind>;
  }
  template <NrKind kKind>
  static constexpr int SharedBytes(int pairs) {
    return 4 * device::NrDecoder<Graph, kMaxRows, kRegisterWords, kWidth, kChannelWords,
                                 kBlocks == 1, false, kKind>::SharedWords(pairs);
  }
  // Of graphs with a lifting size, code words fill a thread block as they are.
  static constexpr bool kAnyZc = Graph::kZc == 0;
  static constexpr int kMostPairs = Graph::kMaxZc / (kAnyZc ? kLeastZc : Graph::kZc);
  static_assert(kAnyZc || kMostPairs == 1);  // Kernel<false> has one in a thread block

  static bool Takes(const Code& code) {
    return code.rows() <= kMaxRows && (kAnyZc ? code.zc() >= kLeastZc : code.zc() == Graph::kZc);
  }

  template <NrKind kKind>
  static absl::Status Prepare() {
    constexpr int kBytes = SharedBytes<kKind>(kMostPairs);
    static_assert(kBlocks * (kBytes + 1024) <= 228 * 1024);
    if constexpr (kAnyZc) {
      BASEBAND_RETURN_IF_ERROR(PrepareKernel(Kernel<true, kKind>(), kBytes));
    }
    return PrepareKernel(Kernel<false, kKind>(), kBytes);
  }

  // `crc_powers`: with kLayeredCrc, see device::DecodeIo.
  template <NrKind kKind>
  static absl::Status Launch(const DecodeBatch& batch, const Engine& engine,
                             const DeviceLimits& limits, const uint32_t* crc_powers,
                             cudaStream_t stream) {
    const int zc = batch.code->zc();
    const int num_pairs = (batch.num_blocks + 1) / 2;
    const int pairs = SideBySide(zc, num_pairs, Graph::kMaxZc, limits);
    device::NrParameters p = MakeNrParameters<Graph>(batch, engine, pairs);
    p.io.crc_powers = crc_powers;
    p.ahead = static_cast<uint32_t>(kBlocks * limits.multiprocessors);
    const auto launch = [&](auto kernel) {
      return LaunchKernel(kernel, (num_pairs + pairs - 1) / pairs, pairs * zc,
                          SharedBytes<kKind>(pairs), p, stream);
    };
    if constexpr (kAnyZc) {
      if (pairs > 1) return launch(Kernel<true, kKind>());
    }
    return launch(Kernel<false, kKind>());
  }
};

// Of the base graphs: codes of few rows, of which more thread blocks share a multiprocessor, and
// those of any.
using Nr1DenseRows = NrVariant<device::BaseGraph1, 4, 12, 2>;
using Nr1EightRows = NrVariant<device::BaseGraph1, 8, 13, 2>;
using Nr1TwelveRows = NrVariant<device::BaseGraph1, 12, 31, 2, 1, 0, 32>;
using Nr1AllRows = NrVariant<device::BaseGraph1, 46, 104, 1>;
using Nr2DenseRows = NrVariant<device::BaseGraph2, 4, 0, 2>;
using Nr2FewRows = NrVariant<device::BaseGraph2, 8, 0, 2>;
using Nr2AllRows = NrVariant<device::BaseGraph2, 42, 100, 1>;

// launch(variant) of the first variant that takes `code`; the last one takes all.
template <class Variant, class... Others, class Launch>
absl::Status WithVariant(const Code& code, const Launch& launch) {
  if constexpr (sizeof...(Others) > 0) {
    if (!Variant::Takes(code)) return WithVariant<Others...>(code, launch);
  }
  return launch(Variant());
}

// Launches, and what prepares them.
template <NrKind kKind, class... Variants>
absl::Status LaunchNrPlain(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  const absl::StatusOr<DeviceLimits> limits = QueryDeviceLimits();
  if (!limits.ok()) return limits.status();
  return WithVariant<Variants...>(*batch.code, [&](auto variant) {
    return variant.template Launch<kKind>(batch, engine, *limits, nullptr, stream);
  });
}
template <NrKind kKind, class... Variants>
absl::Status PrepareNrPlain() {
  for (const auto prepare : {&Variants::template Prepare<kKind>...}) {
    BASEBAND_RETURN_IF_ERROR(prepare());
  }
  return absl::OkStatus();
}
template <class... Variants>
absl::Status LaunchNrCrc(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  const absl::StatusOr<DeviceLimits> limits = QueryDeviceLimits();
  if (!limits.ok()) return limits.status();
  const absl::StatusOr<const uint32_t*> powers = CrcPowersOnDevice(*batch.parameters.stop_crc);
  if (!powers.ok()) return powers.status();
  return WithVariant<Variants...>(*batch.code, [&](auto variant) {
    return variant.template Launch<NrKind::kLayeredCrc>(batch, engine, *limits, *powers, stream);
  });
}
template <class... Variants>
absl::Status PrepareNrCrc() {
  BASEBAND_RETURN_IF_ERROR(CrcPowersOnDevice(Crc::kCrc24B).status());
  for (const auto prepare : {&Variants::template Prepare<NrKind::kLayeredCrc>...}) {
    BASEBAND_RETURN_IF_ERROR(prepare());
  }
  return absl::OkStatus();
}

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_LAUNCH_CUH_
