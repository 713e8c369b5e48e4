#include "client/load/threshold.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/numbers/numbers.h"

namespace baseband::load {
namespace {

constexpr const char* kShares[] = {"missed", "late",    "expired", "refused",
                                   "wrong",  "skipped", "bler"};

bool IsShare(absl::string_view figure) {
  return std::find(std::begin(kShares), std::end(kShares), figure) != std::end(kShares);
}

// "1%". Without the sign only 0: of 1 nobody knows whether it is a hundredth or all.
bool ParseShare(absl::string_view text, double* share) {
  const bool percent = absl::ConsumeSuffix(&text, "%");
  if (!absl::SimpleAtod(text, share) || (!percent && *share != 0)) return false;
  *share *= 0.01;
  return *share >= 0 && *share <= 1;
}

// "p99.9": 0.999.
bool ParseQuantile(absl::string_view figure, double* quantile) {
  if (!absl::ConsumePrefix(&figure, "p") || !absl::SimpleAtod(figure, quantile)) return false;
  *quantile /= 100;
  return *quantile > 0 && *quantile < 1;
}

double ShareOf(const Threshold& threshold, const Outcomes& outcomes) {
  for (int i = 0; i < kOutcomes; ++i) {
    if (threshold.figure == kOutcomeNames[i]) return outcomes.Share(static_cast<Outcome>(i));
  }
  return outcomes.MissShare();
}

}  // namespace

absl::StatusOr<Threshold> ParseThreshold(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  Threshold threshold;
  threshold.text = std::string(text);
  threshold.figure = std::string(parts.first);
  const bool of_time = ParseQuantile(threshold.figure, &threshold.quantile) ||
                       threshold.figure == "mean" || threshold.figure == "max" ||
                       threshold.figure == "lag";
  if (!of_time && !IsShare(threshold.figure)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "': '", threshold.figure,
                     "' is not pN with N in (0, 100), mean, max, lag, missed, late, expired,"
                     " refused, wrong, skipped or bler"));
  }
  if (of_time) {
    const absl::StatusOr<absl::Duration> limit = ParseDuration(parts.second);
    if (!limit.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("'", text, "': ", limit.status().message()));
    }
    threshold.limit = absl::ToDoubleSeconds(*limit);
  } else if (!ParseShare(parts.second, &threshold.limit)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "': '", parts.second, "' is not a share in [0%, 100%] with its %, such as 1%"));
  }
  return threshold;
}

absl::optional<double> ValueOf(const Threshold& threshold, const LoadResult& result) {
  const Tally all = result.totals.All();
  if (threshold.figure == "bler") {
    return all.blocks.count > 0 ? absl::make_optional(all.blocks.Bler()) : absl::nullopt;
  }
  if (IsShare(threshold.figure)) {
    return all.outcomes.due() > 0 ? absl::make_optional(ShareOf(threshold, all.outcomes))
                                  : absl::nullopt;
  }
  const bool is_lag = threshold.figure == "lag";
  const Histogram& times = is_lag ? result.totals.send_lag : all.latency;
  const bool answered = all.outcomes.right() + all.outcomes[Outcome::kWrong] > 0;
  if (times.count() == 0 || (!is_lag && !answered)) return absl::nullopt;
  if (threshold.figure == "mean") return 1e-9 * times.mean();
  if (threshold.figure == "max") return 1e-9 * static_cast<double>(times.max());
  return 1e-9 * static_cast<double>(times.Quantile(is_lag ? 0.99 : threshold.quantile));
}

std::string ToText(const Threshold& threshold, const LoadResult& result) {
  const absl::optional<double> value = ValueOf(threshold, result);
  if (!value.has_value()) return threshold.text + ": nothing to take it from";
  return IsShare(threshold.figure) ? absl::StrFormat("%s: %.3g %%", threshold.text, 100 * *value)
                                   : absl::StrFormat("%s: %.4g ms", threshold.text, 1e3 * *value);
}

}  // namespace baseband::load
