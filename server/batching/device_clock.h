// Device time: how much of one device each batch on it takes, although lanes overlap.
#ifndef BASEBAND_SERVER_BATCHING_DEVICE_CLOCK_H_
#define BASEBAND_SERVER_BATCHING_DEVICE_CLOCK_H_

#include <algorithm>
#include <array>
#include <vector>

#include "absl/time/time.h"

namespace baseband::server {

// What a batch should take of a device: alone `latency_s` however small it is, and `slope` seconds
// for each of `work_s`, what only one batch can do at a time. Beside n - 1 others it ends after
// n work_s if that is more.
struct BatchCost {
  double latency_s = 0.0;
  double work_s = 0.0;
  double slope = 1.0;
  double alone_s() const { return latency_s + slope * work_s; }
  double beside_s(int batches) const { return std::max(alone_s(), batches * work_s); }
};

// The time of a device is shared out among the batches in flight on it: equally among those of one
// kind of lane; of both kinds, background batches together get kBackgroundShare. So the device
// seconds of all batches add up to the time the device was busy, a batch alone takes as long as it
// runs, and a device ends one second of them each second. Pure. Not thread-safe.
class DeviceClock {
 public:
  // What devices leave to background work beside other: the CPU's crews run at nice 10 and 0.
  static constexpr double kBackgroundShare = 0.1;

  // Of a device with so many lanes of each kind.
  DeviceClock(int lanes, int background_lanes) : lanes_{lanes, background_lanes} {}
  int lanes(bool background) const { return lanes_[background]; }

  struct Taken {
    double ran_s = 0.0;     // from its start to its end
    double device_s = 0.0;  // its share of that
  };

  // A batch begins on `lane`, which is idle, at `now`, and should take `cost`.
  void Start(int lane, bool background, const BatchCost& cost, absl::Time now);
  // It ends.
  Taken End(int lane, absl::Time now);

  bool IsBusy(bool background) const { return CountRuns(background) > 0; }
  // Device seconds of work that the batches in flight should still do, at `now`.
  double Remaining(bool background, absl::Time now) const;
  // Seconds until one of the lanes should be free, at `now`.
  double UntilFree(bool background, absl::Time now) const;

 private:
  struct Run {
    int lane;
    bool background;
    double work_s;
    absl::Time start;
    double span_s;  // how long it should run, beside those that did when it began
    double used_s;
  };
  int CountRuns(bool background) const;
  // What a batch of that kind gets of each second.
  double Rate(bool background) const;
  void Advance(absl::Time now);

  std::array<int, 2> lanes_;  // [background]
  std::vector<Run> runs_;
  absl::Time at_ = absl::InfinitePast();  // up to when used_s counts
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_DEVICE_CLOCK_H_
