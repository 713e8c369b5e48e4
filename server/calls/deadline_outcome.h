// Whether an accepted request made its deadline.
#ifndef BASEBAND_SERVER_CALLS_DEADLINE_OUTCOME_H_
#define BASEBAND_SERVER_CALLS_DEADLINE_OUTCOME_H_

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/calls/flight_recorder.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

// `end.finished` is when the answer was handed over to gRPC, `given_up` when the call was
// cancelled: InfiniteFuture if it was not. Nothing: there was no deadline, or the client gave up
// before it.
//
// gRPC's clients cancel at their deadline. That may be a little before the server's: a time-out is
// rounded up on its way, by a hundredth or a millisecond, and counts here from its arrival.
inline absl::optional<DeadlineOutcome> DeadlineOutcomeOf(const FlightEnd& end,
                                                         absl::Time given_up) {
  if (end.deadline == absl::InfiniteFuture()) return absl::nullopt;
  if (given_up <= end.finished) {
    const absl::Duration slack = absl::Milliseconds(2) + (end.deadline - end.arrived) / 100;
    if (given_up < end.deadline - slack) return absl::nullopt;
    return DeadlineOutcome::kMissed;
  }
  return end.code == absl::StatusCode::kOk && end.finished <= end.deadline
             ? DeadlineOutcome::kMet
             : DeadlineOutcome::kMissed;
}

inline void CountDeadline(const FlightEnd& end, absl::Time given_up, Metrics& metrics) {
  const absl::optional<DeadlineOutcome> outcome = DeadlineOutcomeOf(end, given_up);
  if (outcome.has_value()) metrics.CountDeadline(end.rpc, *outcome);
}

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_DEADLINE_OUTCOME_H_
