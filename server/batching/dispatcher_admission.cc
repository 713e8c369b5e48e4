// Dispatcher's part that lets jobs in: what is refused at the door, and why.
#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/spinning_lock.h"
#include "kernels/base/status_macros.h"
#include "server/batching/dispatcher.h"
#include "server/limits/retry_after.h"

namespace baseband::server {
namespace {

absl::Status TooLarge(absl::string_view what, int64_t value, int64_t limit) {
  return absl::InvalidArgumentError(absl::StrCat("the request needs ", value, " bytes of ", what,
                                                 "; this server takes at most ", limit,
                                                 ": split the request"));
}

// Waits count so much more than predicted when a deadline depends on them.
constexpr double kAdmissionCaution = 0.25;

std::string Text(double seconds) {
  return absl::StrCat(std::max<int64_t>(1, std::llround(seconds * 1e6)), " us");
}

}  // namespace

absl::StatusOr<AdmissionTicket> Dispatcher::Admit(Job* job) {
  if (!HasHealthyDevice()) {
    return absl::UnavailableError("no device is healthy");
  }
  const absl::Time now = options_.clock();
  BASEBAND_RETURN_IF_ERROR(quarantine_.Check(*job, now));
  {
    SpinningLock lock(&mutex_);
    scheduler_.Predict(job, Load(now, job->device), now);
  }
  const JobSchedule& schedule = job->schedule;
  if (schedule.trusted && job->deadline < absl::InfiniteFuture()) {
    const double left_s = absl::ToDoubleSeconds(job->deadline - now);
    if (schedule.alone_s > left_s) {
      return Because(UnservedReason::kDeadlineUnreachable,
                     absl::DeadlineExceededError(
                         absl::StrCat("the request takes ", Text(schedule.alone_s),
                                      " of an idle server; its deadline is in ", Text(left_s))));
    }
    // Whoever is let in just in time is late as often as not, and its time is lost to the others.
    const double careful_s =
        schedule.finish_s + kAdmissionCaution * (schedule.finish_s - schedule.alone_s);
    if (careful_s > left_s) {
      absl::Status status =
          Because(UnservedReason::kBacklog,
                  absl::ResourceExhaustedError(absl::StrCat(
                      "the request would be done in ", Text(careful_s),
                      ", with what goes before it; its deadline is in ", Text(left_s))));
      SetRetryAfter(&status, absl::Seconds(careful_s - left_s));
      return status;
    }
  }
  return admission_.Enter(job->queued_bytes(), job->requests);
}

Dispatcher::Wait Dispatcher::WaitOf(int operation, const std::string& client,
                                    Priority priority) const {
  const absl::Time now = options_.clock();
  SpinningLock lock(&mutex_);
  const DeviceLoad load = Load(now);
  return {scheduler_.WaitOf(operation, client, priority, load), load.devices,
          scheduler_.KnowsCostOf(operation, priority, now)};
}

absl::Status Dispatcher::Submit(JobPtr& job, AdmissionTicket ticket, bool gathers) {
  const Footprint& footprint = job->footprint;
  const LaneCapacity& lane = options_.limits.lane;
  if (footprint.input_bytes > lane.input_bytes) {
    return TooLarge("input", footprint.input_bytes, lane.input_bytes);
  }
  if (footprint.output_bytes > lane.output_bytes) {
    return TooLarge("output", footprint.output_bytes, lane.output_bytes);
  }
  if (footprint.control_bytes > lane.control_bytes) {
    return TooLarge("code tables and descriptors", footprint.control_bytes, lane.control_bytes);
  }
  if (!HasHealthyDevice()) {
    return absl::UnavailableError("no device is healthy");
  }
  const absl::Time now = options_.clock();
  {
    SpinningLock lock(&mutex_);
    // Under the lock: Lose, which takes the lock after it is said, finds what was added before.
    if (job->device != nullptr && !job->device->healthy()) {
      return LostWith(*job->device, "it is not healthy");
    }
    // It may be back since: whoever waited for room may have done so over a reset.
    for (const ObjectPin& object : job->objects) {
      if (object->is_lost()) return LostWith(*job->device, "it was reset meanwhile");
    }
    ticket.HandOn();
    job->times.submitted = now;
    ++unanswered_;
    job->schedule.gathers = gathers;
    gathered_ += gathers ? 1 : 0;
    scheduler_.Add(std::move(job), now);
    if (delay_thread_.joinable()) queue_changed_.NotifyAll();
  }
  if (!gathers) Dispatch();
  return absl::OkStatus();
}

}  // namespace baseband::server
