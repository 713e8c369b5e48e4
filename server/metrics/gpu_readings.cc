#include "server/metrics/gpu_readings.h"

#include <prometheus/metric_family.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/metric_names.h"

namespace baseband::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// A series of each GPU; those of one metric stand together.
struct Series {
  metric::Metric metric;
  MetricType type;
  const char* label;  // beside {device}; null: none
  const char* label_value;
  absl::optional<double> GpuReading::*value;
};

constexpr MetricType kGauge = MetricType::Gauge;
constexpr MetricType kCounter = MetricType::Counter;

constexpr std::array<Series, 17> kSeries = {{
    {metric::kGpuUtilization, kGauge, nullptr, "", &GpuReading::utilization},
    {metric::kGpuMemoryUsed, kGauge, nullptr, "", &GpuReading::memory_used},
    {metric::kGpuMemoryCapacity, kGauge, nullptr, "", &GpuReading::memory_total},
    {metric::kGpuTemperature, kGauge, nullptr, "", &GpuReading::temperature},
    {metric::kGpuPower, kGauge, nullptr, "", &GpuReading::power},
    {metric::kGpuPowerLimit, kGauge, nullptr, "", &GpuReading::power_limit},
    {metric::kGpuClock, kGauge, "clock", "sm", &GpuReading::sm_clock},
    {metric::kGpuClock, kGauge, "clock", "memory", &GpuReading::memory_clock},
    {metric::kGpuThrottled, kGauge, "reason", "thermal", &GpuReading::throttled_thermal},
    {metric::kGpuThrottled, kGauge, "reason", "power", &GpuReading::throttled_power},
    {metric::kGpuThrottled, kGauge, "reason", "hardware", &GpuReading::throttled_hardware},
    {metric::kGpuEccErrors, kCounter, "kind", "corrected", &GpuReading::ecc_corrected},
    {metric::kGpuEccErrors, kCounter, "kind", "uncorrected", &GpuReading::ecc_uncorrected},
    {metric::kGpuPcieBytes, kGauge, "direction", "in", &GpuReading::pcie_in},
    {metric::kGpuPcieBytes, kGauge, "direction", "out", &GpuReading::pcie_out},
    {metric::kGpuPcieReplays, kCounter, nullptr, "", &GpuReading::pcie_replays},
    {metric::kGpuXidErrors, kCounter, nullptr, "", &GpuReading::xid_errors},
}};

MetricFamily& FamilyOf(const metric::Metric& metric, MetricType type,
                       std::vector<MetricFamily>* families) {
  if (families->empty() || families->back().name != metric.name) {
    MetricFamily family;
    family.name = metric.name;
    family.help = metric.help;
    family.type = type;
    families->push_back(std::move(family));
  }
  return families->back();
}

void Append(MetricFamily& family, std::vector<ClientMetric::Label> labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (family.type == kCounter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(std::move(metric));
}

}  // namespace

bool GpuReading::is_answered() const {
  return std::any_of(kSeries.begin(), kSeries.end(), [this](const Series& series) {
    return series.value != &GpuReading::xid_errors && (this->*series.value).has_value();
  });
}

void GpuReadings::Set(std::vector<GpuReading> readings, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  readings_ = std::move(readings);
  read_ = now;
}

std::vector<MetricFamily> GpuReadings::Collect(absl::Time now) const {
  absl::MutexLock lock(&mutex_);
  const bool fresh = now - read_ <= kFresh;
  const bool up = fresh && !readings_.empty() &&
                  std::all_of(readings_.begin(), readings_.end(),
                              [](const auto& gpu) { return gpu.is_answered(); });
  std::vector<MetricFamily> families;
  Append(FamilyOf(metric::kGpuMonitorUp, kGauge, &families), {}, up ? 1 : 0);
  if (!fresh) return families;
  for (const Series& series : kSeries) {
    for (const GpuReading& gpu : readings_) {
      const absl::optional<double>& value = gpu.*series.value;
      if (!value.has_value()) continue;
      std::vector<ClientMetric::Label> labels = {{"device", gpu.device}};
      if (series.label != nullptr) labels.push_back({series.label, series.label_value});
      Append(FamilyOf(series.metric, series.type, &families), std::move(labels), *value);
    }
  }
  return families;
}

}  // namespace baseband::server
