#include "server/operations/ldpc/ldpc_metrics.h"

#include "server/metrics/series.h"

namespace baseband::server {

LdpcMetrics::LdpcMetrics(const std::string& rpc, prometheus::Registry& registry)
    : information_bytes_(AddCounter(registry, metric::kInformationBytes, {{"rpc", rpc}})) {
  for (size_t family = 0; family < kFamilies.size(); ++family) {
    blocks_[family] =
        AddCounter(registry, metric::kCodeBlocks, {{"rpc", rpc}, {"family", kFamilies[family]}});
  }
}

void LdpcMetrics::CountBlocks(ldpc::Family family, int64_t blocks, int64_t information_bits) {
  blocks_[static_cast<size_t>(family)]->Increment(static_cast<double>(blocks));
  information_bytes_->Increment(static_cast<double>(information_bits) / 8);
}

}  // namespace baseband::server
