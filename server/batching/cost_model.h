// What a batch takes of a device, learned from the batches before it.
#ifndef BASEBAND_SERVER_BATCHING_COST_MODEL_H_
#define BASEBAND_SERVER_BATCHING_COST_MODEL_H_

#include <array>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/batching/device_clock.h"
#include "server/operations/job.h"

namespace baseband::server {

// Seconds of a batch = pace * (latency + company * gain * the sum over its jobs of units * rate of
// the job's shape), company being how many batches shared the device with it, itself included. Each
// operation has its own, on lanes for background work another. Begins with a guess; a shape's first
// batch sets its rate. From then on
// - the pace follows what it sees by a fifth of the error's logarithm, so that ten batches forget
//   what was before;
// - latency and gain are the least squares of the relative error over the last hundred batches or
//   so, as far as their sizes differ: only that tells work from latency;
// - the rates of shapes that come together or in turn move slowly by their shares of the error.
// Pure. Not thread-safe.
class CostModel {
 public:
  // Of one prediction that nothing confirmed for so long nobody is refused by it: what is admitted
  // then teaches. One burst of bad luck could lock a shape out for ever otherwise.
  static constexpr absl::Duration kFresh = absl::Seconds(1);

  CostModel();

  // Seconds of any batch alone, and what a job adds to it.
  double Latency(bool background, OperationKind operation) const {
    const Costs& costs = Of(background, operation);
    return costs.pace * costs.latency_s;
  }
  double Added(bool background, OperationKind operation, const Work& work) const;
  // Whether `shape` was seen kFresh before `now` or later.
  bool IsFresh(bool background, OperationKind operation, int shape, absl::Time now) const;

  // A batch of `jobs`, at least one, took `taken`. Anything but a positive time is ignored.
  void Learn(bool background, OperationKind operation, absl::Span<const Work> jobs,
             const DeviceClock::Taken& taken, absl::Time now);

 private:
  struct Rate {
    double seconds = 0.0;  // a unit
    bool seen = false;
    absl::Time last = absl::InfinitePast();
  };
  struct Costs {
    double pace = 1.0;
    double latency_s = 0.0;
    double gain = 1.0;
    std::array<Rate, kNumShapes> rates;
    // Weighted sums over batches: 1, x, x^2, y, x y; x = company * sum of units * rate, y = seconds
    // / pace.
    double one = 0.0, x = 0.0, xx = 0.0, y = 0.0, xy = 0.0;
  };
  static void Fit(Costs& costs, double x, double y);
  const Costs& Of(bool background, OperationKind operation) const {
    return costs_[background][static_cast<size_t>(operation)];
  }

  std::array<std::array<Costs, kNumOperations>, 2> costs_;  // [background][operation]
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_COST_MODEL_H_
