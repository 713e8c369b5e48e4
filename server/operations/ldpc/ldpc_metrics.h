// What Encode and Decode count alike: blocks and information by the family of their code.
#ifndef BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_METRICS_H_
#define BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_METRICS_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "kernels/ldpc/code.h"
#include "server/metrics/operation_metrics.h"

namespace prometheus {
class Counter;
}  // namespace prometheus

namespace baseband::server {

class LdpcMetrics : public OperationMetrics {
 public:
  // Of the RPC called `rpc`.
  LdpcMetrics(const std::string& rpc, prometheus::Registry& registry);

  // `information_bits`: of all blocks that brought what was sent.
  void CountBlocks(ldpc::Family family, int64_t blocks, int64_t information_bits);

 private:
  static constexpr std::array<const char*, 4> kFamilies = {"nr", "wimax", "wifi", "custom"};
  static_assert(static_cast<size_t>(ldpc::Family::kCustom) == kFamilies.size() - 1);

  std::array<prometheus::Counter*, kFamilies.size()> blocks_{};
  prometheus::Counter* information_bytes_ = nullptr;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_METRICS_H_
