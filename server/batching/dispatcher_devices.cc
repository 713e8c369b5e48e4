// Dispatcher's half that knows the devices: which serve, which lane is free, and their loss.
#include <algorithm>
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

// The free lane of its kind of the serving device with the most of them, so that devices share the
// work; of its lanes the one that was busy last, whose thread may not have gone to sleep yet.
Lane* Dispatcher::FreeLane(bool background) {
  Lane* best = nullptr;
  int64_t most = 0;
  for (auto it = free_lanes_.rbegin(); it != free_lanes_.rend(); ++it) {
    Lane* const lane = *it;
    if (lane->background() != background || !Serves(lane->device(), devices_)) {
      continue;
    }
    const int64_t free = std::count_if(free_lanes_.begin(), free_lanes_.end(), [&](Lane* other) {
      return &other->device() == &lane->device() && other->background() == background;
    });
    if (free > most) {
      most = free;
      best = lane;
    }
  }
  return best;
}

DeviceLoad Dispatcher::Load(absl::Time now) const {
  DeviceLoad load;
  load.devices = 0;
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (!Serves(*devices_[i], devices_)) continue;
    ++load.devices;
    load.is_busy |= clocks_[i].IsBusy(/*background=*/false);
    for (const bool background : {false, true}) {
      load.remaining_s[background] += clocks_[i].Remaining(background, now);
      const double free_s = clocks_[i].UntilFree(background, now);
      double& least_s = load.until_free_s[background];
      least_s = load.devices == 1 ? free_s : std::min(least_s, free_s);
    }
  }
  load.devices = std::max(load.devices, 1);
  return load;
}

bool Dispatcher::AreLanesIdle() const {
  return std::all_of(flights_.begin(), flights_.end(), [](const std::vector<Flight>& lanes) {
    return std::none_of(lanes.begin(), lanes.end(),
                        [](const Flight& flight) { return flight.is_running; });
  });
}

bool Dispatcher::HasStuckLane() const {
  absl::MutexLock lock(&mutex_);
  return std::any_of(flights_.begin(), flights_.end(), [](const std::vector<Flight>& lanes) {
    return std::any_of(lanes.begin(), lanes.end(), [](const Flight& flight) {
      return flight.is_running && flight.jobs.empty();
    });
  });
}

absl::Status Dispatcher::LoseDevice(const std::string& id, DeviceLoss cause,
                                    const std::string& why) {
  const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const Device* device) {
    return device->id() == id && device->healthy();
  });
  if (found == devices_.end()) {
    return absl::NotFoundError(absl::StrCat("device '", id, "' is not one that is healthy"));
  }
  Lose(NumberOf(**found), cause, why);
  return absl::OkStatus();
}

std::vector<JobPtr> Dispatcher::TakeFlights(size_t device) {
  std::vector<JobPtr> taken;
  for (Flight& flight : flights_[device]) {
    for (Job* const job : flight.jobs) {
      taken.push_back(job->CloneMetadata());
      taken.back()->done = std::move(job->done);
    }
    flight.jobs.clear();
  }
  return taken;
}

void Dispatcher::Lose(size_t number, DeviceLoss cause, const std::string& why) {
  Device& device = *devices_[number];
  const absl::Time now = options_.clock();
  std::vector<JobPtr> in_flight;
  std::vector<JobPtr> searches;
  bool first = false;
  {
    absl::MutexLock lock(&mutex_);
    first = !lost_[number];
    lost_[number] = true;
    device.set_healthy(false);
    in_flight = TakeFlights(number);
    const bool is_last = first && !device.standby() &&
                         std::none_of(devices_.begin(), devices_.end(), [](const Device* other) {
                           return !other->standby() && other->healthy();
                         });
    if (is_last) {
      scheduler_.ForgetCosts();
      searches = scheduler_.TakeAll(OperationKind::kMinimize, now);
      for (const JobPtr& job : searches) admission_.Leave(job->payload_bytes);
    }
  }
  if (first) {
    metrics_->CountDeviceLost(metrics_numbers_[number], cause);
    if (options_.on_loss) options_.on_loss(device, cause, why);
  }
  const absl::Status lost = absl::UnavailableError(absl::StrCat(device.id(), " was lost: ", why));
  for (auto* const jobs : {&in_flight, &searches}) {
    for (JobPtr& job : *jobs) {
      job->times.ended = now;
      Answer(lost, std::move(job));
    }
  }
  Dispatch();
}

void Dispatcher::LookAtLanes() {
  struct Stuck {
    size_t device;
    std::string why;
  };
  std::vector<Stuck> stuck;
  {
    absl::MutexLock lock(&mutex_);
    for (size_t device = 0; device < flights_.size(); ++device) {
      for (Flight& flight : flights_[device]) {
        if (flight.jobs.empty()) continue;
        const int64_t progress = flight.lane->progress();
        flight.looks = flight.looks > 0 && progress == flight.progress ? flight.looks + 1 : 1;
        flight.progress = progress;
        if (flight.looks > kLooks) {
          stuck.push_back(
              {device, absl::StrCat("lane ", flight.lane->index(), " has made no progress for ",
                                    absl::FormatDuration(options_.watchdog))});
        }
      }
    }
  }
  for (const Stuck& lane : stuck) Lose(lane.device, DeviceLoss::kStuck, lane.why);
}

}  // namespace baseband::server
