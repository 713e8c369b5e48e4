// Limits on a load's figures, for CI: "p99=2ms", "missed=1%".
#ifndef BASEBAND_CLIENT_LOAD_THRESHOLD_H_
#define BASEBAND_CLIENT_LOAD_THRESHOLD_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/load/run.h"

namespace baseband::load {

struct Threshold {
  std::string text;     // as it was written
  std::string figure;   // "p99", "max", "mean", "missed", "refused", "wrong", "skipped", "bler"
  double quantile = 0;  // of a figure pN
  double limit = 0;     // seconds, or a share of the calls that were due
};

// FIGURE=LIMIT. Figures of time: pN with N in (0, 100), mean, max, lag (the 99th percentile of how
// far sends were behind), with limits such as 500us and 2ms. Shares of all calls that were due:
// missed (all but good), late, expired, refused, wrong, skipped, with limits such as 0.1% and 0,
// the one that needs no %; and bler, of the code blocks answered. InvalidArgument says what is
// wrong.
absl::StatusOr<Threshold> ParseThreshold(absl::string_view text);

// The figure, in the units of the limit; empty if there was no call, or block, to take it from: of
// times but lag, no answer, for how long others were waited for is no latency.
absl::optional<double> ValueOf(const Threshold& threshold, const LoadResult& result);
// "p99=2ms: 3.1 ms".
std::string ToText(const Threshold& threshold, const LoadResult& result);

// Also if there is no figure: where nothing was seen, nothing was seen to be within the limit.
inline bool IsExceeded(const Threshold& threshold, const LoadResult& result) {
  const absl::optional<double> value = ValueOf(threshold, result);
  return !value.has_value() || *value > threshold.limit;
}

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_THRESHOLD_H_
