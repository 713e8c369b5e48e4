// Who looks for samples that are not finite. A product that takes the samples as they came has each
// of them in its sums, in registers: a sum is not finite where a sample is not, so that one look at
// the sums tells of dozens of samples, and costs next to nothing. What no product sees is looked at
// as it lies in memory: what a filter leaves out, the samples behind the last output, windows that
// hold a retune.
#include <algorithm>

#include "kernels/downconvert/gpu_plan.h"

namespace baseband::downconvert::gpu {
namespace {

// Whether no sample lies between the windows of consecutive outputs.
bool SeesAll(const TapWalk& walk) {
  return walk.num_taps / walk.up >= (walk.down + walk.up - 1) / walk.up;
}

}  // namespace

bool GpuPlan::is_float() const {
  return block_.format == InputFormat::kFloat32 || block_.format == InputFormat::kRealFloat32;
}

void GpuPlan::PlanChecks() {
  if (!is_float()) return;
  std::vector<Seen>& seen = draft_->seen;
  seen.clear();
  for (size_t t = 0; t < products_.size(); ++t) {
    const ProductTask& task = products_[t];
    const TapWalk& walk = task.walk;
    if (task.is_in_workspace || !SeesAll(walk)) continue;
    const int64_t newest_of_last =
        task.newest_sample + (task.first_remainder + (task.num_outputs - 1) * walk.down) / walk.up;
    // Of the shortest set of taps, for which it is depends on the output.
    seen.push_back({task.newest_sample - (walk.num_taps / walk.up - 1), newest_of_last + 1, t});
  }
  std::sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  int64_t end = 0;  // of the samples that somebody looks at
  for (const Seen& part : seen) {
    if (part.end <= end) continue;
    if (part.begin > end) AddCheck(end, part.begin);
    products_[part.task].looks = true;
    end = part.end;
  }
  if (end < block_.num_samples) AddCheck(end, block_.num_samples);
}

void GpuPlan::AddCheck(int64_t begin, int64_t end) {
  const auto floats = static_cast<uint64_t>(BytesPerSample(block_.format)) / sizeof(float);
  const uint64_t all = static_cast<uint64_t>(block_.num_samples) * floats;
  CheckTask task;
  task.first_block = static_cast<uint32_t>(check_blocks_);
  task.begin = static_cast<uint64_t>(begin) * floats / 4 * 4;
  task.end = std::min(all, (static_cast<uint64_t>(end) * floats + 3) / 4 * 4);
  checks_.push_back(task);
  check_blocks_ += (task.end - task.begin + kCheckFloats - 1) / kCheckFloats;
}

}  // namespace baseband::downconvert::gpu
