// What a launch prepares before it mixes or sums up: taps as they are walked, the oscillators'
// anchors, the phases of a study.
#include <algorithm>

#include "kernels/downconvert/gpu_plan.h"
#include "kernels/downconvert/gpu_plan_sizes.h"

namespace baseband::downconvert::gpu {
namespace {

constexpr uint32_t kMaxStepBranches = 8;  // for a window of 1024 outputs that is 70 KB
constexpr uint32_t kMaxStepTaps = 128;
constexpr uint32_t kTapTaskSlots = 16 * kBlockThreads;
constexpr uint32_t kAnchorTaskSize = 4 * kBlockThreads;

}  // namespace

TapWalk WalkOf(const Stage& stage) {
  TapWalk walk;
  walk.num_taps = static_cast<uint32_t>(stage.taps.size());
  walk.up = static_cast<uint32_t>(stage.up);
  walk.down = static_cast<uint32_t>(stage.down);
  const uint32_t taps = CeilDiv(walk.num_taps, walk.up);  // of the longest set
  const uint32_t branches = std::min(walk.down, taps);
  const uint32_t depth = CeilDiv(taps, walk.down);
  walk.depth = std::min(depth, kMaxStepTaps);
  walk.branches = std::min({branches, kMaxStepBranches, kMaxStepTaps / walk.depth});
  walk.branch_steps = CeilDiv(branches, walk.branches);
  walk.depth_steps = CeilDiv(depth, walk.depth);
  walk.step_slots = RoundUp(walk.branches * walk.depth, 4U);
  return walk;
}

GpuPlan::Anchors GpuPlan::AddAnchors(const PhaseTrack::Segment& segment, int64_t first,
                                     int64_t last) {
  // As many as there may be of so many samples, wherever they lie between the anchors.
  const auto most = static_cast<uint64_t>((last - first) / kAnchorSpacing + 2);
  Anchors anchors;
  anchors.at = Reserve(most * sizeof(Anchor));
  anchors.first = first;
  anchors.last = last;
  anchors.segment_begin = segment.begin;
  anchors.first_task = anchor_tasks_.size();
  anchors.num_tasks = (most + kAnchorTaskSize - 1) / kAnchorTaskSize;
  AnchorTask task;
  const int64_t num = segment.frequency.num();
  task.is_negative = num < 0;
  task.num = static_cast<uint64_t>(num < 0 ? -num : num);
  task.den = segment.frequency.den();
  task.origin = segment.origin;
  task.origin_word = segment.origin_word;
  anchor_tasks_.insert(anchor_tasks_.end(), anchors.num_tasks, task);
  SetAnchors(anchors);
  anchors_.push_back(anchors);
  return anchors;
}

// Says which ones the tasks compute; none may be left for the last task.
void GpuPlan::SetAnchors(const Anchors& anchors) {
  const int64_t first_anchor = anchors.first_anchor();
  const int64_t count = anchors.last / kAnchorSpacing - first_anchor + 1;
  for (size_t t = 0; t < anchors.num_tasks; ++t) {
    AnchorTask& task = anchor_tasks_[anchors.first_task + t];
    const auto done = static_cast<int64_t>(t * kAnchorTaskSize);
    task.target = anchors.at + static_cast<uint64_t>(done) * sizeof(Anchor);
    task.first_index = std::max(anchors.segment_begin, (first_anchor + done) * kAnchorSpacing);
    task.num_anchors = static_cast<uint32_t>(std::clamp<int64_t>(count - done, 0, kAnchorTaskSize));
  }
}

uint64_t GpuPlan::AddStudy(const Channel& channel, int64_t num_samples) {
  StudyTask task;
  task.nco = channel.nco;
  task.cycles_per_sample = channel.phase.segments().front().frequency.cycles_per_sample();
  task.segment = channel.study_segment;
  task.initial_word = channel.phase.Word(0);
  task.num_samples = num_samples;
  task.target = Reserve(static_cast<uint64_t>(num_samples) * sizeof(uint64_t));
  studies_.push_back(task);
  return task.target;
}

void GpuPlan::AddTapTasks(TapTask task) {
  const uint32_t slots = task.walk.up * task.walk.set_slots();
  for (task.first_slot = 0; task.first_slot < slots; task.first_slot += kTapTaskSlots) {
    task.num_slots = std::min(kTapTaskSlots, slots - task.first_slot);
    tap_tasks_.push_back(task);
  }
}

}  // namespace baseband::downconvert::gpu
