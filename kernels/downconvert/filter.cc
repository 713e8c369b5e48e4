#include "kernels/downconvert/filter.h"

#include <atomic>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/downconvert/turn.h"

namespace baseband::downconvert {
namespace {

absl::Status CheckRange(const char* name, int value, int largest) {
  if (value < 1 || value > largest) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", value, " is not in [1, ", largest, "]"));
  }
  return absl::OkStatus();
}

// Of the taps of one stage, in its own input samples.
double GroupDelay(const Stage& stage) {
  double sum = 0.0;
  double moment = 0.0;
  double size = 0.0;
  double energy = 0.0;
  double energy_moment = 0.0;
  for (size_t k = 0; k < stage.taps.size(); ++k) {
    const double tap = stage.taps[k];
    sum += tap;
    moment += static_cast<double>(k) * tap;
    size += std::abs(tap);
    energy += tap * tap;
    energy_moment += static_cast<double>(k) * tap * tap;
  }
  const bool passes = std::abs(sum) > 1e-3 * size;
  return (passes ? moment / sum : energy_moment / energy) / stage.up;
}

}  // namespace

int64_t Stage::FirstOutput(int64_t begin) const {
  const __int128 first = (static_cast<__int128>(begin) * up + down - 1) / down;
  const int64_t most = std::numeric_limits<int64_t>::max();
  return first > most ? most : static_cast<int64_t>(first);
}

absl::StatusOr<FilterPtr> Filter::FromTaps(absl::Span<const float> taps, int up, int down) {
  if (taps.empty() || taps.size() > static_cast<size_t>(kMaxTaps)) {
    return absl::InvalidArgumentError(
        absl::StrCat("taps has ", taps.size(), " entries, not 1 to ", kMaxTaps));
  }
  BASEBAND_RETURN_IF_ERROR(CheckRange("up", up, kMaxUp));
  BASEBAND_RETURN_IF_ERROR(CheckRange("down", down, kMaxDown));
  const int divisor = std::gcd(up, down);
  Stage stage;
  stage.up = up / divisor;
  stage.down = down / divisor;
  bool any = false;
  for (size_t k = 0; k < taps.size(); ++k) {
    if (!std::isfinite(taps[k])) {
      return absl::InvalidArgumentError(absl::StrCat("taps[", k, "] ", taps[k], " is not finite"));
    }
    if (k % static_cast<size_t>(divisor) == 0) {
      any = any || taps[k] != 0.0F;
      stage.taps.push_back(taps[k]);
    }
  }
  if (!any) {
    return absl::InvalidArgumentError("taps has but zeros among those that outputs use");
  }
  std::vector<Stage> stages;
  stages.push_back(std::move(stage));
  return FilterPtr(FromStages(std::move(stages)));
}

std::shared_ptr<Filter> Filter::FromStages(std::vector<Stage> stages) {
  static std::atomic<uint64_t> next_id{1};
  std::shared_ptr<Filter> filter(new Filter);
  filter->id_ = next_id.fetch_add(1, std::memory_order_relaxed);
  filter->stages_ = std::move(stages);
  int64_t up = 1;
  int64_t down = 1;
  double dc_gain = 1.0;
  for (const Stage& stage : filter->stages_) {
    filter->report_.group_delay +=
        GroupDelay(stage) * static_cast<double>(down) / static_cast<double>(up);
    dc_gain *= std::accumulate(stage.taps.begin(), stage.taps.end(), 0.0) / stage.up;
    up *= stage.up;
    down *= stage.down;
    const int64_t divisor = std::gcd(up, down);
    up /= divisor;
    down /= divisor;
  }
  filter->up_ = static_cast<int>(up);
  filter->down_ = static_cast<int>(down);
  // An output reaches `history` samples back in its last stage's input, those of a stage before
  // ceil(history * down / up) further than the newest of them, and so on.
  int64_t history = 0;
  for (auto stage = filter->stages_.rbegin(); stage != filter->stages_.rend(); ++stage) {
    history = (history * stage->down + stage->up - 1) / stage->up + stage->history();
  }
  filter->history_ = history;
  filter->report_.dc_gain = dc_gain;
  filter->report_.transient_inputs = history;
  return filter;
}

int64_t Filter::FirstOutput(int64_t begin) const {
  for (const Stage& stage : stages_) {
    begin = stage.FirstOutput(begin);
  }
  return begin;
}

Response ResponseOf(const Filter& filter, double cycles_per_sample) {
  double frequency = cycles_per_sample;  // in cycles per sample of the stage's input
  std::complex<double> response = 1.0;
  for (const Stage& stage : filter.stages()) {
    const double turns = frequency / stage.up;
    std::complex<double> sum = 0.0;
    for (size_t k = 0; k < stage.taps.size(); ++k) {
      const double cycles = turns * static_cast<double>(k);
      sum += static_cast<double>(stage.taps[k]) *
             std::polar(1.0, -kTurn * (cycles - std::rint(cycles)));
    }
    response *= sum / static_cast<double>(stage.up);
    frequency = turns * stage.down;
  }
  Response result;
  result.magnitude = std::abs(response);
  result.phase = std::arg(response);
  return result;
}

}  // namespace baseband::downconvert
