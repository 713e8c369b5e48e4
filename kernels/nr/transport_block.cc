#include "kernels/nr/transport_block.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ldpc/code.h"
#include "kernels/nr/tbs.h"

namespace baseband::nr {
namespace {

// What differs between the base graphs.
struct BaseGraph {
  int k_cb;      // bits of the largest code block
  int columns;   // systematic ones: K / Z_c
  int sent;      // columns that are sent: N / Z_c
  int start[4];  // k_0 by rv, in N_cb / sent columns: table 5.4.2.1-2
};
constexpr BaseGraph kBaseGraphs[2] = {{8448, 22, 66, {0, 17, 33, 56}},
                                      {3840, 10, 50, {0, 13, 25, 43}}};
constexpr int kPuncturedColumns = 2;
constexpr int kMinRows = 4;
constexpr int kBlockCrcBits = 24;
constexpr int64_t kLargestWithCrc16 = 3824;

const BaseGraph& GraphOf(int base_graph) { return kBaseGraphs[base_graph - 1]; }

absl::Status CheckRange(absl::string_view field, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " ", value, " is not in [", least, ", ", most, "]"));
}

absl::Status CheckQm(int qm) {
  for (const int known : {1, 2, 4, 6, 8, 10}) {
    if (qm == known) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("qm ", qm, " is not 1, 2, 4, 6, 8 or 10"));
}

// Clause 5.2.2: columns that hold information, of b bits of transport block and CRC.
int InformationColumns(int base_graph, int64_t b) {
  if (base_graph == 1) return 22;
  return b > 640 ? 10 : b > 560 ? 9 : b > 192 ? 8 : 6;
}

// All is checked; `n_cb` 1 .. N, and d_0 is no filler.
RateMatch MakeChecked(int base_graph, int zc, int num_filler, int64_t n_cb, int rv, int qm,
                      int64_t e) {
  const BaseGraph& graph = GraphOf(base_graph);
  const auto length = static_cast<uint32_t>(n_cb);
  const auto filler_end = static_cast<uint32_t>((graph.columns - kPuncturedColumns) * zc);
  RateMatch r;
  r.n_cb = length;
  r.k0 = static_cast<uint32_t>(graph.start[rv] * n_cb / (graph.sent * zc) * zc);
  r.filler_begin = std::min(filler_end - static_cast<uint32_t>(num_filler), length);
  r.filler_end = std::min(filler_end, length);
  r.e = static_cast<uint32_t>(e);
  r.qm = static_cast<uint32_t>(qm);
  r.kept = KeptBefore(r, length);
  r.kept_before_k0 = KeptBefore(r, r.k0);
  r.columns = r.e / r.qm;
  return r;
}

}  // namespace

int ChooseBaseGraph(int64_t tb_bits, double code_rate) {
  // As floats, as which clients send it: their 0.67 is above that of a double.
  const auto rate = static_cast<float>(code_rate);
  const bool second =
      tb_bits <= 292 || (tb_bits <= kLargestWithCrc16 && rate <= 0.67F) || rate <= 0.25F;
  return second ? 2 : 1;
}

absl::StatusOr<TransportBlockPlan> MakePlan(const TransportBlock& block) {
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("tb_bytes", block.tb_bytes, kMinTransportBlockBytes, kMaxTransportBlockBytes));
  BASEBAND_RETURN_IF_ERROR(CheckRange("base_graph", block.base_graph, 1, 2));
  BASEBAND_RETURN_IF_ERROR(CheckRange("rv", block.rv, 0, 3));
  BASEBAND_RETURN_IF_ERROR(CheckQm(block.qm));
  BASEBAND_RETURN_IF_ERROR(CheckRange("num_layers", block.num_layers, 1, kMaxLayers));
  BASEBAND_RETURN_IF_ERROR(CheckRange("g", block.g, 1, kMaxCodedBits));
  BASEBAND_RETURN_IF_ERROR(CheckRange("tbs_lbrm", block.tbs_lbrm, 0, kMaxTbsLbrm));
  const int granularity = block.num_layers * block.qm;
  if (block.g % granularity != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("g ", block.g, " is not a multiple of layers * qm = ", granularity));
  }

  const BaseGraph& graph = GraphOf(block.base_graph);
  TransportBlockPlan plan;
  plan.tb_bits = 8 * block.tb_bytes;
  plan.tb_crc_bits = plan.tb_bits > kLargestWithCrc16 ? 24 : 16;
  plan.base_graph = block.base_graph;
  const int64_t b = plan.tb_bits + plan.tb_crc_bits;
  const bool split = b > graph.k_cb;
  plan.block_crc_bits = split ? kBlockCrcBits : 0;
  plan.num_blocks = split ? static_cast<int>(CeilOf(b, graph.k_cb - kBlockCrcBits)) : 1;
  const int64_t c = plan.num_blocks;
  if (b % c != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tb_bytes ", block.tb_bytes, ": its ", b, " bits with their CRC do not divide into ", c,
        " equal code blocks of base graph ", block.base_graph));
  }
  plan.k_prime = static_cast<int>(b / c) + plan.block_crc_bits;
  const int information_columns = InformationColumns(block.base_graph, b);
  for (const int zc : ldpc::NrLiftingSizes()) {
    plan.zc = zc;
    if (information_columns * zc >= plan.k_prime) break;
  }
  plan.k = graph.columns * plan.zc;

  const int64_t symbols = block.g / granularity;
  if (symbols < c) {
    return absl::InvalidArgumentError(absl::StrCat("g ", block.g, ": a code block sends no bit; ",
                                                   c, " code blocks need at least ",
                                                   c * granularity));
  }
  plan.num_short = static_cast<int>(c - symbols % c);
  plan.e_short = static_cast<int>(granularity * (symbols / c));
  plan.e_long = static_cast<int>(granularity * CeilOf(symbols, c));

  const int64_t n = int64_t{graph.sent} * plan.zc;
  int64_t n_cb = n;
  if (block.tbs_lbrm != 0) {
    if (block.tbs_lbrm < plan.tb_bits) {
      return absl::InvalidArgumentError(
          absl::StrCat("tbs_lbrm ", block.tbs_lbrm, " is below the transport block's own ",
                       plan.tb_bits, " bits: it is the size of the largest one, in bits"));
    }
    n_cb = std::min(n, 3 * block.tbs_lbrm / (2 * c));  // 5.4.2.1, R_LBRM = 2/3
  }
  plan.of_short = MakeChecked(block.base_graph, plan.zc, plan.num_filler(), n_cb, block.rv,
                              block.qm, plan.e_short);
  plan.of_long = MakeChecked(block.base_graph, plan.zc, plan.num_filler(), n_cb, block.rv, block.qm,
                             plan.e_long);
  // Those that send more reach as far as the others, and not less.
  plan.num_rows = RowsNeeded(block.base_graph, plan.zc, plan.of_long);
  return plan;
}

absl::StatusOr<RateMatch> MakeRateMatch(const CodeBlock& block) {
  BASEBAND_RETURN_IF_ERROR(CheckRange("base_graph", block.base_graph, 1, 2));
  const absl::Span<const int> sizes = ldpc::NrLiftingSizes();
  if (!std::binary_search(sizes.begin(), sizes.end(), block.zc)) {
    return absl::InvalidArgumentError(
        absl::StrCat("zc ", block.zc, " is not a lifting size of 38.212 table 5.3.2-1 (2 .. 384)"));
  }
  const BaseGraph& graph = GraphOf(block.base_graph);
  const int64_t n = int64_t{graph.sent} * block.zc;
  BASEBAND_RETURN_IF_ERROR(CheckRange("num_filler", block.num_filler, 0,
                                      (graph.columns - kPuncturedColumns) * block.zc - 1));
  BASEBAND_RETURN_IF_ERROR(CheckRange("n_cb", block.n_cb, 0, n));
  BASEBAND_RETURN_IF_ERROR(CheckRange("rv", block.rv, 0, 3));
  BASEBAND_RETURN_IF_ERROR(CheckQm(block.qm));
  BASEBAND_RETURN_IF_ERROR(CheckRange("e", block.e, 1, kMaxCodedBits));
  if (block.e % block.qm != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("e ", block.e, " is not a multiple of qm = ", block.qm));
  }
  return MakeChecked(block.base_graph, block.zc, block.num_filler, block.n_cb == 0 ? n : block.n_cb,
                     block.rv, block.qm, block.e);
}

absl::StatusOr<TransportBlockPlan> MakePlan(const CodeBlock& block) {
  TransportBlockPlan plan;
  BASEBAND_ASSIGN_OR_RETURN(plan.of_long, MakeRateMatch(block));
  plan.of_short = plan.of_long;
  plan.base_graph = block.base_graph;
  plan.zc = block.zc;
  plan.num_blocks = 1;
  plan.num_short = 1;
  plan.e_short = plan.e_long = static_cast<int>(block.e);
  plan.k = GraphOf(block.base_graph).columns * block.zc;
  plan.k_prime = plan.k - block.num_filler;
  plan.num_rows = RowsNeeded(block.base_graph, block.zc, plan.of_long);
  switch (block.crc) {
    case CodeBlockCrc::kNone:
      break;
    case CodeBlockCrc::k24A:
      plan.tb_crc_bits = 24;
      break;
    case CodeBlockCrc::k24B:
      plan.block_crc_bits = kBlockCrcBits;
      break;
    case CodeBlockCrc::k16:
      plan.tb_crc_bits = 16;
      break;
  }
  plan.tb_bits = plan.k_prime - plan.block_crc_bits - plan.tb_crc_bits;
  if (plan.tb_bits <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("crc takes all of the ", plan.k_prime,
                                                   " bits that zc ", block.zc, " and num_filler ",
                                                   block.num_filler, " leave"));
  }
  return plan;
}

int RowsForBits(int base_graph, int zc, int64_t num_bits) {
  const int columns = kPuncturedColumns + static_cast<int>(CeilOf(num_bits, zc));
  return std::max(columns - GraphOf(base_graph).columns, kMinRows);
}

int RowsNeeded(int base_graph, int zc, const RateMatch& rate_match) {
  // Ranks grow until the buffer's end is reached, if it is.
  const uint32_t first = rate_match.kept_before_k0 % rate_match.kept;
  const uint32_t last = std::min(first + rate_match.e, rate_match.kept) - 1 - first;
  const uint32_t place = PlaceOfSent(rate_match, last);
  return RowsForBits(base_graph, zc, int64_t{place} + 1);
}

}  // namespace baseband::nr
