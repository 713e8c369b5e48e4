// A plan that moves along a signal without end: what stays the same from block to block, and what
// does not.
#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/downconvert/gpu_plan.h"

namespace baseband::downconvert::gpu {
namespace {

constexpr int64_t kMaxPeriod = int64_t{1} << 40;  // beyond it no stream is in step

// The least number of samples that is a whole number of samples between all stages; 0 if that is
// more than kMaxPeriod.
int64_t PeriodOf(const Filter& filter) {
  int64_t period = 1;
  int64_t up = 1;  // of all stages up to here, in lowest terms
  int64_t down = 1;
  for (const Stage& stage : filter.stages()) {
    up *= stage.up;
    down *= stage.down;
    const int64_t divisor = std::gcd(up, down);
    up /= divisor;
    down /= divisor;
    period = std::lcm(period, down);
    if (period > kMaxPeriod) return 0;
  }
  return period;
}

}  // namespace

// Only turned taps can move: what is mixed sample by sample belongs to its samples. Before sample 0
// there is nothing, so that blocks about it have another shape.
void GpuPlan::NoteMoves(absl::Span<const Channel> channels) {
  if (block_.first_index == 0 || !mixes_.empty() || !studies_.empty()) return;
  int64_t period = 1;
  for (const FilterPtr& filter : filters_) {
    const int64_t of_filter = PeriodOf(*filter);
    if (of_filter == 0) return;
    period = std::lcm(period, of_filter);
    if (period > kMaxPeriod) return;
  }
  move_end_ = std::numeric_limits<int64_t>::max();
  for (const Channel& channel : channels) {
    const absl::Span<const PhaseTrack::Segment> segments = channel.phase.segments();
    const PhaseTrack::Segment& segment = channel.phase.SegmentOf(block_.first_index);
    if (&segment != &segments.back()) move_end_ = std::min(move_end_, (&segment + 1)->begin);
  }
  move_period_ = block_.first_index + block_.num_samples <= move_end_ ? period : 0;
}

bool GpuPlan::MoveTo(const Block& block) {
  const int64_t distance = block.first_index - block_.first_index;
  if (move_period_ == 0 || distance < 0 || distance % move_period_ != 0 ||
      block.num_samples > move_end_ - block.first_index || block.format != block_.format ||
      block.scale != block_.scale || block.history != block_.history ||
      block.num_samples != block_.num_samples) {
    return false;
  }
  block_ = block;
  for (Anchors& anchors : anchors_) {
    anchors.first += distance;
    anchors.last += distance;
    SetAnchors(anchors);
  }
  for (ProductTask& task : products_) {
    if (task.is_in_workspace) continue;
    task.newest_index += distance;
    for (uint32_t c = 0; c < task.num_columns; ++c) {
      columns_[task.first_column + c].first_anchor = task.newest_index / kAnchorSpacing;
    }
  }
  return true;
}

}  // namespace baseband::downconvert::gpu
