// What a client that gives up makes of its request, and whether an accepted one made its deadline.
#ifndef BASEBAND_SERVER_CALLS_DEADLINE_OUTCOME_H_
#define BASEBAND_SERVER_CALLS_DEADLINE_OUTCOME_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/calls/flight_recorder.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

// Whether who gave up at `given_up` did so because of the deadline.
//
// gRPC's clients cancel at their deadline. That may be a little before the server's: a time-out is
// rounded up on its way, by a hundredth or a millisecond, and counts here from its arrival.
inline bool GaveUpAtDeadline(absl::Time arrived, absl::Time deadline, absl::Time given_up) {
  if (deadline == absl::InfiniteFuture() || given_up == absl::InfiniteFuture()) return false;
  return given_up >= deadline - absl::Milliseconds(2) - (deadline - arrived) / 100;
}

// What a call has ended with that was to end with `status`: nobody has heard an OK if the call was
// cancelled, at `given_up`; InfiniteFuture if it was not.
inline absl::Status EndOf(const absl::Status& status, absl::Time arrived, absl::Time deadline,
                          absl::Time given_up) {
  const bool is_heard = !status.ok() && !absl::IsCancelled(status);
  if (given_up == absl::InfiniteFuture() || is_heard) return status;
  return GaveUpAtDeadline(arrived, deadline, given_up)
             ? absl::DeadlineExceededError("the deadline passed")
             : absl::CancelledError("the client cancelled");
}

// `end.finished` is when the answer was handed over to gRPC, `given_up` when the call was
// cancelled: InfiniteFuture if it was not. Nothing: there was no deadline, or the client gave up
// before it.
inline absl::optional<DeadlineOutcome> DeadlineOutcomeOf(const FlightEnd& end,
                                                         absl::Time given_up) {
  if (end.deadline == absl::InfiniteFuture()) return absl::nullopt;
  if (given_up <= end.finished) {
    if (!GaveUpAtDeadline(end.arrived, end.deadline, given_up)) return absl::nullopt;
    return DeadlineOutcome::kMissed;
  }
  return end.code == absl::StatusCode::kOk && end.finished <= end.deadline
             ? DeadlineOutcome::kMet
             : DeadlineOutcome::kMissed;
}

// Of so many requests that went together.
inline void CountDeadline(const FlightEnd& end, absl::Time given_up, int64_t count,
                          Metrics& metrics) {
  const absl::optional<DeadlineOutcome> outcome = DeadlineOutcomeOf(end, given_up);
  if (outcome.has_value()) metrics.CountDeadline(end.rpc, *outcome, count);
}

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_DEADLINE_OUTCOME_H_
