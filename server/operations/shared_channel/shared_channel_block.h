// A block of a 5G shared channel as both directions know it: the wire's SharedChannelBlock, checked
// and made numbers.
#ifndef BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_SHARED_CHANNEL_BLOCK_H_
#define BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_SHARED_CHANNEL_BLOCK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/nr/transport_block.h"

namespace baseband::server {

struct SharedChannelBlock {
  nr::TransportBlockPlan plan;  // of a code block: a transport block of one
  int num_layers = 1;
  absl::optional<uint32_t> c_init;  // not set: bits are not scrambled

  int qm() const { return static_cast<int>(plan.of_long.qm); }
  int64_t num_symbols() const { return plan.g() / qm(); }
  int64_t payload_bytes() const { return (plan.tb_bits + 7) / 8; }
  int64_t coded_bytes() const { return (plan.g() + 7) / 8; }
  int n_cb() const { return static_cast<int>(plan.of_long.n_cb); }
  // Of all its code blocks.
  int64_t soft_bytes() const { return int64_t{plan.num_blocks} * n_cb(); }
};

// InvalidArgument names the field, its value and its range, or the rule of the standard.
absl::StatusOr<SharedChannelBlock> BlockFromProto(const v1::SharedChannelBlock& message);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_SHARED_CHANNEL_BLOCK_H_
