// Launches of the narrow NR decoder: which instantiation of the kernel, and its parameters. Host
// code.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NARROW_LAUNCH_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NARROW_LAUNCH_CUH_

#include <algorithm>

#include "kernels/ldpc/crc_powers.h"
#include "kernels/ldpc/decode_launch.h"
#include "kernels/ldpc/decode_narrow.cuh"
#include "kernels/ldpc/decode_nr_launch.cuh"
#include "kernels/ldpc/decode_parameters.cuh"

namespace baseband::ldpc {

// Entries of NarrowParameters::check.
template <class Graph>
constexpr int NarrowChecks() {
  int fours = 0;
  for (int r = 0; r < Graph::kRows; ++r) fours += (device::Layout<Graph>::CoreDegree(r) + 3) / 4;
  return fours;
}

// Of a code with the first rows of Graph; zc is even.
template <class Graph, int kMaxRows>
device::NarrowParametersOf<Graph> MakeNarrowParameters(const DecodeBatch& batch,
                                                       const Engine& engine) {
  using Schedule = device::NarrowSchedule<Graph>;
  static_assert(Schedule::FirstLightRow() <= 32);  // see heavy_rows
  static_assert(NarrowChecks<Graph>() <= device::kNarrowMaxChecks);
  const Code& code = *batch.code;
  device::NarrowParametersOf<Graph> p{};
  constexpr bool kTurns = Graph::kZc == 0;
  p.io = MakeIo(batch);
  p.shape = MakeShape(batch, engine, 1);
  p.heavy = HeavyScaleOf(engine);
  p.light = LightScaleOf(engine);
  p.limit = LimitHalves(engine);
  p.half = p.shape.zc / 2;
  p.team_threads = (p.half + 31) / 32 * 32;
  const absl::Span<const Edge> edges = code.edges();
  for (size_t e = 0; e < edges.size(); ++e) {
    const uint32_t column = edges[e].column;
    if (column >= Graph::kCoreColumns) continue;
    p.last_shift[column] = edges[e].shift;
    const auto slot = static_cast<uint32_t>(Schedule::kTable.write_slot[e] * Graph::kMaxZc / 2);
    if constexpr (kTurns) {
      p.last_word[column] = slot;
      p.last_slot4[column] = 4 * slot;
    } else {
      const bool exchanged = device::NarrowTurns<Graph, kMaxRows>::kTable.exchanged[e];
      p.last_word[column] = 2 * slot + (exchanged ? p.half : 0);
      p.last_copy[column] = 2 * slot + (exchanged ? 0 : p.half);
    }
  }
  if constexpr (kTurns) {
    p.half4 = 4 * p.half;
    p.four = 4;
  }
  uint32_t before[Graph::kCoreColumns];
  std::copy_n(p.last_shift, Graph::kCoreColumns, before);
  int fours = 0;
  size_t e = 0;
  for (int r = 0; r < code.rows(); ++r) {
    if (Graph::kDegree[r] >= kHeavyDegree) p.heavy_rows |= uint32_t{1} << r;
    int in_row = 0;
    for (const Edge& edge : code.row(r)) {
      const uint32_t column = edge.column;
      if (column < Graph::kCoreColumns) {
        const uint32_t step = (edge.shift + p.shape.zc - before[column]) % p.shape.zc;
        if constexpr (kTurns) {
          const int place = Schedule::kTable.place[e];
          const bool long_step = step >= p.half;
          p.step[e] = 4 * (step - (long_step ? 2 : 1) * p.half);
          if (!long_step) p.turns[r] |= 1u << (device::kNarrowFirstTurn + place);
        }
        before[column] = edge.shift;
        if (in_row % 4 == 0) {
          for (uint16_t& bit : p.check[fours].first_bit) bit = device::kNarrowZeroBits;
          ++fours;
        }
        p.check[fours - 1].first_bit[in_row++ % 4] =
            static_cast<uint16_t>(column * 32 * device::kNarrowBitsStride +
                                  (edge.shift + p.shape.zc - p.last_shift[column]) % p.shape.zc);
      }
      ++e;
    }
    p.check_begin[r + 1] = static_cast<uint16_t>(fours);
  }
  return p;
}

// One instantiation, for codes of up to kMaxRows rows or, with kAllRows, of just these; messages of
// the first kPlainRows take a register each.
template <class Graph, int kMaxRows, int kPlainRows, bool kAllRows>
struct NarrowVariant {
  static bool Takes(const Code& code) {
    if (Graph::kZc != 0 && code.zc() != Graph::kZc) return false;
    return kAllRows ? code.rows() == kMaxRows : code.rows() <= kMaxRows;
  }
  template <bool kCrc>
  static constexpr auto Kernel() {
    return device::DecodeNarrowKernel<Graph, kMaxRows, kPlainRows, kAllRows, kCrc>;
  }
  static constexpr int kSharedBytes =
      4 * device::NarrowDecoder<Graph, kMaxRows, kPlainRows, kAllRows, true>::kSharedWords;
  static_assert(kSharedBytes <= ldpc::kSharedBytes);

  static absl::Status Prepare() {
    BASEBAND_RETURN_IF_ERROR(PrepareKernel(Kernel<false>(), kSharedBytes));
    return PrepareKernel(Kernel<true>(), kSharedBytes);
  }
  // `crc_powers`: see device::DecodeIo; null if no CRC stops code words.
  static absl::Status Launch(const DecodeBatch& batch, const Engine& engine,
                             const uint32_t* crc_powers, cudaStream_t stream) {
    device::NarrowParametersOf<Graph> p = MakeNarrowParameters<Graph, kMaxRows>(batch, engine);
    p.io.crc_powers = crc_powers;
    return LaunchKernel(crc_powers != nullptr ? Kernel<true>() : Kernel<false>(), batch.num_blocks,
                        static_cast<int>(2 * p.team_threads), kSharedBytes, p, stream);
  }
};

// With the first variant that takes the batch's code; the last one takes all.
template <class... Variants>
absl::Status LaunchNarrow(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  const DecodeParameters& parameters = batch.parameters;
  const uint32_t* crc_powers = nullptr;
  if (parameters.early_termination && parameters.stop_crc.has_value()) {
    const absl::StatusOr<const uint32_t*> powers = CrcPowersOnDevice(*parameters.stop_crc);
    if (!powers.ok()) return powers.status();
    crc_powers = *powers;
  }
  return WithVariant<Variants...>(
      *batch.code, [&](auto variant) { return variant.Launch(batch, engine, crc_powers, stream); });
}
template <class... Variants>
absl::Status PrepareNarrow() {
  for (const auto prepare : {&Variants::Prepare...}) BASEBAND_RETURN_IF_ERROR(prepare());
  return absl::OkStatus();
}

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NARROW_LAUNCH_CUH_
