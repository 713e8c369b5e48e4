// Launches of the general decoder. Host code around decode_general.cuh.
#include "kernels/ldpc/decode_general.cuh"
#include "kernels/ldpc/decode_launch.h"
#include "kernels/ldpc/decode_parameters.cuh"

namespace baseband::ldpc {
namespace {

using Kernel = void (*)(device::GeneralParameters);
using device::IntegerArithmetic;
using device::SumProductArithmetic;

constexpr int kTargetThreads = 256;

// Where the state of a code's words lies.
struct Placement {
  int app_bytes = 0;      // of a code word
  int message_bytes = 0;  // likewise
  bool app_in_workspace = false;
  bool messages_in_workspace = false;
  int words = 1;  // code words side by side

  int shared_bytes() const {
    return static_cast<int>(device::WordProgress::Bytes(static_cast<uint32_t>(words))) +
           words * (app_in_workspace ? 0 : app_bytes) +
           words * (messages_in_workspace ? 0 : message_bytes);
  }
  int64_t slot_bytes() const {
    return int64_t{words} * (app_in_workspace ? app_bytes : 0) +
           int64_t{words} * (messages_in_workspace ? message_bytes : 0);
  }
  int slots() const {
    return static_cast<int>(std::min<int64_t>(kMostSlots, kMaxDecodeWorkspaceBytes / slot_bytes()));
  }
};

template <class Arithmetic>
Placement PlaceAs(const Code& code) {
  const auto bytes = [](int count, size_t size) {
    return (count * static_cast<int>(size) + 15) / 16 * 16;
  };
  Placement place;
  place.app_bytes = bytes(code.n(), sizeof(typename Arithmetic::App));
  place.message_bytes = bytes(static_cast<int>(code.edges().size()) * code.zc(),
                              sizeof(typename Arithmetic::Message));
  place.messages_in_workspace = place.shared_bytes() > kSharedBytes;
  place.app_in_workspace = place.shared_bytes() > kSharedBytes;
  const int fit = std::max(1, kTargetThreads / code.zc());
  while (place.words < fit) {
    ++place.words;
    if (place.shared_bytes() <= kSharedBytes / 2) continue;
    --place.words;
    break;
  }
  return place;
}

bool IsSumProduct(const DecodeParameters& parameters) {
  return parameters.algorithm == Algorithm::kSumProduct;
}

Placement Place(const Code& code, const DecodeParameters& parameters) {
  return IsSumProduct(parameters) ? PlaceAs<SumProductArithmetic>(code)
                                  : PlaceAs<IntegerArithmetic>(code);
}

device::GeneralParameters MakeParameters(const DecodeBatch& batch, const Engine& engine,
                                         const Placement& place) {
  const Code& code = *batch.code;
  device::GeneralParameters p{};
  p.io = MakeIo(batch);
  // Sum-product takes LLRs as they are: the engine's integers mean nothing to it.
  p.engine = IsSumProduct(batch.parameters) ? Engine{} : engine;
  p.shape = MakeShape(batch, p.engine, 1);
  p.words = static_cast<uint32_t>(place.words);
  p.flooding = batch.parameters.schedule == Schedule::kFlooding;
  p.llr_scale = batch.parameters.llr_scale;
  p.workspace = static_cast<char*>(batch.workspace);
  p.slot_bytes = static_cast<uint64_t>(place.slot_bytes());
  p.app_bytes = static_cast<uint32_t>(place.app_bytes);
  p.message_bytes = static_cast<uint32_t>(place.message_bytes);
  p.app_in_workspace = place.app_in_workspace;
  p.messages_in_workspace = place.messages_in_workspace;
  const absl::Span<const Edge> edges = code.edges();
  for (size_t e = 0; e < edges.size(); ++e) {
    p.edge[e] = {edges[e].column, edges[e].shift};
    ++p.row_begin[edges[e].row + 1];
    ++p.column_begin[edges[e].column + 1];
  }
  for (int r = 0; r < code.rows(); ++r) p.row_begin[r + 1] += p.row_begin[r];
  for (int c = 0; c < code.columns(); ++c) p.column_begin[c + 1] += p.column_begin[c];
  uint16_t next[kMaxColumns];
  std::copy(p.column_begin, p.column_begin + code.columns(), next);
  for (size_t e = 0; e < edges.size(); ++e) {
    p.column_edge[next[edges[e].column]++] = static_cast<uint16_t>(e);
  }
  return p;
}

}  // namespace

int64_t GeneralWorkspaceBytes(const Code& code, const DecodeParameters& parameters) {
  const Placement place = Place(code, parameters);
  return place.slot_bytes() == 0 ? 0 : place.slot_bytes() * place.slots();
}

absl::Status LaunchGeneral(const DecodeBatch& batch, const Engine& engine, cudaStream_t stream) {
  const Placement place = Place(*batch.code, batch.parameters);
  device::GeneralParameters p = MakeParameters(batch, engine, place);
  int blocks = (batch.num_blocks + place.words - 1) / place.words;
  if (place.slot_bytes() > 0) blocks = std::min(blocks, place.slots());
  const Kernel kernel = IsSumProduct(batch.parameters)
                            ? device::DecodeGeneralKernel<SumProductArithmetic>
                            : device::DecodeGeneralKernel<IntegerArithmetic>;
  return LaunchKernel(kernel, blocks, place.words * batch.code->zc(), place.shared_bytes(), p,
                      stream);
}

absl::Status PrepareGeneral() {
  BASEBAND_RETURN_IF_ERROR(
      PrepareKernel(device::DecodeGeneralKernel<SumProductArithmetic>, kSharedBytes));
  return PrepareKernel(device::DecodeGeneralKernel<IntegerArithmetic>, kSharedBytes);
}

}  // namespace baseband::ldpc
