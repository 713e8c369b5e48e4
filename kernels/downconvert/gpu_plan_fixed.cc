// Which first stages are computed exactly, as sums of integers.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/downconvert/fixed_shape.h"
#include "kernels/downconvert/fixed_taps.h"
#include "kernels/downconvert/gpu_plan.h"
#include "kernels/downconvert/gpu_plan_sizes.h"

namespace baseband::downconvert::gpu {

TapWalk FixedWalkOf(const Stage& stage) {
  TapWalk walk;
  walk.num_taps = static_cast<uint32_t>(stage.taps.size());
  walk.down = static_cast<uint32_t>(stage.down);
  walk.depth = walk.num_taps;
  walk.step_slots = RoundUp(walk.num_taps, 4U);
  return walk;
}

uint32_t FixedBytes(const TapWalk& walk, InputFormat format, uint32_t warps) {
  const FixedShape shape = FixedShapeOf(walk.num_taps, walk.down);
  return RoundUp(
      shape.Places(warps * shape.warp_outputs) * 2 * static_cast<uint32_t>(BytesPerSample(format)),
      kAlignment);
}

void GpuPlan::CountFirstStages(absl::Span<const Channel> channels) {
  std::vector<FirstStages>& all = draft_->first_stages;
  all.clear();
  if (block_.format != InputFormat::kInt8 && block_.format != InputFormat::kInt16) return;
  if (channels.size() < kMinFixedChannels) return;
  for (const uint32_t c : draft_->order) {
    const Stage& stage = channels[c].filter->stages().front();
    if (channels[c].nco != NcoMethod::kExact || stage.up != 1) continue;
    if (!all.empty() && all.back().IsOf(stage)) {
      ++all.back().channels;
    } else {
      all.push_back({stage.taps.size(), stage.down, 1});
    }
  }
  std::sort(all.begin(), all.end());
}

// Several filters may be of one shape.
FixedTaps GpuPlan::FixedTapsFor(const Stage& stage) const {
  const std::vector<FirstStages>& all = draft_->first_stages;
  size_t channels = 0;
  for (auto some =
           std::lower_bound(all.begin(), all.end(), FirstStages{stage.taps.size(), stage.down, 0});
       some != all.end() && some->IsOf(stage) && channels < kMinFixedChannels; ++some) {
    channels += some->channels;
  }
  if (channels < kMinFixedChannels || stage.up != 1 ||
      FixedBytes(FixedWalkOf(stage), block_.format, kBlockWarps) > kMaxFixedBytes) {
    return FixedTaps();
  }
  return FixedTapsOf(stage);
}

// Of turned taps, if its filter is to be computed exactly. Sums become float32 in units of
// 2^-exponent (product_fixed.cu), which the amplitude takes in.
void GpuPlan::MakeFixed(Piece* piece) const {
  const FixedTaps& fixed = draft_->filter.fixed;
  if (!fixed.is_usable) return;
  const float amplitude = std::ldexp(piece->column.amplitude, -fixed.exponent);
  // Beyond, what it is multiplied by would round it once more.
  if (!(std::abs(amplitude) >= 0x1p-100F && std::abs(amplitude) <= 0x1p60F)) return;
  piece->samples = Samples::kComplexFixed;
  piece->is_long =
      FixedShapeOf(static_cast<uint32_t>(piece->stage->taps.size()), 1).steps > kFixedChunkSteps;
  piece->exponent = fixed.exponent;
  piece->column.amplitude = amplitude;
}

}  // namespace baseband::downconvert::gpu
