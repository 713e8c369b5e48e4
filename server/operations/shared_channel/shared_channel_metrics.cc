#include "server/operations/shared_channel/shared_channel_metrics.h"

#include "server/metrics/series.h"

namespace baseband::server {
namespace {

constexpr char kEncode[] = "EncodeSharedChannel";
constexpr char kDecode[] = "DecodeSharedChannel";

}  // namespace

EncodeSharedChannelMetrics::EncodeSharedChannelMetrics(prometheus::Registry& registry)
    : LdpcMetrics(kEncode, registry),
      blocks_(AddCounter(registry, metric::kTransportBlocks, {{"rpc", kEncode}})) {}

void EncodeSharedChannelMetrics::CountTransportBlocks(int64_t blocks) {
  blocks_->Increment(static_cast<double>(blocks));
}

DecodeSharedChannelMetrics::DecodeSharedChannelMetrics(prometheus::Registry& registry)
    : DecodeMetrics(kDecode, registry),
      blocks_(AddCounter(registry, metric::kTransportBlocks, {{"rpc", kDecode}})),
      crc_failures_(AddCounter(registry, metric::kTransportBlockCrcFailures)) {}

void DecodeSharedChannelMetrics::CountTransportBlocks(int64_t blocks, int64_t failed) {
  blocks_->Increment(static_cast<double>(blocks));
  crc_failures_->Increment(static_cast<double>(failed));
}

}  // namespace baseband::server
