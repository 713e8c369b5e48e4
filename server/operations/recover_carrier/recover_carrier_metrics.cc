#include "server/operations/recover_carrier/recover_carrier_metrics.h"

#include <algorithm>
#include <vector>

#include "server/metrics/series.h"

namespace baseband::server {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

// EVM, rms over rms.
const Buckets& EvmBuckets() {
  static const auto& buckets =
      *new Buckets{0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0};
  return buckets;
}

}  // namespace

RecoverCarrierMetrics::RecoverCarrierMetrics(prometheus::Registry& registry)
    : symbols_(AddCounter(registry, metric::kCarrierSymbols)),
      evm_(AddHistogram(registry, metric::kCarrierEvm, EvmBuckets())) {
  for (size_t lock = 0; lock < kLockNames.size(); ++lock) {
    frames_[lock] = AddCounter(registry, metric::kCarrierFrames, {{"lock", kLockNames[lock]}});
  }
  for (size_t lock = 0; lock < kTimingLockNames.size(); ++lock) {
    timings_[lock] =
        AddCounter(registry, metric::kTimingFrames, {{"lock", kTimingLockNames[lock]}});
  }
}

void RecoverCarrierMetrics::Observe(const RecoverCarrierJob& job) {
  const Buckets& edges = EvmBuckets();
  std::vector<double> evm(edges.size() + 1);
  std::array<double, kLockNames.size()> frames{};
  double evm_sum = 0;
  double symbols = 0;
  const carrier::Result* result = job.results.data();
  for (const RecoverCarrierGroup& group : job.groups()) {
    for (int64_t f = 0; f < group.count; ++f, ++result) {
      frames[static_cast<size_t>(result->lock)] += 1;
      if (result->lock == carrier::Lock::kLocked) {
        const auto edge = std::lower_bound(edges.begin(), edges.end(), double{result->evm});
        evm[static_cast<size_t>(edge - edges.begin())] += 1;
        evm_sum += result->evm;
      }
    }
    symbols += static_cast<double>(group.count * group.frame_symbols);
  }
  for (size_t lock = 0; lock < frames.size(); ++lock) frames_[lock]->Increment(frames[lock]);
  std::array<double, kTimingLockNames.size()> timings{};
  for (const timing::Result& timing : job.timings) timings[static_cast<size_t>(timing.lock)] += 1;
  for (size_t lock = 0; lock < timings.size(); ++lock) timings_[lock]->Increment(timings[lock]);
  symbols_->Increment(symbols);
  evm_->ObserveMultiple(evm, evm_sum);
}

}  // namespace baseband::server
