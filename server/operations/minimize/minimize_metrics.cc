#include "server/operations/minimize/minimize_metrics.h"

#include "server/metrics/series.h"

namespace baseband::server {

MinimizeMetrics::MinimizeMetrics(prometheus::Registry& registry)
    : points_(AddCounter(registry, metric::kSearchedPoints)),
      program_hits_(AddCounter(registry, metric::kPrograms, {{"cache", "hit"}})),
      program_misses_(AddCounter(registry, metric::kPrograms, {{"cache", "miss"}})) {}

void MinimizeMetrics::CountPoints(int64_t points) {
  points_->Increment(static_cast<double>(points));
}

void MinimizeMetrics::CountPrograms(bool hit) {
  (hit ? program_hits_ : program_misses_)->Increment();
}

}  // namespace baseband::server
