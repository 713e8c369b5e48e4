// Device time: how much of one device each batch on it takes, although lanes overlap.
#ifndef BASEBAND_SERVER_BATCHING_DEVICE_CLOCK_H_
#define BASEBAND_SERVER_BATCHING_DEVICE_CLOCK_H_

#include <vector>

#include "absl/time/time.h"

namespace baseband::server {

// The time of a device is shared out among the batches in flight on it: equally among those of one
// kind of lane; of both kinds, background batches together get kBackgroundShare. So the device
// seconds of all batches add up to the time the device was busy, a batch alone takes as long as it
// runs, and a device ends one second of them each second. Pure. Not thread-safe.
class DeviceClock {
 public:
  // What devices leave to background work beside other: the CPU's crews run at nice 10 and 0.
  static constexpr double kBackgroundShare = 0.1;

  // A batch begins on `lane`, which is idle, at `now`; `predicted_s` is what it should take.
  void Start(int lane, bool background, double predicted_s, absl::Time now);
  // It ends: the device seconds it took.
  double End(int lane, absl::Time now);

  bool IsBusy(bool background) const;
  // Device seconds that the batches in flight should still take, at `now`.
  double Remaining(bool background, absl::Time now) const;

 private:
  struct Run {
    int lane;
    bool background;
    double predicted_s;
    double used_s;
  };
  // What a batch of that kind gets of each second.
  double Rate(bool background) const;
  void Advance(absl::Time now);

  std::vector<Run> runs_;
  absl::Time at_ = absl::InfinitePast();  // up to when used_s counts
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_DEVICE_CLOCK_H_
