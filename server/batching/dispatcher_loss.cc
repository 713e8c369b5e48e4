// Dispatcher's part for the loss of devices, and their return.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "server/batching/dispatcher.h"
#include "server/config/quoted.h"
#include "server/jobs/operation.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

absl::Status Dispatcher::LoseDevice(const std::string& id, DeviceLoss cause,
                                    const std::string& why) {
  const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const Device* device) {
    return device->id() == id && device->healthy();
  });
  if (found == devices_.end()) {
    std::vector<absl::string_view> healthy;
    for (const Device* device : devices_) {
      if (device->healthy()) healthy.push_back(device->id());
    }
    return absl::NotFoundError(
        absl::StrCat("device ", Quoted(id), " is not one that is healthy: ",
                     healthy.empty() ? "there is none" : absl::StrJoin(healthy, ", ")));
  }
  Lose(NumberOf(**found), cause, why);
  return absl::OkStatus();
}

absl::Status Dispatcher::LostWith(const Device& device, const std::string& why) {
  return Because(UnservedReason::kDeviceLost,
                 absl::UnavailableError(absl::StrCat(
                     device.id(), " was lost, and with it what the request uses there: ", why)));
}

Dispatcher::Orphans Dispatcher::TakeFlights(size_t device, DeviceLoss cause) {
  Orphans taken;
  for (Flight& flight : flights_[device]) {
    const bool suspect =
        cause == DeviceLoss::kError || (cause == DeviceLoss::kStuck && flight.looks > kLooks);
    for (Job* const job : flight.jobs) {
      JobPtr outline = job->CloneMetadata();
      outline->done = std::move(job->done);
      (suspect ? taken.suspects : taken.others).push_back(std::move(outline));
    }
    flight.jobs.clear();
  }
  return taken;
}

void Dispatcher::Lose(size_t number, DeviceLoss cause, const std::string& why) {
  Device& device = *devices_[number];
  const absl::Time now = options_.clock();
  Orphans in_flight;
  std::vector<std::string> accusations;  // of its suspects
  std::vector<JobPtr> alike;             // waits, and is like one of them
  std::vector<JobPtr> bound;             // what it uses was there
  std::vector<JobPtr> cut;               // for the devices that were there
  bool first = false;
  {
    absl::MutexLock lock(&mutex_);
    first = !lost_[number];
    lost_[number] = true;
    device.set_healthy(false);
    in_flight = TakeFlights(number, cause);
    if (pauses_ > 0) lane_ended_.NotifyAll();  // one that is stuck will not
    // All of them before anything else starts or is answered, which may come again at once.
    for (const JobPtr& job : in_flight.suspects) {
      accusations.push_back(quarantine_.Accuse(*job, device.id(), now));
    }
    if (!in_flight.suspects.empty()) {
      alike = TakeWaiting([&](const Job& job) { return quarantine_.Refuses(job, now); }, now);
    }
    bound = TakeWaiting([&](const Job& job) { return job.device == &device; }, now);
    if (first && !device.standby() && !HasFirstDevice()) {
      if (HasHealthyDevice()) scheduler_.ForgetCosts();  // its stand-in's are others
      cut = TakeCut(now);
    }
  }
  if (first) {
    if (device.objects() != nullptr) device.objects()->Lose();
    metrics_->CountDeviceLost(metrics_numbers_[number], cause);
    if (options_.on_loss) options_.on_loss(device, cause, why);
  }
  const auto answer = [&](JobPtr& job, absl::Status status) {
    job->times.ended = now;
    Answer(std::move(status), std::move(job));
  };
  const absl::Status lost =
      Because(UnservedReason::kDeviceLost,
              absl::UnavailableError(absl::StrCat(device.id(), " was lost: ", why)));
  for (JobPtr& job : in_flight.others) answer(job, lost);
  for (JobPtr& job : bound) answer(job, LostWith(device, why));
  for (JobPtr& job : cut) answer(job, lost);
  for (JobPtr& job : alike) {
    const absl::Status refused = quarantine_.Check(*job, now);
    answer(job, refused.ok() ? lost : refused);  // OK: an admin has lifted it meanwhile
  }
  for (size_t i = 0; i < accusations.size(); ++i) {
    answer(in_flight.suspects[i],
           Because(UnservedReason::kDeviceLost,
                   absl::InternalError(absl::StrCat(
                       device.id(),
                       " was lost while this request ran on it, and may have been brought down by "
                       "it: ",
                       accusations[i], ": ", why))));
  }
  Dispatch();
  bool loss_ended = false;
  {
    absl::MutexLock lock(&mutex_);
    loss_ended = EndLoss(number);
  }
  if (loss_ended) TellLossEnd(number);
}

bool Dispatcher::HasFirstDevice() const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](const Device* device) { return !device->standby() && device->healthy(); });
}

std::vector<JobPtr> Dispatcher::TakeWaiting(const std::function<bool(const Job&)>& wanted,
                                            absl::Time now) {
  std::vector<JobPtr> taken = scheduler_.TakeIf(wanted, now);
  Leave(taken);
  return taken;
}

std::vector<JobPtr> Dispatcher::TakeCut(absl::Time now) {
  return TakeWaiting(
      [](const Job& job) { return job.operation().description().is_cut_for_devices; }, now);
}

bool Dispatcher::EndLoss(size_t device) {
  if (!lost_[device] || loss_ended_[device] || !AreIdle(device)) return false;
  loss_ended_[device] = true;
  ++telling_;
  return true;
}

void Dispatcher::TellLossEnd(size_t device) {
  if (options_.on_loss_end) options_.on_loss_end(*devices_[device]);
  absl::MutexLock lock(&mutex_);
  --telling_;  // from here on the dispatcher may be gone
}

void Dispatcher::Restore(Device& device) {
  const size_t number = NumberOf(device);
  const absl::Time now = options_.clock();
  std::vector<JobPtr> cut;  // for the devices that were there
  {
    absl::MutexLock lock(&mutex_);
    if (!device.standby() && !HasFirstDevice() && HasHealthyDevice()) {  // it had a stand-in
      scheduler_.ForgetCosts();
      cut = TakeCut(now);
    }
    lost_[number] = false;
    loss_ended_[number] = false;
    device.set_healthy(true);
  }
  metrics_->CountDeviceReset(metrics_numbers_[number]);
  for (JobPtr& job : cut) {
    job->times.ended = now;
    Answer(Because(UnservedReason::kDeviceLost,
                   absl::UnavailableError(absl::StrCat(
                       device.id(),
                       " is back, and pieces for its stand-in are not for it: send the "
                       "request again"))),
           std::move(job));
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
