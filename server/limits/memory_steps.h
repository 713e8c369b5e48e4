// What a server gives up when memory becomes scarce, one thing after the other, so that what it has
// accepted ends well: the system ends a process that takes more than it may.
#ifndef BASEBAND_SERVER_LIMITS_MEMORY_STEPS_H_
#define BASEBAND_SERVER_LIMITS_MEMORY_STEPS_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

// Each does what those before it do, too.
enum class MemoryStep {
  kNone,
  kGiveBack,   // caches and what is free anyway go back to the system
  kRefuseLow,  // requests of priority low are refused
  kRefuseAll   // every new request is, before its message is received, and nobody may connect
};

// Update on one thread; the rest is thread-safe, and costs an atomic load.
class MemorySteps {
 public:
  // Where each step begins: the part that is used of what was free at the start, for what a server
  // holds from its start on says nothing. It ends kSlack below.
  static constexpr std::array<double, 3> kBegins = {0.80, 0.87, 0.94};
  static constexpr double kSlack = 0.05;
  // Who is refused is to come again after so long, half of it less or more.
  static constexpr absl::Duration kRetryAfter = absl::Seconds(1);

  // Of `limit` bytes `held` are in use at the start. A limit that leaves nothing free: no steps.
  MemorySteps(int64_t limit, int64_t held) : limit_(limit), held_(held) {}

  // So much is in use now. Returns the step.
  MemoryStep Update(int64_t used);
  MemoryStep step() const { return step_.load(std::memory_order_relaxed); }

  // Before a call's message is received, and before each request of a Submit stream is worked on.
  // What was admitted is not asked again, nor are other streams' messages. ResourceExhausted.
  absl::Status Admit(Priority priority) const {
    const MemoryStep now = step();
    const MemoryStep refuses =
        priority == Priority::kLow ? MemoryStep::kRefuseLow : MemoryStep::kRefuseAll;
    return now < refuses ? absl::OkStatus() : Refuse();
  }
  // Before memory is given away for longer than a request: ResourceExhausted, if priority low would
  // be refused with so many bytes more in use.
  absl::Status AdmitBytes(int64_t bytes) const;
  bool may_connect() const { return step() < MemoryStep::kRefuseAll; }

  int64_t limit() const { return limit_; }

 private:
  absl::Status Refuse() const;

  const int64_t limit_;
  const int64_t held_;
  std::atomic<int64_t> used_{0};
  std::atomic<MemoryStep> step_{MemoryStep::kNone};
  mutable std::atomic<uint32_t> refused_{0};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_MEMORY_STEPS_H_
