// The CPU device: samples in tiles through the stages, each with a queue of what it still needs.
//
//   samples -> float32 -> queue of stage 0 -> windows -> queue of stage 1 .. -> outputs -> format
//
// Tiles are short, so that all of it stays in a core's cache.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/base/work_steps.h"
#include "kernels/downconvert/downconvert.h"
#include "kernels/downconvert/first_stage_cpu.h"
#include "kernels/downconvert/kernels_cpu.h"
#include "kernels/downconvert/sample_buffer_cpu.h"
#include "kernels/downconvert/taps_cpu.h"
#include "kernels/downconvert/workspace_cpu.h"

namespace baseband::downconvert {
namespace {

constexpr int64_t kTile = 2048;       // samples
constexpr int64_t kGroupOutputs = 8;  // fewer take as long

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// What one stage has to do in a call: outputs [next, end) of inputs [first_input, end_input), the
// first of which may be before sample 0.
struct StageWork {
  const Stage* stage = nullptr;
  int64_t next = 0;
  int64_t end = 0;
  int64_t first_input = 0;
  int64_t end_input = 0;

  int64_t WindowBegin(int64_t output) const {
    return stage->NewestInput(output) - stage->history();
  }
};

struct Work {
  Work(const Filter& filter, OutputRange part) {
    for (const Stage& stage : filter.stages()) stages[count++].stage = &stage;
    int64_t next = part.first;
    int64_t end = part.first + part.count;
    for (size_t s = count; s-- > 0;) {
      StageWork& work = stages[s];
      work.next = next;
      work.end = end;
      work.first_input = work.WindowBegin(next);
      work.end_input = work.stage->NewestInput(end - 1) + 1;
      next = std::max<int64_t>(work.first_input, 0);
      end = work.end_input;
    }
  }

  size_t count = 0;
  StageWork stages[kMaxStages];
};

int64_t NewestSampleOf(const Filter& filter, int64_t output) {
  const absl::Span<const Stage> stages = filter.stages();
  for (size_t s = stages.size(); s-- > 0;) output = stages[s].NewestInput(output);
  return output;
}

bool IsFloat(InputFormat format) {
  return format == InputFormat::kFloat32 || format == InputFormat::kRealFloat32;
}

size_t FloatsPerSample(InputFormat format) {
  return static_cast<size_t>(BytesPerSample(format)) / sizeof(float);
}

// Looks for samples that are not finite among a part's own. Those that are converted are looked at
// on the way; only the others are read for it.
class SampleChecker {
 public:
  SampleChecker(const Channel& channel, const Block& block, const uint8_t* samples,
                OutputRange part, SampleCheck check)
      : block_(block), samples_(samples) {
    if (check == SampleCheck::kNo || !IsFloat(block.format)) return;
    const OutputRange range = OutputsOf(channel, block);
    const int64_t part_end = part.first + part.count;
    const int64_t block_end = block.first_index + block.num_samples;
    next_ = part.first == range.first ? block.first_index
                                      : NewestSampleOf(*channel.filter, part.first - 1) + 1;
    end_ = part_end == range.first + range.count
               ? block_end
               : NewestSampleOf(*channel.filter, part_end - 1) + 1;
  }

  // Samples [first, end) were converted, after all that are before them, and are finite or not.
  void Converted(int64_t first, int64_t end, bool is_finite) {
    LookUpTo(first);
    if (next_ < end_ && next_ < end) {
      // Samples before the part's own belong to another one.
      has_non_finite_ |= !is_finite;
      next_ = end;
    }
  }
  void LookAtTheRest() { LookUpTo(end_); }

  bool has_non_finite() const { return has_non_finite_; }

 private:
  // At those before sample `end` that it has not looked at yet.
  void LookUpTo(int64_t end) {
    end = std::min(end, end_);
    if (next_ >= end) return;
    const size_t floats = FloatsPerSample(block_.format);
    const auto at = static_cast<size_t>(next_ - block_.first_index) * floats * sizeof(float);
    const size_t count = static_cast<size_t>(end - next_) * floats;
    has_non_finite_ |= kernels_.find_non_finite(samples_ + at, count) < count;
    next_ = end;
  }

  const CpuKernels& kernels_ = KernelsOfThisProcessor();
  const Block& block_;
  const uint8_t* const samples_;
  int64_t next_ = 0;
  int64_t end_ = 0;
  bool has_non_finite_ = false;
};

class Pipeline {
 public:
  Pipeline(const Channel& channel, const Block& block, const uint8_t* samples, OutputRange part,
           SampleChecker* checker, CpuWorkspace* workspace)
      : work_(*channel.filter, part),
        checker_(*checker),
        output_format_(channel.output),
        first_stage_(channel, block, samples, std::max<int64_t>(work_.stages[0].first_input, 0),
                     work_.stages[0].end_input, workspace) {
    MemoryCutter bytes(nullptr);
    TakeMemory(&bytes);
    MemoryCutter memory(workspace->memory.AtLeast(bytes.used()));
    TakeMemory(&memory);
  }

  ChannelResult Run(uint8_t* output);

 private:
  void TakeMemory(MemoryCutter* memory);
  void Feed();
  // Computes what stage s can now, up to `room` outputs; returns how many.
  size_t Produce(size_t s, size_t room, float* out);

  Work work_;
  SampleChecker& checker_;
  const CpuKernels& kernels_ = KernelsOfThisProcessor();
  const OutputFormat output_format_;
  FirstStage first_stage_;
  SampleBuffer queues_[kMaxStages];
  float* tap_memory_[kMaxStages] = {};  // the first stage has its own
  TapTable taps_[kMaxStages];
  float* outputs_ = nullptr;
  size_t output_room_ = 0;
};

// Room for a tile, or for a group of outputs, in each queue beside the history; a history that is
// longer than that is moved as seldom as samples come.
void Pipeline::TakeMemory(MemoryCutter* memory) {
  int64_t growth = 1;
  int64_t tile = kTile;
  for (size_t s = 0; s < work_.count; ++s) {
    const Stage& stage = *work_.stages[s].stage;
    growth = std::max<int64_t>(1, CeilDivide(growth * stage.up, stage.down));
    tile = std::min(tile, CeilDivide(kTile, growth));
  }
  for (size_t s = 0; s < work_.count; ++s) {
    const Stage& stage = *work_.stages[s].stage;
    tile = std::max(tile, CeilDivide(kGroupOutputs * stage.down, stage.up) + 1);
    const auto capacity =
        static_cast<size_t>(stage.history() + std::max(stage.history(), tile) + 1);
    const size_t components = s == 0 ? first_stage_.components() : 2;
    queues_[s].Start(memory->Take<float>(capacity * components + kPadding), capacity, components,
                     work_.stages[s].first_input);
    if (s == 0) {
      first_stage_.TakeMemory(capacity, memory);
    } else {
      tap_memory_[s] = memory->Take<float>(TableFloats(stage, false));
    }
    tile = CeilDivide(tile * stage.up, stage.down) + 1;
  }
  output_room_ = static_cast<size_t>(tile);
  outputs_ = memory->Take<float>(2 * output_room_ + kPadding);
}

void Pipeline::Feed() {
  SampleBuffer& queue = queues_[0];
  const StageWork& work = work_.stages[0];
  if (work.next < work.end) queue.SkipTo(work.WindowBegin(work.next));
  size_t count = queue.MakeRoom();
  count = static_cast<size_t>(std::min(static_cast<int64_t>(count), work.end_input - queue.end()));
  const int64_t first = queue.end();
  const bool is_finite = first_stage_.Load(first, count, queue.tail());
  queue.Append(count);
  checker_.Converted(first, queue.end(), is_finite);
}

size_t Pipeline::Produce(size_t s, size_t room, float* out) {
  StageWork& work = work_.stages[s];
  SampleBuffer& queue = queues_[s];
  const bool is_fed = queue.end() < work.end_input;
  const int64_t ready =
      is_fed ? work.stage->FirstOutput(queue.end()) - work.next : work.end - work.next;
  if (ready <= 0 || (is_fed && ready < kGroupOutputs)) return 0;
  const int64_t count = std::min(ready, static_cast<int64_t>(room));
  if (s == 0) {
    first_stage_.Compute(queue, work.next, count, out);
  } else {
    FirTask task = MakeFirTask(*work.stage, taps_[s], work.next);
    task.window = queue.At(work.WindowBegin(work.next));
    task.count = static_cast<size_t>(count);
    task.out = out;
    kernels_.fir(task);
  }
  work.next += count;
  if (work.next < work.end) queue.DropBefore(work.WindowBegin(work.next));
  return static_cast<size_t>(count);
}

ChannelResult Pipeline::Run(uint8_t* output) {
  ChannelResult result;
  for (size_t s = 0; s < work_.count; ++s) {
    SampleBuffer& queue = queues_[s];
    if (s > 0) taps_[s] = WriteTaps(*work_.stages[s].stage, tap_memory_[s]);
    // Zeros before sample 0.
    const auto zeros = static_cast<size_t>(std::max<int64_t>(-work_.stages[s].first_input, 0));
    std::fill_n(queue.tail(), zeros * (s == 0 ? first_stage_.components() : 2), 0.0F);
    queue.Append(zeros);
  }
  const size_t last = work_.count - 1;
  const StageWork& last_work = work_.stages[last];
  while (last_work.next < last_work.end && CountStep()) {
    Feed();
    for (size_t s = 0; s < last; ++s) {
      const size_t room = queues_[s + 1].MakeRoom();
      queues_[s + 1].Append(Produce(s, room, queues_[s + 1].tail()));
    }
    const size_t count = Produce(last, output_room_, outputs_);
    result.saturated += kernels_.store(output_format_, outputs_, 2 * count, output);
    output += count * static_cast<size_t>(BytesPerOutput(output_format_));
  }
  return result;
}

}  // namespace

ChannelResult DownconvertOnCpu(const Channel& channel, const Block& block,
                               absl::Span<const uint8_t> samples, OutputRange part,
                               absl::Span<uint8_t> output, SampleCheck check) {
  SampleChecker checker(channel, block, samples.data(), part, check);
  ChannelResult result;
  if (part.count > 0) {
    Pipeline pipeline(channel, block, samples.data(), part, &checker,
                      &CpuWorkspace::OfThisThread());
    result = pipeline.Run(output.data());
  }
  checker.LookAtTheRest();
  result.has_non_finite = checker.has_non_finite() ? 1 : 0;
  return result;
}

int64_t FindNonFinite(const Block& block, absl::Span<const uint8_t> samples) {
  if (!IsFloat(block.format)) return block.num_samples;
  const size_t floats = FloatsPerSample(block.format);
  const size_t count = static_cast<size_t>(block.num_samples) * floats;
  return static_cast<int64_t>(KernelsOfThisProcessor().find_non_finite(samples.data(), count) /
                              floats);
}

}  // namespace baseband::downconvert
