// What both directions count of transport blocks, and of the code blocks in them.
#ifndef BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_SHARED_CHANNEL_METRICS_H_
#define BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_SHARED_CHANNEL_METRICS_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/ldpc/decode.h"
#include "server/operations/decode/decode_metrics.h"
#include "server/operations/ldpc/ldpc_metrics.h"

namespace baseband::server {

class EncodeSharedChannelMetrics final : public LdpcMetrics {
 public:
  explicit EncodeSharedChannelMetrics(prometheus::Registry& registry);
  void CountTransportBlocks(int64_t blocks);

 private:
  prometheus::Counter* const blocks_;
};

class DecodeSharedChannelMetrics final : public DecodeMetrics {
 public:
  explicit DecodeSharedChannelMetrics(prometheus::Registry& registry);
  // `failed` of them by their CRC.
  void CountTransportBlocks(int64_t blocks, int64_t failed);
  // Of a block with a key.
  void CountHarq(v1::HarqOutcome outcome);

 private:
  prometheus::Counter* const blocks_;
  prometheus::Counter* const crc_failures_;
  std::array<prometheus::Counter*, v1::HarqOutcome_ARRAYSIZE> harq_{};  // by outcome; 0: none
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_SHARED_CHANNEL_METRICS_H_
