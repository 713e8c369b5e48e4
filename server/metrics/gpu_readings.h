// What the driver says of the GPUs, from whoever asks it to whoever scrapes.
#ifndef BASEBAND_SERVER_METRICS_GPU_READINGS_H_
#define BASEBAND_SERVER_METRICS_GPU_READINGS_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace prometheus {
struct MetricFamily;
}  // namespace prometheus

namespace baseband::server {

// Of one GPU, in the units of the metrics (names.h). Nothing: the driver does not say.
struct GpuReading {
  std::string device;  // "cuda:0"
  absl::optional<double> utilization;
  absl::optional<double> memory_used;
  absl::optional<double> memory_total;
  absl::optional<double> temperature;
  absl::optional<double> power;
  absl::optional<double> power_limit;
  absl::optional<double> sm_clock;
  absl::optional<double> memory_clock;
  absl::optional<double> throttled_thermal;  // 0 or 1, and so are these two
  absl::optional<double> throttled_power;
  absl::optional<double> throttled_hardware;
  absl::optional<double> ecc_corrected;  // counts never fall
  absl::optional<double> ecc_uncorrected;
  absl::optional<double> pcie_in;
  absl::optional<double> pcie_out;
  absl::optional<double> pcie_replays;
  absl::optional<double> xid_errors;  // counted by whoever asks: it says nothing of now

  // Whether the driver says anything of the GPU, now.
  bool is_answered() const;
};

// Thread-safe. Shared, for who asks the driver may be stuck in it when all others are gone.
class GpuReadings {
 public:
  // Readings older than this are not shown: the driver does not answer any more.
  static constexpr absl::Duration kFresh = absl::Seconds(10);

  // What it says of every GPU in use, `now`.
  void Set(std::vector<GpuReading> readings, absl::Time now);
  // As a scrape at `now` shows it.
  std::vector<prometheus::MetricFamily> Collect(absl::Time now) const;

 private:
  mutable absl::Mutex mutex_;
  std::vector<GpuReading> readings_ ABSL_GUARDED_BY(mutex_);
  absl::Time read_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_GPU_READINGS_H_
