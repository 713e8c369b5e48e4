// Devices: their lanes, their health, their loss.
#include <utility>

#include "server/metrics/metrics.h"
#include "server/metrics/series.h"

namespace baseband::server {

int Metrics::AddDevice(const std::string& device, const std::string& kind, const std::string& name,
                       int num_lanes) {
  AddGauge(*registry_, names::kDeviceInfo, {{"device", device}, {"kind", kind}, {"name", name}})
      ->Set(1);
  PerDevice series;
  series.healthy = AddGauge(*registry_, names::kDeviceHealthy, {{"device", device}});
  for (size_t i = 0; i < kDeviceLossNames.size(); ++i) {
    series.lost[i] = AddCounter(*registry_, names::kDeviceLost,
                                {{"device", device}, {"cause", kDeviceLossNames[i]}});
  }
  for (int lane = 0; lane < num_lanes; ++lane) {
    series.lanes_busy.push_back(AddCounter(*registry_, names::kLaneBusy,
                                           {{"device", device}, {"lane", std::to_string(lane)}}));
  }
  devices_.push_back(std::move(series));
  return static_cast<int>(devices_.size()) - 1;
}

void Metrics::AddLaneBusy(int device, int lane, absl::Duration busy) {
  devices_[static_cast<size_t>(device)].lanes_busy[static_cast<size_t>(lane)]->Increment(
      absl::ToDoubleSeconds(busy));
}

void Metrics::CountDeviceLost(int device, DeviceLoss cause) {
  devices_[static_cast<size_t>(device)].lost[static_cast<size_t>(cause)]->Increment();
}

void Metrics::SetDeviceHealthy(int device, bool healthy) {
  devices_[static_cast<size_t>(device)].healthy->Set(healthy ? 1 : 0);
}

}  // namespace baseband::server
