// A plan as a whole: channel by channel, then what they share, then the tables in its memory.
#include "kernels/downconvert/gpu_plan.h"

#include <algorithm>
#include <cstring>

#include "kernels/downconvert/gpu_plan_sizes.h"

namespace baseband::downconvert::gpu {
namespace {

template <typename T>
uint64_t Place(const std::vector<T>& table, uint64_t* bytes) {
  const uint64_t at = *bytes;
  *bytes = RoundUp<uint64_t>(at + table.size() * sizeof(T), kAlignment);
  return at;
}

template <typename T>
void CopyTable(const std::vector<T>& table, uint8_t* to) {
  if (!table.empty()) std::memcpy(to, table.data(), table.size() * sizeof(T));
}

}  // namespace

void GpuPlan::Build(absl::Span<const Channel> channels, const Block& block,
                    absl::Span<const int64_t> output_offsets) {
  filters_.clear();
  taps_.clear();
  products_.clear();
  columns_.clear();
  tap_tasks_.clear();
  anchors_.clear();
  anchor_tasks_.clear();
  checks_.clear();
  mixes_.clear();
  studies_.clear();
  launches_.clear();
  tap_bytes_ = 0;
  workspace_bytes_ = 0;
  mix_blocks_ = 0;
  check_blocks_ = 0;
  move_period_ = 0;
  columns_.reserve(channels.size());
  tap_tasks_.reserve(channels.size());
  anchors_.reserve(channels.size());
  anchor_tasks_.reserve(channels.size());
  block_ = block;
  output_offsets_.assign(output_offsets.begin(), output_offsets.end());
  draft_ = &DraftOfThisThread();
  draft_->pieces.clear();
  draft_->filter = FilterTaps();

  std::vector<uint32_t>& order = draft_->order;
  order.resize(channels.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
  std::sort(order.begin(), order.end(), [channels](uint32_t a, uint32_t b) {
    return channels[a].filter->id() < channels[b].filter->id();
  });
  CountFirstStages(channels);
  for (const uint32_t c : order) {
    Column column;
    column.channel = c;
    column.format = channels[c].output;
    column.amplitude = channels[c].gain * block.scale;
    column.output = static_cast<uint64_t>(output_offsets[c]);
    PlanChannel(channels[c], column, block);
  }
  std::sort(draft_->pieces.begin(), draft_->pieces.end());
  GroupPieces(block.format);
  PlanChecks();

  layout_ = PlanLayout();
  layout_.taps = 0;  // tasks count from the plan's begin
  layout_.bytes = RoundUp<uint64_t>(tap_bytes_, kAlignment);
  layout_.products = Place(products_, &layout_.bytes);
  layout_.columns = Place(columns_, &layout_.bytes);
  layout_.tap_tasks = Place(tap_tasks_, &layout_.bytes);
  layout_.anchor_tasks = Place(anchor_tasks_, &layout_.bytes);
  layout_.checks = Place(checks_, &layout_.bytes);
  layout_.mixes = Place(mixes_, &layout_.bytes);
  layout_.studies = Place(studies_, &layout_.bytes);

  NoteMoves(channels);
  draft_ = nullptr;
}

GpuPlan::Draft& GpuPlan::DraftOfThisThread() {
  static thread_local Draft draft;
  return draft;
}

void GpuPlan::CopyTo(uint8_t* memory) const {
  CopyTable(products_, memory + layout_.products);
  CopyTable(columns_, memory + layout_.columns);
  CopyTable(tap_tasks_, memory + layout_.tap_tasks);
  CopyTable(anchor_tasks_, memory + layout_.anchor_tasks);
  CopyTable(checks_, memory + layout_.checks);
  CopyTable(mixes_, memory + layout_.mixes);
  CopyTable(studies_, memory + layout_.studies);
  for (const FilterTap& filter : taps_) {
    CopyTable(filter.stage->taps, memory + layout_.taps + filter.at);
  }
}

uint64_t GpuPlan::Reserve(uint64_t bytes) {
  const uint64_t at = workspace_bytes_;
  workspace_bytes_ = RoundUp<uint64_t>(at + bytes, kAlignment);
  return at;
}

}  // namespace baseband::downconvert::gpu
