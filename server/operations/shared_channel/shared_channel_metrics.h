// What both directions count of transport blocks, and of the code blocks in them.
#ifndef BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_SHARED_CHANNEL_METRICS_H_
#define BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_SHARED_CHANNEL_METRICS_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
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

 private:
  prometheus::Counter* const blocks_;
  prometheus::Counter* const crc_failures_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_SHARED_CHANNEL_METRICS_H_
