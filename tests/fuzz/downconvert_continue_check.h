// What the fuzzers of Downconvert let be designed: filters of a few hundred taps, so that an input
// does not take seconds under the sanitizers.
#ifndef BASEBAND_TESTS_FUZZ_DOWNCONVERT_PATIENCE_H_
#define BASEBAND_TESTS_FUZZ_DOWNCONVERT_PATIENCE_H_

#include <algorithm>

#include "absl/status/status.h"
#include "baseband/v1/baseband.pb.h"
#include "server/limits/slow_path_executor.h"

namespace baseband::server {

inline bool IsQuickToDesign(const v1::ChannelFilter& filter, double sample_rate_hz) {
  constexpr double kLeastTransition = 0.02;  // cycles per tap
  const v1::FilterMask& mask = filter.mask();
  const double up = std::max(1U, filter.up());
  const double lower_rate = std::min(1.0, up / std::max(1U, filter.down()));
  const double pass = mask.pass_edge_hz() / sample_rate_hz;
  const double stop = mask.stop_edge_hz() != 0.0 ? mask.stop_edge_hz() / sample_rate_hz
                                                 : std::min(lower_rate - pass, 0.5);
  return (stop - pass) / up >= kLeastTransition;
}

inline ContinueCheck ContinueCheckFor(const v1::DownconvertSetup& setup) {
  for (const v1::DownconvertChannel& channel : setup.channels()) {
    if (channel.filter().has_mask() && !IsQuickToDesign(channel.filter(), setup.sample_rate_hz())) {
      return ContinueCheck();
    }
  }
  return [] { return absl::OkStatus(); };
}

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_FUZZ_DOWNCONVERT_PATIENCE_H_
