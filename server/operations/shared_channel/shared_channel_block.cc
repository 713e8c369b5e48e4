#include "server/operations/shared_channel/shared_channel_block.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ldpc/code.h"
#include "kernels/nr/scrambling_math.h"
#include "server/converters/checks.h"

namespace baseband::server {
namespace {

absl::Status CheckQm(uint32_t qm) {
  for (const uint32_t known : {1U, 2U, 4U, 6U, 8U, 10U}) {
    if (qm == known) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("qm ", qm, " is not 1, 2, 4, 6, 8 or 10"));
}

absl::StatusOr<int> BaseGraphFromProto(const v1::TransportBlock& message) {
  if (message.base_graph() != 0) {
    if (message.code_rate() != 0.0F) {
      return absl::InvalidArgumentError(
          absl::StrCat("code_rate ", message.code_rate(), " is set beside base_graph ",
                       message.base_graph(), ": one of them says which graph it is"));
    }
    BASEBAND_RETURN_IF_ERROR(CheckRange("base_graph", message.base_graph(), 1, 2));
    return static_cast<int>(message.base_graph());
  }
  if (!(message.code_rate() > 0.0F && message.code_rate() < 1.0F)) {
    return absl::InvalidArgumentError(absl::StrCat("code_rate ", message.code_rate(),
                                                   " is not in (0, 1), and base_graph is not set"));
  }
  return nr::ChooseBaseGraph(8 * int64_t{message.tb_bytes()}, message.code_rate());
}

absl::StatusOr<nr::TransportBlockPlan> PlanOf(const v1::TransportBlock& message, int rv, int qm,
                                              int num_layers) {
  nr::TransportBlock block;
  block.tb_bytes = message.tb_bytes();
  BASEBAND_RETURN_IF_ERROR(CheckRange("tb_bytes", message.tb_bytes(), nr::kMinTransportBlockBytes,
                                      nr::kMaxTransportBlockBytes));
  BASEBAND_ASSIGN_OR_RETURN(block.base_graph, BaseGraphFromProto(message));
  block.rv = rv;
  block.qm = qm;
  block.num_layers = num_layers;
  block.g = message.g();
  block.tbs_lbrm = message.tbs_lbrm();
  return nr::MakePlan(block);
}

absl::StatusOr<nr::CodeBlockCrc> CrcFromProto(v1::CodeBlockCrc crc) {
  switch (crc) {
    case v1::CODE_BLOCK_CRC_UNSPECIFIED:
      return nr::CodeBlockCrc::kNone;
    case v1::CODE_BLOCK_CRC_24A:
      return nr::CodeBlockCrc::k24A;
    case v1::CODE_BLOCK_CRC_24B:
      return nr::CodeBlockCrc::k24B;
    case v1::CODE_BLOCK_CRC_16:
      return nr::CodeBlockCrc::k16;
    default:
      return CheckRange("crc", crc, 0, 3);
  }
}

// Ranges by the contract's names and as they were sent; all else is the plan's.
absl::Status CheckRanges(const v1::CodeBlock& message) {
  BASEBAND_RETURN_IF_ERROR(CheckRange("base_graph", message.base_graph(), 1, 2));
  const absl::Span<const int> sizes = ldpc::NrLiftingSizes();
  const int64_t zc = message.zc();
  if (!std::binary_search(sizes.begin(), sizes.end(), zc)) {
    return absl::InvalidArgumentError(
        absl::StrCat("zc ", zc, " is not a lifting size of 38.212 table 5.3.2-1 (2 .. 384)"));
  }
  const bool is_first = message.base_graph() == 1;
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("n_filler", message.n_filler(), 0, (is_first ? 20 : 8) * zc - 1));
  return CheckRange("n_cb", message.n_cb(), 0, (is_first ? 66 : 50) * zc);
}

absl::StatusOr<nr::TransportBlockPlan> PlanOf(const v1::CodeBlock& message, int rv, int qm) {
  BASEBAND_RETURN_IF_ERROR(CheckRanges(message));
  nr::CodeBlock block;
  block.base_graph = static_cast<int>(message.base_graph());
  block.zc = static_cast<int>(message.zc());
  block.num_filler = static_cast<int>(message.n_filler());
  block.n_cb = static_cast<int>(message.n_cb());
  block.rv = rv;
  block.qm = qm;
  block.e = message.e();
  BASEBAND_ASSIGN_OR_RETURN(block.crc, CrcFromProto(message.crc()));
  return nr::MakePlan(block);
}

}  // namespace

absl::StatusOr<SharedChannelBlock> BlockFromProto(const v1::SharedChannelBlock& message) {
  BASEBAND_RETURN_IF_ERROR(CheckRange("rv", message.rv(), 0, 3));
  BASEBAND_RETURN_IF_ERROR(CheckQm(message.qm()));
  BASEBAND_RETURN_IF_ERROR(CheckRange("layers", message.layers(), 0, nr::kMaxLayers));
  const auto rv = static_cast<int>(message.rv());
  const auto qm = static_cast<int>(message.qm());
  SharedChannelBlock block;
  block.num_layers = message.layers() != 0 ? static_cast<int>(message.layers()) : 1;
  if (message.has_c_init()) {
    BASEBAND_RETURN_IF_ERROR(CheckRange("c_init", message.c_init(), 0, nr::kMaxScramblingInit));
    block.c_init = message.c_init();
  }
  switch (message.mode_case()) {
    case v1::SharedChannelBlock::kTransportBlock: {
      BASEBAND_ASSIGN_OR_RETURN(
          block.plan,
          Within("transport_block.", PlanOf(message.transport_block(), rv, qm, block.num_layers)));
      return block;
    }
    case v1::SharedChannelBlock::kCodeBlock: {
      if (block.num_layers != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("layers ", block.num_layers, ": a code block alone has 1"));
      }
      BASEBAND_ASSIGN_OR_RETURN(block.plan,
                                Within("code_block.", PlanOf(message.code_block(), rv, qm)));
      return block;
    }
    case v1::SharedChannelBlock::MODE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("mode is not set: transport_block or code_block");
}

}  // namespace baseband::server
