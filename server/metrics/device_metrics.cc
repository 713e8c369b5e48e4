// Devices: their lanes, their health, their loss.
#include <utility>

#include "server/metrics/metrics.h"
#include "server/metrics/series.h"

namespace baseband::server {

int Metrics::AddDevice(const std::string& device, const std::string& kind, const std::string& name,
                       int num_lanes) {
  AddGauge(*registry_, metric::kDeviceInfo, {{"device", device}, {"kind", kind}, {"name", name}})
      ->Set(1);
  PerDevice series;
  series.healthy = AddGauge(*registry_, metric::kDeviceHealthy, {{"device", device}});
  for (size_t i = 0; i < kDeviceLossNames.size(); ++i) {
    series.lost[i] = AddCounter(*registry_, metric::kDevicesLost,
                                {{"device", device}, {"reason", kDeviceLossNames[i]}});
  }
  series.resets = AddCounter(*registry_, metric::kDeviceResets, {{"device", device}});
  series.object_bytes = AddGauge(*registry_, metric::kDeviceObjectBytes, {{"device", device}});
  series.objects = AddGauge(*registry_, metric::kDeviceObjects, {{"device", device}});
  for (size_t i = 0; i < kObjectLossNames.size(); ++i) {
    series.objects_dropped[i] = AddCounter(*registry_, metric::kDeviceObjectsDropped,
                                           {{"device", device}, {"reason", kObjectLossNames[i]}});
  }
  for (int lane = 0; lane < num_lanes; ++lane) {
    series.lanes_busy.push_back(AddCounter(*registry_, metric::kLaneBusy,
                                           {{"device", device}, {"lane", std::to_string(lane)}}));
  }
  devices_.push_back(std::move(series));
  return static_cast<int>(devices_.size()) - 1;
}

void Metrics::AddLaneBusy(int device, int lane, absl::Duration busy) {
  devices_[static_cast<size_t>(device)].lanes_busy[static_cast<size_t>(lane)]->Increment(
      absl::ToDoubleSeconds(busy));
}

void Metrics::CountDeviceLost(int device, DeviceLoss reason) {
  devices_[static_cast<size_t>(device)].lost[static_cast<size_t>(reason)]->Increment();
}

void Metrics::CountDeviceReset(int device) {
  devices_[static_cast<size_t>(device)].resets->Increment();
}

void Metrics::SetQuarantined(int64_t fingerprints) {
  quarantined_->Set(static_cast<double>(fingerprints));
}

void Metrics::SetDeviceHealthy(int device, bool healthy) {
  devices_[static_cast<size_t>(device)].healthy->Set(healthy ? 1 : 0);
}

void Metrics::SetDeviceObjects(int device, int64_t bytes, int64_t objects,
                               const std::array<int64_t, kObjectLossNames.size()>& dropped) {
  PerDevice& series = devices_[static_cast<size_t>(device)];
  series.object_bytes->Set(static_cast<double>(bytes));
  series.objects->Set(static_cast<double>(objects));
  for (size_t i = 0; i < dropped.size(); ++i) {
    prometheus::Counter& counter = *series.objects_dropped[i];
    const double more = static_cast<double>(dropped[i]) - counter.Value();
    if (more > 0) counter.Increment(more);
  }
}

}  // namespace baseband::server
