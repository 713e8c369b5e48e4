// Dispatcher's part that knows the devices: which serve, and which lane is free.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/batching/dispatcher.h"

namespace baseband::server {

size_t Dispatcher::NumberOf(const Device& device) const {
  const auto found = std::find(devices_.begin(), devices_.end(), &device);
  return static_cast<size_t>(found - devices_.begin());
}

Dispatcher::Flight& Dispatcher::FlightOn(Lane& lane) {
  return flights_[NumberOf(lane.device())][static_cast<size_t>(lane.index())];
}

bool Dispatcher::HasHealthyDevice() const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](const Device* device) { return device->healthy(); });
}

// First that of the serving device with the most of them, so that devices share the work; of a
// device's lanes the one that was busy last, whose thread may not have gone to sleep yet.
Dispatcher::Lanes Dispatcher::FreeLanes(bool background) const {
  Lanes lanes;
  if (pauses_ > 0) return lanes;
  absl::InlinedVector<std::pair<bool, int64_t>, 4> merits;  // by lane: serves, free ones
  for (auto it = free_lanes_.rbegin(); it != free_lanes_.rend(); ++it) {
    Lane* const lane = *it;
    const Device& device = lane->device();
    if (lane->background() != background || !device.healthy() ||
        std::any_of(lanes.begin(), lanes.end(),
                    [&](Lane* other) { return &other->device() == &device; })) {
      continue;
    }
    const int64_t free = std::count_if(free_lanes_.begin(), free_lanes_.end(), [&](Lane* other) {
      return &other->device() == &device && other->background() == background;
    });
    const std::pair<bool, int64_t> merit(Serves(device, devices_), free);
    size_t place = lanes.size();
    while (place > 0 && merits[place - 1] < merit) --place;
    lanes.insert(lanes.begin() + static_cast<std::ptrdiff_t>(place), lane);
    merits.insert(merits.begin() + static_cast<std::ptrdiff_t>(place), merit);
  }
  return lanes;
}

DeviceLoad Dispatcher::Load(absl::Time now, const Device* device) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  DeviceLoad load;
  load.devices = 0;
  load.cores = 1.0;
  load.until_free_s = {kNever, kNever};
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (!Serves(*devices_[i], devices_)) continue;
    ++load.devices;
    load.cores = devices_[i]->kind() == "cuda"
                     ? kNever
                     : std::max<double>(load.cores, devices_[i]->pieces_at_once());
    load.is_busy |= clocks_[i].IsBusy(/*background=*/false);
    for (const bool background : {false, true}) {
      load.remaining_s[background] += clocks_[i].Remaining(background, now);
      if (device != nullptr && device != devices_[i]) continue;
      double& least_s = load.until_free_s[background];
      least_s = std::min(least_s, clocks_[i].UntilFree(background, now));
    }
  }
  for (double& least_s : load.until_free_s) {
    if (least_s == kNever) least_s = 0.0;
  }
  load.devices = std::max(load.devices, 1);
  return load;
}

bool Dispatcher::AreIdle(size_t device) const {
  return std::none_of(flights_[device].begin(), flights_[device].end(),
                      [](const Flight& flight) { return flight.is_running; });
}

template <typename Is>
bool Dispatcher::AnyFlight(const Is& is) const {
  return std::any_of(flights_.begin(), flights_.end(), [&](const std::vector<Flight>& lanes) {
    return std::any_of(lanes.begin(), lanes.end(), is);
  });
}

bool Dispatcher::AreLanesIdle() const {
  return !AnyFlight([](const Flight& flight) { return flight.is_running; });
}

absl::Status Dispatcher::WhileLanesAreIdle(absl::Duration patience,
                                           const std::function<absl::Status()>& f) {
  bool idle = false;
  bool stuck = false;
  {
    absl::MutexLock lock(&mutex_);
    ++pauses_;
    (void)lane_ended_.AwaitUntil(
        mutex_, SteadyNow() + patience,
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return AreLanesIdle() || IsStuck(); });
    idle = AreLanesIdle();
    stuck = IsStuck();
  }
  const absl::Status status =
      idle    ? f()
      : stuck ? absl::UnavailableError("the work of another device does not end")
              : absl::DeadlineExceededError(absl::StrCat("other devices had work for more than ",
                                                         absl::FormatDuration(patience)));
  {
    absl::MutexLock lock(&mutex_);
    --pauses_;
  }
  Dispatch();
  return status;
}

bool Dispatcher::IsStuck() const {
  return AnyFlight([](const Flight& flight) { return flight.is_running && flight.looks > kLooks; });
}

bool Dispatcher::HasStuckLane() const {
  absl::MutexLock lock(&mutex_);
  return AnyFlight([](const Flight& flight) { return flight.is_running && flight.jobs.empty(); });
}

}  // namespace baseband::server
