// What Decode, and what else decodes, counts of code blocks.
#ifndef BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_METRICS_H_
#define BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_METRICS_H_

#include <string>

#include "absl/types/span.h"
#include "kernels/ldpc/decode.h"
#include "server/operations/ldpc/ldpc_metrics.h"

namespace prometheus {
class Histogram;
}  // namespace prometheus

namespace baseband::server {

class DecodeMetrics : public LdpcMetrics {
 public:
  // Of the RPC called `rpc`; iterations and failures are counted together with those of others.
  DecodeMetrics(const std::string& rpc, prometheus::Registry& registry);
  // One batch's or job's at a time: a histogram costs a lock.
  void Observe(absl::Span<const ldpc::DecodeResult> results);

 private:
  prometheus::Histogram* const iterations_;
  prometheus::Counter* const parity_failures_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_METRICS_H_
