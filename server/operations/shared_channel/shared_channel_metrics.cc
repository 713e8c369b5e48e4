#include "server/operations/shared_channel/shared_channel_metrics.h"

#include "server/metrics/series.h"

namespace baseband::server {
namespace {

constexpr char kEncode[] = "EncodeSharedChannel";
constexpr char kDecode[] = "DecodeSharedChannel";

// By v1::HarqOutcome.
constexpr std::array<const char*, v1::HarqOutcome_ARRAYSIZE> kHarqOutcomes = {
    "", "first", "combined", "repeated", "lost", "other_block", "not_held"};

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
      crc_failures_(AddCounter(registry, metric::kTransportBlockCrcFailures)) {
  for (size_t i = 1; i < harq_.size(); ++i) {
    harq_[i] = AddCounter(registry, metric::kHarqTransmissions, {{"outcome", kHarqOutcomes[i]}});
  }
}

void DecodeSharedChannelMetrics::CountTransportBlocks(int64_t blocks, int64_t failed) {
  blocks_->Increment(static_cast<double>(blocks));
  crc_failures_->Increment(static_cast<double>(failed));
}

void DecodeSharedChannelMetrics::CountHarq(v1::HarqOutcome outcome) {
  if (prometheus::Counter* const counter = harq_[static_cast<size_t>(outcome)]) {
    counter->Increment();
  }
}

}  // namespace baseband::server
