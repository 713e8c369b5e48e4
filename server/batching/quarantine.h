// Requests that may have brought a device down, and are refused for a while: one query of death is
// not to take device after device.
#ifndef BASEBAND_SERVER_BATCHING_QUARANTINE_H_
#define BASEBAND_SERVER_BATCHING_QUARANTINE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/operation.h"

namespace baseband::server {

// Whatever ran on a device when it faulted is suspect, by its fingerprint (fingerprint.h): the like
// of it is refused for kFirst, and for twice as long with each further fault that it was there at,
// up to kLongest. But of what has ended well kKnownGood times since it was last there at a fault,
// or ever, the first fault more is not held against it: what runs all the time is there whoever
// brings the device down. It is watched, and refused if it is there again before it has ended well
// so often anew. Who is no longer refused, and has, is forgotten, and so is who was not there for
// kMemory since. Times are SteadyNow()'s. Bounded. Thread-safe.
class Quarantine {
 public:
  static constexpr absl::Duration kFirst = absl::Minutes(1);
  static constexpr absl::Duration kLongest = absl::Hours(1);
  static constexpr absl::Duration kMemory = absl::Hours(1);
  static constexpr uint32_t kKnownGood = 8;
  // At most so many are known; who was longest not there at a fault makes room.
  static constexpr size_t kMaxSuspects = 4096;

  struct Suspect {
    uint64_t fingerprint = 0;
    const Operation* operation = nullptr;
    std::string client;  // of the request that was there at the last fault
    std::string device;  // which it was that faulted
    int faults = 0;      // that it was there at, within kMemory of each other
    int terms = 0;       // for which it was refused
    absl::Time last_fault;
    absl::Time refused_until;  // not in the future: it is watched
    int64_t refused = 0;       // requests
  };

  Quarantine();

  // `job` has ended well. A piece of a search says nothing of the others.
  void Passed(const Job& job);
  // `job` ran on `device` when that faulted. What is said of it to who waits for its answer.
  std::string Accuse(const Job& job, const std::string& device, absl::Time now);
  // FailedPrecondition, which says until when and who may change it, if the like of `job` is
  // refused; costs an atomic load while nobody is.
  absl::Status Check(const Job& job, absl::Time now);

  // Whether it is refused; counts nothing.
  bool Refuses(const Job& job, absl::Time now) const;

  // Those that are refused or watched, the last fault first.
  std::vector<Suspect> List(absl::Time now);
  int64_t CountRefused(absl::Time now) const;
  // Forgets one, or all. NotFound if it is not known.
  absl::Status Lift(uint64_t fingerprint);
  int64_t LiftAll();

 private:
  // By the low bits of the fingerprint: its other bits, and in kCountBits of them how often its
  // like ended well. A cache: who is pushed out is unknown again.
  static constexpr size_t kSlots = 8192;
  static constexpr uint64_t kCountBits = 0xff;
  using Slots = std::array<std::atomic<uint64_t>, kSlots>;

  std::atomic<uint64_t>& SlotOf(uint64_t fingerprint) { return (*passes_)[fingerprint % kSlots]; }
  bool IsKnownGood(uint64_t fingerprint);
  void ForgetHarmless(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<Slots> passes_;
  mutable absl::Mutex mutex_;
  std::unordered_map<uint64_t, Suspect> suspects_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> has_suspects_{false};
};

// As it is written for people and read back: 16 hexadecimal digits.
std::string FingerprintText(uint64_t fingerprint);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_QUARANTINE_H_
