// Launches of the decoder of any code that fits on the chip. Host code around decode_layered.cuh.
#include <bitset>

#include "kernels/ldpc/decode_launch.h"
#include "kernels/ldpc/decode_layered.cuh"
#include "kernels/ldpc/decode_parameters.cuh"

namespace baseband::ldpc {
namespace {

using Kernel = void (*)(device::LayeredParameters);

// By row degree, so that the common codes keep few registers and many threads.
template <bool kSidewise, bool kFlooding>
Kernel KernelOf(int degree) {
  if (degree <= 8) return device::DecodeLayeredKernel<8, kSidewise, kFlooding, 512, 2>;
  if (degree <= 16) return device::DecodeLayeredKernel<16, kSidewise, kFlooding, 512, 1>;
  return device::DecodeLayeredKernel<kMaxRowDegree, kSidewise, kFlooding, 512, 1>;
}
Kernel KernelFor(int degree, bool sidewise, bool flooding) {
  if (flooding) return sidewise ? KernelOf<true, true>(degree) : KernelOf<false, true>(degree);
  return sidewise ? KernelOf<true, false>(degree) : KernelOf<false, false>(degree);
}

int MessageWords(const Code& code) {
  int words = 0;
  for (int r = 0; r < code.rows(); ++r) words += static_cast<int>(code.row(r).size() + 1) / 2;
  return words;
}

// Words for the messages, or for the LLRs staged in their place.
int MessageArea(const Code& code, int pairs) {
  const int staged =
      static_cast<int>(device::StagedLlr::Words(static_cast<uint32_t>(code.num_sent())));
  return pairs * std::max(MessageWords(code) * code.zc(), 2 * staged);
}

bool Floods(const DecodeParameters& parameters) {
  return parameters.schedule == Schedule::kFlooding;
}

int SharedBytes(const Code& code, bool flooding, int pairs) {
  return 4 * ((flooding ? 2 : 1) * code.columns() * pairs * code.zc() + MessageArea(code, pairs) +
              static_cast<int>(device::Progress::kWordsPerPair) * pairs);
}

// Threads of a block: enough to share a barrier's wait among few, and a row's loop among many.
constexpr int kTargetThreads = 128;

device::LayeredParameters MakeParameters(const DecodeBatch& batch, const Engine& engine,
                                         int pairs) {
  const Code& code = *batch.code;
  device::LayeredParameters p{};
  p.io = MakeIo(batch);
  p.shape = MakeShape(batch, engine, pairs);
  p.scale = LightScaleOf(engine);
  p.limit = LimitHalves(engine);
  p.minus_zc4 = 0 - 4 * p.shape.zc;
  p.num_words = static_cast<uint32_t>(MessageWords(code));
  p.message_area = static_cast<uint32_t>(MessageArea(code, pairs));
  const uint32_t column_bytes = 4 * p.shape.pairs * p.shape.zc;
  std::bitset<kMaxColumns> touched;  // columns since the last barrier
  uint16_t edge_begin = 0;
  uint16_t word_begin = 0;
  for (int r = 0; r < code.rows(); ++r) {
    std::bitset<kMaxColumns> columns;
    for (const Edge& edge : code.row(r)) columns.set(edge.column);
    device::LayeredRow& row = p.row[r];
    row.edge_begin = edge_begin;
    row.word_begin = word_begin;
    row.degree = static_cast<uint8_t>(code.row(r).size());
    row.barrier = r == 0 || (touched & columns).any();
    touched = row.barrier ? columns : touched | columns;
    for (const Edge& edge : code.row(r)) {
      p.edge[edge_begin++] = {4u * edge.shift, edge.column * column_bytes};
    }
    word_begin = static_cast<uint16_t>(word_begin + (row.degree + 1) / 2);
  }
  return p;
}

}  // namespace

bool LayeredFits(const Code& code, const DecodeParameters& parameters) {
  return SharedBytes(code, Floods(parameters), 1) <= kSharedBytes;
}

absl::Status LaunchLayered(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  const absl::StatusOr<DeviceLimits> limits = QueryDeviceLimits();
  if (!limits.ok()) return limits.status();
  const Code& code = *batch.code;
  const bool flooding = Floods(batch.parameters);
  const int num_pairs = (batch.num_blocks + 1) / 2;
  int pairs = SideBySide(code.zc(), num_pairs, kTargetThreads, *limits);
  while (SharedBytes(code, flooding, pairs) > kSharedBytes) --pairs;
  device::LayeredParameters p = MakeParameters(batch, engine, pairs);
  return LaunchKernel(KernelFor(code.max_row_degree(), pairs > 1, flooding),
                      (num_pairs + pairs - 1) / pairs, pairs * code.zc(),
                      SharedBytes(code, flooding, pairs), p, stream);
}

absl::Status PrepareLayered() {
  for (int degree : {8, 16, kMaxRowDegree}) {
    for (const bool sidewise : {false, true}) {
      for (const bool flooding : {false, true}) {
        BASEBAND_RETURN_IF_ERROR(
            PrepareKernel(KernelFor(degree, sidewise, flooding), kSharedBytes));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::ldpc
