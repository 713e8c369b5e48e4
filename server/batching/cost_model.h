// What a batch takes of a device, learned from the batches before it.
#ifndef BASEBAND_SERVER_BATCHING_COST_MODEL_H_
#define BASEBAND_SERVER_BATCHING_COST_MODEL_H_

#include <array>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/batching/device_clock.h"
#include "server/jobs/job.h"

namespace baseband::server {

// `work` as the model can reckon with it, whoever counted it: a shape that there is, and units in
// [kLeastUnits, kMostUnits]; none, fewer, a negative number and NaN are kLeastUnits, and a guess is
// likewise brought to what one may be. Every sum, quotient and logarithm of what is learned from
// such work is finite.
inline constexpr double kLeastUnits = 1e-9;
inline constexpr double kMostUnits = 1e15;
Work Normalised(const Work& work);

// A batch of jobs, x being the sum of units * rate of the job's shape over them, takes
//   pace * (latency + gain * x) seconds   as long as the device has room for it beside others, and
//   sharing * work * x seconds            once it has not, sharing being how many batches shared
//                                         the device with it, itself included.
// Each operation, by its index, has its own such law, on lanes for background work another. It
// begins with the guess that the work brings; a shape's first batch sets its rate. From then on
// - each kWindow contended batches tell whether there was room: whether they took as long as
// alone;
// - the pace follows by a fifth of the error's logarithm, so that ten batches forget what was
//   before, and latency and gain are the least squares of the relative error over a hundred batches
//   or so, as far as their sizes differ: of batches alone and of those that had room;
// - work is the least device time of a unit in any window while there was room, as more load may
//   show that it is less still, and follows the windows while there was none. Only the sum over
//   batches tells: a GPU does them in turn, so that a small one takes as long as a large one;
// - the rates of shapes that come together or in turn move slowly against each other, by their
//   shares of the error.
// All work is Normalised. Pure. Not thread-safe.
class CostModel {
 public:
  // Of one prediction that nothing confirmed for so long nobody is refused by it: what is admitted
  // then teaches. One burst of bad luck could lock a shape out for ever otherwise.
  static constexpr absl::Duration kFresh = absl::Seconds(1);

  static constexpr size_t kWindow = 16;

  CostModel();

  // What a batch of this one job should take.
  BatchCost CostOf(bool background, int operation, const Work& work) const;
  // Seconds that a batch of this one job should take, however much larger it is than what was seen:
  // the lesser of what lanes of either kind have taught; while they have not, its guess on `cores`.
  double AtSize(int operation, const Work& work, double cores) const;
  // Whether the device has no room left: batches that share it take longer than they do alone.
  bool IsCrowded(bool background, int operation) const { return Of(background, operation).crowded; }
  // How many times as large as seems enough batches should be: while the device has no room it is
  // tried out whether larger ones take less of it, as where a latency hides that nothing saw alone.
  double Growth(bool background, int operation) const { return Of(background, operation).growth; }
  // Whether such work, of its size or not much less, was seen, and its shape kFresh before `now` or
  // later.
  bool IsKnown(bool background, int operation, const Work& work, absl::Time now) const;
  // Whether any was so.
  bool IsKnown(bool background, int operation, absl::Time now) const;

  // A batch of `jobs`, at least one, took `taken`. Anything but a positive time is ignored.
  void Learn(bool background, int operation, absl::Span<const Work> jobs,
             const DeviceClock::Taken& taken, absl::Time now);

 private:
  struct Rate {
    // Of a unit: what was learned, else what `work` guesses.
    double SecondsOf(const Work& work) const { return seen ? seconds : work.guessed_unit_s; }
    // What the rate is good for: it comes from batches, and of small ones says little of large
    // ones.
    double Reach() const { return 4.0 * most_units; }

    double seconds = 0.0;  // a unit
    double share = 0.0;    // of x lately
    bool seen = false;
    double most_units = 0.0;  // in a batch that was seen
    double longest_s = 0.0;   // that a batch took
    absl::Time last = absl::InfinitePast();
  };
  struct Seen {  // of a batch
    double x = 0.0, ran_s = 0.0, device_s = 0.0;
  };
  struct Window {
    std::array<Seen, kWindow> batches;
    size_t size = 0;
  };
  struct Costs {
    double Alone(double x) const { return pace * (latency_s + gain * x); }

    double pace = 1.0;
    double latency_s = 0.0;
    double gain = 1.0;
    double work = 1.0;
    bool crowded = false;
    double growth = 1.0;
    bool is_trial = false;  // of the last doubling
    double work_before = 0.0;
    int rest = 0;  // windows until the next trial
    std::array<Rate, kNumShapes> rates;
    std::array<Window, 2> windows;  // [contended], of batches not yet learned from
    // Weighted sums over batches: 1, x, x^2, y, x y, with y = seconds / pace.
    double one = 0.0, sum_x = 0.0, xx = 0.0, y = 0.0, xy = 0.0;
  };
  using Units = std::array<double, kNumShapes>;  // of a batch, by shape
  // `step` times its part of x to each rate, and the mean of that from all: their level is
  // another's.
  static void MoveRates(Costs& costs, const Units& units, double x, double step);
  static void LearnAlone(Costs& costs, double x, double seconds);
  static void Watch(Costs& costs, const Seen& seen, bool contended);
  static void TryGrowth(Costs& costs, double seen_work);
  static void Fit(Costs& costs, double x, double y);
  const Costs& Of(bool background, int operation) const {
    return costs_[background][static_cast<size_t>(operation)];
  }

  std::array<std::array<Costs, kMaxOperations>, 2> costs_;  // [background][operation]
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_COST_MODEL_H_
