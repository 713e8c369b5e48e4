#include "server/batching/quarantine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/spinning_lock.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
namespace {

std::string Seconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))), " s");
}

}  // namespace

std::string FingerprintText(uint64_t fingerprint) {
  return absl::StrCat(absl::Hex(fingerprint, absl::kZeroPad16));
}

Quarantine::Quarantine() : passes_(std::make_unique<Slots>()) {
  for (std::atomic<uint64_t>& slot : *passes_) slot.store(0, std::memory_order_relaxed);
}

// Two threads at a time may count one for two; it is soon made up for.
void Quarantine::Passed(const Job& job) {
  const uint64_t fingerprint = job.fingerprint;
  if (fingerprint == 0 || job.operation().description().is_cut_for_devices) return;
  std::atomic<uint64_t>& slot = SlotOf(fingerprint);
  const uint64_t tag = fingerprint & ~kCountBits;
  const uint64_t seen = slot.load(std::memory_order_relaxed);
  const uint64_t count = (seen & ~kCountBits) == tag ? seen & kCountBits : 0;
  if (count < kKnownGood) slot.store(tag | (count + 1), std::memory_order_relaxed);
}

bool Quarantine::IsKnownGood(uint64_t fingerprint) {
  return SlotOf(fingerprint).load(std::memory_order_relaxed) ==
         ((fingerprint & ~kCountBits) | kKnownGood);
}

std::string Quarantine::Accuse(const Job& job, const std::string& device, absl::Time now) {
  if (job.fingerprint == 0) return "it is not tried again by itself";
  absl::MutexLock lock(&mutex_);
  ForgetHarmless(now);
  if (suspects_.size() >= kMaxSuspects && suspects_.count(job.fingerprint) == 0) {
    suspects_.erase(std::min_element(
        suspects_.begin(), suspects_.end(),
        [](const auto& a, const auto& b) { return a.second.last_fault < b.second.last_fault; }));
  }
  Suspect& suspect = suspects_[job.fingerprint];
  has_suspects_.store(true, std::memory_order_release);
  // One fault may find several of its like.
  if (suspect.faults == 0 || suspect.last_fault != now || suspect.device != device) {
    const bool watched = IsKnownGood(job.fingerprint);
    SlotOf(job.fingerprint).store(0, std::memory_order_relaxed);
    suspect.fingerprint = job.fingerprint;
    suspect.operation = &job.operation();
    suspect.client = job.caller.client;
    suspect.device = device;
    suspect.last_fault = now;
    ++suspect.faults;
    suspect.refused_until = now;
    if (!watched) {
      const absl::Duration length = kFirst * (int64_t{1} << std::min(suspect.terms++, 16));
      suspect.refused_until += std::min(length, kLongest);
    }
  }
  const absl::Duration refused = suspect.refused_until - now;
  return absl::StrCat("it is not tried again by itself, and its like (fingerprint ",
                      FingerprintText(job.fingerprint), ") is ",
                      refused > absl::ZeroDuration()
                          ? absl::StrCat("refused for ", Seconds(refused))
                          : "not refused, for it has ended well often, unless that happens again");
}

absl::Status Quarantine::Check(const Job& job, absl::Time now) {
  if (!has_suspects_.load(std::memory_order_acquire) || job.fingerprint == 0) {
    return absl::OkStatus();
  }
  SpinningLock lock(&mutex_);
  const auto found = suspects_.find(job.fingerprint);
  if (found == suspects_.end() || found->second.refused_until <= now) return absl::OkStatus();
  Suspect& suspect = found->second;
  ++suspect.refused;
  return Because(UnservedReason::kQuarantine,
                 absl::FailedPreconditionError(absl::StrCat(
                     "a request like this one ran on ", suspect.device, " when that faulted",
                     suspect.faults > 1 ? absl::StrCat(", ", suspect.faults, " times") : "",
                     ": its like is refused for ", Seconds(suspect.refused_until - now),
                     " more; an admin may lift that: admin quarantine --lift=",
                     FingerprintText(job.fingerprint))));
}

bool Quarantine::Refuses(const Job& job, absl::Time now) const {
  if (!has_suspects_.load(std::memory_order_acquire) || job.fingerprint == 0) return false;
  absl::MutexLock lock(&mutex_);
  const auto found = suspects_.find(job.fingerprint);
  return found != suspects_.end() && found->second.refused_until > now;
}

void Quarantine::ForgetHarmless(absl::Time now) {
  for (auto it = suspects_.begin(); it != suspects_.end();) {
    const Suspect& suspect = it->second;
    const bool harmless = suspect.refused_until <= now && (IsKnownGood(suspect.fingerprint) ||
                                                           suspect.refused_until + kMemory <= now);
    it = harmless ? suspects_.erase(it) : std::next(it);
  }
  has_suspects_.store(!suspects_.empty(), std::memory_order_release);
}

std::vector<Quarantine::Suspect> Quarantine::List(absl::Time now) {
  std::vector<Suspect> list;
  absl::MutexLock lock(&mutex_);
  ForgetHarmless(now);
  for (const auto& [fingerprint, suspect] : suspects_) list.push_back(suspect);
  std::sort(list.begin(), list.end(), [](const Suspect& a, const Suspect& b) {
    return std::make_pair(b.last_fault, a.fingerprint) <
           std::make_pair(a.last_fault, b.fingerprint);
  });
  return list;
}

int64_t Quarantine::CountRefused(absl::Time now) const {
  absl::MutexLock lock(&mutex_);
  return std::count_if(suspects_.begin(), suspects_.end(),
                       [&](const auto& entry) { return entry.second.refused_until > now; });
}

absl::Status Quarantine::Lift(uint64_t fingerprint) {
  absl::MutexLock lock(&mutex_);
  if (suspects_.erase(fingerprint) == 0) {
    return absl::NotFoundError(
        absl::StrCat("fingerprint ", FingerprintText(fingerprint), " is not in quarantine"));
  }
  has_suspects_.store(!suspects_.empty(), std::memory_order_release);
  return absl::OkStatus();
}

int64_t Quarantine::LiftAll() {
  absl::MutexLock lock(&mutex_);
  const auto lifted = static_cast<int64_t>(suspects_.size());
  suspects_.clear();
  has_suspects_.store(false, std::memory_order_release);
  return lifted;
}

}  // namespace baseband::server
