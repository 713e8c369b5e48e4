// The first half of planning: which outputs of which stages are computed how.
#include <algorithm>

#include "kernels/downconvert/gpu_plan.h"
#include "kernels/downconvert/gpu_plan_sizes.h"

namespace baseband::downconvert::gpu {
namespace {

constexpr uint64_t kNone = ~uint64_t{0};

uint64_t OutputBytes(const Column& column) {
  return static_cast<uint64_t>(BytesPerOutput(column.format));
}

// The samples that a stage's outputs see; none before sample 0.
OutputRange InputsOf(const Stage& stage, const OutputRange& outputs) {
  OutputRange inputs;
  inputs.first = std::max<int64_t>(0, stage.NewestInput(outputs.first) - stage.history());
  inputs.count = stage.NewestInput(outputs.first + outputs.count - 1) + 1 - inputs.first;
  return inputs;
}

}  // namespace

void GpuPlan::PlanChannel(const Channel& channel, const Column& column, const Block& block) {
  const absl::Span<const Stage> stages = channel.filter->stages();
  OutputRange outputs[kMaxStages];
  outputs[stages.size() - 1] = OutputsOf(channel, block);
  if (outputs[stages.size() - 1].count <= 0) return;
  for (size_t l = stages.size() - 1; l > 0; --l) {
    outputs[l - 1] = InputsOf(stages[l], outputs[l]);
  }
  FilterTaps& filter = draft_->filter;
  if (filter.id != channel.filter->id()) {
    filter.id = channel.filter->id();
    filter.fixed = FixedTapsFor(stages.front());
    filters_.push_back(channel.filter);
    for (size_t l = 0; l < stages.size(); ++l) {
      filter.taps[l] = tap_bytes_;
      filter.plain[l] = kNone;
      taps_.push_back({&stages[l], tap_bytes_});
      tap_bytes_ += stages[l].taps.size() * sizeof(float);
    }
  }
  Piece piece;
  for (size_t l = 0; l < stages.size(); ++l) {
    if (l > 0) {
      piece.is_in_workspace = true;
      piece.input = piece.column.output;
      piece.inputs = outputs[l - 1];
    }
    piece.level = static_cast<int>(l);
    piece.outputs = outputs[l];
    piece.stage = &stages[l];
    piece.column = column;
    if (l + 1 < stages.size()) {
      piece.column.is_last = false;
      piece.column.format = OutputFormat::kFloat32;
      piece.column.output = Reserve(static_cast<uint64_t>(outputs[l].count) * kComplexBytes);
    }
    if (l > 0) {
      AddPlain(piece);
    } else if (channel.nco == NcoMethod::kExact) {
      PlanExactStage(channel, piece, block);
    } else {
      AddMixed(channel, piece, block);
    }
  }
}

// Cuts the outputs where their windows begin to hold one frequency, and where they end to.
void GpuPlan::PlanExactStage(const Channel& channel, const Piece& whole, const Block& block) {
  const Stage& stage = *whole.stage;
  const absl::Span<const PhaseTrack::Segment> segments = channel.phase.segments();
  const int64_t end = whole.outputs.first + whole.outputs.count;
  const auto cut = [&whole](int64_t first, int64_t last) {
    Piece piece = whole;
    piece.outputs.first = first;
    piece.outputs.count = last - first;
    piece.column.output +=
        static_cast<uint64_t>(first - whole.outputs.first) * OutputBytes(whole.column);
    return piece;
  };
  int64_t mixed_from = end;  // outputs from here to `m` mix: they hold one retune or more
  for (int64_t m = whole.outputs.first; m < end;) {
    const auto* const segment = &channel.phase.SegmentOf(stage.NewestInput(m));
    const bool is_first = segment == segments.begin();
    const bool is_last = segment + 1 == segments.end();
    // Outputs whose windows begin, and whose newest samples are, in the segment.
    const int64_t straight = is_first ? m : stage.FirstOutput(segment->begin + stage.history());
    const int64_t after = is_last ? end : std::min(end, stage.FirstOutput((segment + 1)->begin));
    if (m < straight) {
      mixed_from = std::min(mixed_from, m);
      m = std::min(straight, after);
    }
    if (mixed_from < m && (m == straight || m == end)) {
      AddMixed(channel, cut(mixed_from, m), block);
      mixed_from = end;
    }
    if (m < after) {
      AddTurned(*segment, cut(m, after), block);
      m = after;
    }
  }
}

void GpuPlan::AddTurned(const PhaseTrack::Segment& segment, Piece piece, const Block& block) {
  const int64_t newest = piece.stage->NewestInput(piece.outputs.first);
  const int64_t last = piece.stage->NewestInput(piece.outputs.first + piece.outputs.count - 1);
  const Anchors anchors = AddAnchors(segment, newest, last);
  piece.samples =
      block.format >= InputFormat::kRealInt8 ? Samples::kRealTurned : Samples::kComplexTurned;
  piece.is_long = WalkOf(*piece.stage).steps() > 1;
  piece.taps = draft_->filter.taps[piece.level];
  piece.inputs.first = block.first_index;
  piece.inputs.count = block.num_samples;
  piece.column.anchors = anchors.at;
  piece.column.first_anchor = anchors.first_anchor();
  piece.column.step = segment.frequency.word();
  MakeFixed(&piece);
  draft_->pieces.push_back(piece);
}

void GpuPlan::AddMixed(const Channel& channel, Piece piece, const Block& block) {
  const OutputRange inputs = InputsOf(*piece.stage, piece.outputs);
  const uint64_t target = Reserve(static_cast<uint64_t>(inputs.count) * kComplexBytes);
  MixTask task;
  task.format = block.format;
  task.nco = channel.nco;
  task.amplitude = piece.column.amplitude;
  const auto add = [&](int64_t first, int64_t end) {
    task.first_block = mix_blocks_;
    task.target = target + static_cast<uint64_t>(first - inputs.first) * kComplexBytes;
    task.first_sample = first - block.first_index;
    task.first_index = first;
    task.num_samples = end - first;
    mixes_.push_back(task);
    mix_blocks_ += static_cast<uint32_t>((end - first + kMixSamples - 1) / kMixSamples);
  };
  const int64_t end = inputs.first + inputs.count;
  if (channel.nco == NcoMethod::kFloat) {
    task.initial_word = channel.phase.Word(0);
    task.cycles_per_sample = channel.phase.segments().front().frequency.cycles_per_sample();
    add(inputs.first, end);
  } else if (channel.nco != NcoMethod::kExact) {
    task.phases = AddStudy(channel, end);
    add(inputs.first, end);
  } else {
    for (int64_t n = inputs.first; n < end;) {
      const PhaseTrack::Segment& segment = channel.phase.SegmentOf(n);
      const bool is_last = &segment == &channel.phase.segments().back();
      const int64_t after = is_last ? end : std::min(end, (&segment + 1)->begin);
      const Anchors anchors = AddAnchors(segment, n, after - 1);
      task.phases = anchors.at;
      task.first_anchor = anchors.first_anchor();
      task.step = segment.frequency.word();
      add(n, after);
      n = after;
    }
  }
  piece.is_in_workspace = true;
  piece.input = target;
  piece.inputs = inputs;
  AddPlain(piece);
}

void GpuPlan::AddPlain(Piece piece) {
  const TapWalk walk = WalkOf(*piece.stage);
  uint64_t& slots = draft_->filter.plain[piece.level];
  if (slots == kNone) {
    slots = Reserve(uint64_t{walk.up} * walk.set_slots() * sizeof(float));
    TapTask task;
    task.taps = draft_->filter.taps[piece.level];
    task.target = slots;
    task.walk = walk;
    AddTapTasks(task);
  }
  piece.samples = Samples::kComplexPlain;
  piece.is_long = walk.steps() > 1;
  piece.column.taps = slots;
  draft_->pieces.push_back(piece);
}

}  // namespace baseband::downconvert::gpu
