#include "kernels/downconvert/first_stage_cpu.h"

#include <algorithm>
#include <limits>

#include "kernels/downconvert/taps_cpu.h"

namespace baseband::downconvert {
namespace {

constexpr size_t kMixAtOnce = 1024;  // samples
// Turned taps cost complex samples two products instead of one a tap; mixing costs about as much as
// so many taps a sample.
constexpr int64_t kTapsWorthMixing = 10;

bool IsReal(InputFormat format) { return format >= InputFormat::kRealInt8; }

bool TurnsTaps(const Channel& channel, InputFormat format) {
  if (channel.nco != NcoMethod::kExact) return false;
  const Stage& stage = channel.filter->stages().front();
  return IsReal(format) || (stage.history() + 1) * stage.up <= kTapsWorthMixing * stage.down;
}

}  // namespace

FirstStage::FirstStage(const Channel& channel, const Block& block, const uint8_t* samples,
                       int64_t begin, int64_t end, CpuWorkspace* workspace)
    : channel_(channel),
      block_(block),
      samples_(samples),
      stage_(channel.filter->stages().front()),
      is_real_(IsReal(block.format)),
      turns_taps_(TurnsTaps(channel, block.format)),
      mixer_(channel, channel.gain * block.scale, begin, end, workspace) {}

void FirstStage::TakeMemory(size_t capacity, MemoryCutter* memory) {
  tap_memory_ = memory->Take<float>(TableFloats(stage_, false));
  if (!turns_taps_) {
    converted_ = memory->Take<float>(2 * kMixAtOnce + kPadding);
    return;
  }
  mixed_ = memory->Take<float>(2 * capacity + kPadding);
  turned_re_ = memory->Take<float>(TableFloats(stage_, is_real_));
  turned_im_ = memory->Take<float>(TableFloats(stage_, is_real_));
  turns_ = memory->Take<double>(2 * (static_cast<size_t>(stage_.history()) + 1));
}

bool FirstStage::Load(int64_t first, size_t count, float* out) {
  const auto bytes = static_cast<size_t>(BytesPerSample(block_.format));
  const uint8_t* in = samples_ + static_cast<size_t>(first - block_.first_index) * bytes;
  const size_t in_components = is_real_ ? 1 : 2;
  if (turns_taps_) return kernels_.convert(block_.format, in, count * in_components, out);
  bool is_finite = true;
  for (size_t done = 0; done < count;) {
    const size_t part = std::min(count - done, kMixAtOnce);
    is_finite &=
        kernels_.convert(block_.format, in + done * bytes, part * in_components, converted_);
    mixer_.Mix(converted_, is_real_, first + static_cast<int64_t>(done), 1, part, out + 2 * done);
    done += part;
  }
  return is_finite;
}

void FirstStage::Compute(const SampleBuffer& queue, int64_t first, int64_t count, float* out) {
  if (!turns_taps_) {
    if (taps_.re == nullptr) taps_ = WriteTaps(stage_, tap_memory_);
    return Filter(taps_, queue.At(WindowBegin(first)), false, first, count, out);
  }
  const int64_t end = first + count;
  while (first < end) {
    // The segment that the window begins in: either it ends in it, too, or it holds a retune.
    const int64_t newest = stage_.NewestInput(first);
    const int64_t window_begin = std::max<int64_t>(WindowBegin(first), 0);
    const PhaseTrack::Segment& segment = channel_.phase.SegmentOf(window_begin);
    const bool is_last = &segment == &channel_.phase.segments().back();
    const int64_t segment_end =
        is_last ? std::numeric_limits<int64_t>::max() : (&segment + 1)->begin;
    const bool holds_retune = newest >= segment_end;
    int64_t run_end = end;
    if (holds_retune) {
      run_end = std::min(end, stage_.FirstOutput(segment_end + stage_.history()));
      ComputeMixed(queue, first, run_end - first, out);
    } else {
      if (!is_last) run_end = std::min(end, stage_.FirstOutput(segment_end));
      ComputeTurned(queue, segment.frequency, first, run_end - first, out);
    }
    out += 2 * (run_end - first);
    first = run_end;
  }
}

void FirstStage::ComputeTurned(const SampleBuffer& queue, const Frequency& frequency, int64_t first,
                               int64_t count, float* out) {
  const uint64_t word = frequency.word();
  if (turned_.re == nullptr || word != turned_word_) {
    turned_ = WriteTurnedTaps(stage_, is_real_, word, turns_, turned_re_, turned_im_);
    turned_word_ = word;
  }
  Filter(turned_, queue.At(WindowBegin(first)), is_real_, first, count, out);
  mixer_.MixOutputs(stage_, first, static_cast<size_t>(count), out);
}

void FirstStage::ComputeMixed(const SampleBuffer& queue, int64_t first, int64_t count, float* out) {
  if (taps_.re == nullptr) taps_ = WriteTaps(stage_, tap_memory_);
  const int64_t begin = WindowBegin(first);
  const int64_t end = stage_.NewestInput(first + count - 1) + 1;
  const int64_t mixed_begin = std::max<int64_t>(begin, 0);  // zeros before sample 0
  float* const mixed = mixed_ + 2 * (mixed_begin - begin);
  std::fill(mixed_, mixed, 0.0F);
  mixer_.Mix(queue.At(mixed_begin), is_real_, mixed_begin, 1,
             static_cast<size_t>(end - mixed_begin), mixed);
  Filter(taps_, mixed_, false, first, count, out);
}

void FirstStage::Filter(const TapTable& taps, const float* window, bool in_is_real, int64_t first,
                        int64_t count, float* out) const {
  FirTask task = MakeFirTask(stage_, taps, first);
  task.window = window;
  task.in_is_real = in_is_real;
  task.count = static_cast<size_t>(count);
  task.out = out;
  kernels_.fir(task);
}

}  // namespace baseband::downconvert
