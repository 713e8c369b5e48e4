// What a batch takes of a device, learned from the batches before it.
#ifndef BASEBAND_SERVER_BATCHING_COST_MODEL_H_
#define BASEBAND_SERVER_BATCHING_COST_MODEL_H_

#include <array>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/operations/job.h"

namespace baseband::server {

// Device seconds of a batch = a fixed part of its operation + for each job its units times the rate
// of its shape; lanes for background work have parts and rates of their own. Begins with a guess
// and follows what it sees by normalised least mean squares of the logarithms, in which a factor is
// a factor whatever the scale: a shape's first batch sets its rate, a later one moves the estimate
// by a fifth of its error, so that ten batches forget what was before. Pure. Not thread-safe.
class CostModel {
 public:
  // Of one prediction that nothing confirmed for so long nobody is refused by it: what is admitted
  // then teaches. One burst of bad luck could lock a shape out for ever otherwise.
  static constexpr absl::Duration kFresh = absl::Seconds(1);

  CostModel();

  // Seconds of any batch, and what a job adds to it.
  double Fixed(bool background, OperationKind operation) const;
  double Added(bool background, OperationKind operation, const Work& work) const;
  // Whether `shape` was seen kFresh before `now` or later.
  bool IsFresh(bool background, OperationKind operation, int shape, absl::Time now) const;

  // A batch of `jobs`, at least one, took `seconds`. Anything but a positive time is ignored.
  void Learn(bool background, OperationKind operation, absl::Span<const Work> jobs, double seconds,
             absl::Time now);

 private:
  struct Rate {
    double seconds = 0.0;  // a unit
    bool seen = false;
    absl::Time last = absl::InfinitePast();
  };
  struct Costs {
    double fixed_s = 0.0;
    std::array<Rate, kNumShapes> rates;
  };
  const Costs& Of(bool background, OperationKind operation) const {
    return costs_[background][static_cast<size_t>(operation)];
  }

  std::array<std::array<Costs, kNumOperations>, 2> costs_;  // [background][operation]
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_COST_MODEL_H_
