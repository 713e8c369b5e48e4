#include "kernels/downconvert/mixer_cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace baseband::downconvert {
namespace {

constexpr size_t kWordsAtOnce = 256;

uint64_t WordOfRadians(double radians) {
  const double turns = radians / kRadiansPerTurn;
  return static_cast<uint64_t>(static_cast<int64_t>((turns - std::nearbyint(turns)) * 0x1p63)) * 2;
}

double RadiansOfWord(uint64_t word) {
  return static_cast<double>(static_cast<int64_t>(word)) * (kRadiansPerTurn * 0x1p-64);
}

}  // namespace

CpuMixer::CpuMixer(const Channel& channel, float amplitude, int64_t begin, int64_t end,
                   CpuWorkspace* workspace)
    : channel_(channel),
      workspace_(*workspace),
      amplitude_(amplitude),
      cycles_per_sample_(channel.phase.segments().front().frequency.cycles_per_sample()),
      initial_word_(channel.phase.segments().front().origin_word),
      study_(channel.nco, cycles_per_sample_, channel.study_segment) {
  workspace_.anchors.clear();
  if (channel.nco == NcoMethod::kExact) {
    AppendAnchors(channel.phase, begin, end, &workspace_.anchors);
  }
}

size_t CpuMixer::AnchorOf(int64_t n) const {
  const std::vector<PhaseAnchor>& anchors = workspace_.anchors;
  const auto after = std::upper_bound(
      anchors.begin(), anchors.end(), n,
      [](int64_t index, const PhaseAnchor& anchor) { return index < anchor.index; });
  return static_cast<size_t>(after - anchors.begin()) - 1;
}

int64_t CpuMixer::AnchorEnd(size_t anchor) const {
  return anchor + 1 < workspace_.anchors.size() ? workspace_.anchors[anchor + 1].index
                                                : std::numeric_limits<int64_t>::max();
}

void CpuMixer::MixStudy(MixTask task, int64_t first) {
  const bool is_float = channel_.nco == NcoMethod::kFloat;
  FloatMixTask float_task;
  float_task.radians_per_sample = static_cast<float>(kRadiansPerTurn * cycles_per_sample_);
  float_task.phase = static_cast<float>(RadiansOfWord(initial_word_));
  if (is_float && kernels_.mix_float != nullptr) {
    float_task.mix = task;
    float_task.first = static_cast<int32_t>(first);
    return kernels_.mix_float(float_task);
  }
  for (; study_next_ < first; ++study_next_) study_.Advance();
  uint64_t words[kWordsAtOnce + kPadding] = {};
  task.words = words;
  for (size_t left = task.count; left > 0; left -= task.count) {
    task.count = std::min(left, kWordsAtOnce);
    for (size_t i = 0; i < task.count; ++i) {
      words[i] = is_float ? WordOfRadians(FloatPhase(float_task.radians_per_sample, study_next_,
                                                     float_task.phase))
                          : WordOfRadians(study_.phase()) + initial_word_;
      study_.Advance();
      ++study_next_;
    }
    kernels_.mix(task);
    task.in += task.count * (task.in_is_real ? 1 : 2);
    task.out += task.count * 2;
  }
}

void CpuMixer::Mix(const float* in, bool in_is_real, int64_t first, int64_t stride, size_t count,
                   float* out) {
  MixTask task;
  task.in = in;
  task.in_is_real = in_is_real;
  task.out = out;
  task.count = count;
  task.amplitude = amplitude_;
  if (channel_.nco != NcoMethod::kExact) return MixStudy(task, first);
  for (size_t anchor = AnchorOf(first); count > 0; ++anchor) {
    const int64_t end = AnchorEnd(anchor);
    if (end <= first) continue;
    const PhaseAnchor& phase = workspace_.anchors[anchor];
    const int64_t before_end = (end - first - 1) / stride + 1;
    task.count = std::min(count, static_cast<size_t>(before_end));
    task.word = phase.word + static_cast<uint64_t>(first - phase.index) * phase.step;
    task.step = static_cast<uint64_t>(stride) * phase.step;
    kernels_.mix(task);
    count -= task.count;
    first += static_cast<int64_t>(task.count) * stride;
    task.in += task.count * (in_is_real ? 1 : 2);
    task.out += task.count * 2;
  }
}

void CpuMixer::MixOutputs(const Stage& stage, int64_t first_output, size_t count, float* values) {
  const int64_t first = stage.NewestInput(first_output);
  if (stage.up == 1) return Mix(values, false, first, stage.down, count, values);
  // Newest inputs at two alternating distances.
  uint64_t words[kWordsAtOnce + kPadding] = {};
  MixTask task;
  task.amplitude = amplitude_;
  task.words = words;
  size_t anchor = AnchorOf(first);
  int64_t end = AnchorEnd(anchor);
  int64_t newest = first;
  int branch = stage.TapPhase(first_output);
  for (size_t done = 0; done < count; done += task.count) {
    task.count = std::min(count - done, kWordsAtOnce);
    for (size_t i = 0; i < task.count; ++i) {
      while (newest >= end) end = AnchorEnd(++anchor);
      const PhaseAnchor& phase = workspace_.anchors[anchor];
      words[i] = phase.word + static_cast<uint64_t>(newest - phase.index) * phase.step;
      newest += stage.down / stage.up;
      branch += stage.down % stage.up;
      if (branch >= stage.up) {
        branch -= stage.up;
        ++newest;
      }
    }
    task.in = task.out = values + 2 * done;
    kernels_.mix(task);
  }
}

}  // namespace baseband::downconvert
