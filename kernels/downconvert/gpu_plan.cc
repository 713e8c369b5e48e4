// The first half of planning: which outputs of which stages are computed how, and what that takes.
#include "kernels/downconvert/gpu_plan.h"

#include <algorithm>
#include <cstring>

namespace baseband::downconvert::gpu {
namespace {

constexpr uint32_t kMaxStepBranches = 8;  // for a window of 1024 outputs that is 70 KB
constexpr uint32_t kMaxStepTaps = 128;
constexpr uint32_t kTapTaskSlots = 16 * kBlockThreads;
constexpr uint32_t kAnchorTaskSize = 4 * kBlockThreads;
constexpr uint64_t kAlignment = 16;
constexpr uint64_t kNone = ~uint64_t{0};
constexpr uint64_t kComplexBytes = 2 * sizeof(float);

template <typename T>
T RoundUp(T value, T multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

bool IsReal(InputFormat format) { return format >= InputFormat::kRealInt8; }

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

template <typename T>
uint64_t Place(const std::vector<T>& table, uint64_t* bytes) {
  const uint64_t at = *bytes;
  *bytes = RoundUp(at + table.size() * sizeof(T), kAlignment);
  return at;
}

template <typename T>
void CopyTable(const std::vector<T>& table, uint8_t* to) {
  if (!table.empty()) std::memcpy(to, table.data(), table.size() * sizeof(T));
}

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

void GpuPlan::Build(absl::Span<const Channel> channels, const Block& block,
                    absl::Span<const int64_t> output_offsets) {
  products_.clear();
  columns_.clear();
  tap_tasks_.clear();
  anchor_tasks_.clear();
  mixes_.clear();
  studies_.clear();
  taps_.clear();
  launches_.clear();
  pieces_.clear();
  workspace_bytes_ = 0;
  mix_blocks_ = 0;
  filter_ = FilterTaps();

  order_.resize(channels.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<uint32_t>(i);
  std::sort(order_.begin(), order_.end(), [channels](uint32_t a, uint32_t b) {
    return channels[a].filter->id() < channels[b].filter->id();
  });
  for (const uint32_t c : order_) {
    Column column;
    column.channel = c;
    column.format = channels[c].output;
    column.amplitude = channels[c].gain * block.scale;
    column.output = output_offsets.empty() ? 0 : static_cast<uint64_t>(output_offsets[c]);
    PlanChannel(channels[c], column, block);
  }
  std::sort(pieces_.begin(), pieces_.end());
  GroupPieces(block.format);

  layout_ = PlanLayout();
  layout_.taps = Place(taps_, &layout_.bytes);  // first: tasks count from the plan's begin
  layout_.products = Place(products_, &layout_.bytes);
  layout_.columns = Place(columns_, &layout_.bytes);
  layout_.tap_tasks = Place(tap_tasks_, &layout_.bytes);
  layout_.anchor_tasks = Place(anchor_tasks_, &layout_.bytes);
  layout_.mixes = Place(mixes_, &layout_.bytes);
  layout_.studies = Place(studies_, &layout_.bytes);
}

void GpuPlan::CopyTo(uint8_t* memory) const {
  CopyTable(products_, memory + layout_.products);
  CopyTable(columns_, memory + layout_.columns);
  CopyTable(tap_tasks_, memory + layout_.tap_tasks);
  CopyTable(anchor_tasks_, memory + layout_.anchor_tasks);
  CopyTable(mixes_, memory + layout_.mixes);
  CopyTable(studies_, memory + layout_.studies);
  CopyTable(taps_, memory + layout_.taps);
}

uint64_t GpuPlan::Reserve(uint64_t bytes) {
  const uint64_t at = workspace_bytes_;
  workspace_bytes_ = RoundUp(at + bytes, kAlignment);
  return at;
}

void GpuPlan::PlanChannel(const Channel& channel, const Column& column, const Block& block) {
  const absl::Span<const Stage> stages = channel.filter->stages();
  OutputRange outputs[kMaxStages];
  outputs[stages.size() - 1] = OutputsOf(channel, block);
  if (outputs[stages.size() - 1].count <= 0) return;
  for (size_t l = stages.size() - 1; l > 0; --l) {
    outputs[l - 1] = InputsOf(stages[l], outputs[l]);
  }
  if (filter_.id != channel.filter->id()) {
    filter_.id = channel.filter->id();
    for (size_t l = 0; l < stages.size(); ++l) {
      filter_.taps[l] = taps_.size() * sizeof(float);
      filter_.plain[l] = kNone;
      taps_.insert(taps_.end(), stages[l].taps.begin(), stages[l].taps.end());
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
  piece.samples = IsReal(block.format) ? Samples::kRealTurned : Samples::kComplexTurned;
  piece.is_long = WalkOf(*piece.stage).steps() > 1;
  piece.taps = filter_.taps[piece.level];
  piece.inputs.first = block.first_index;
  piece.inputs.count = block.num_samples;
  piece.column.anchors = anchors.at;
  piece.column.first_anchor = anchors.first;
  piece.column.step = segment.frequency.word();
  pieces_.push_back(piece);
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
      task.first_anchor = anchors.first;
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
  uint64_t& slots = filter_.plain[piece.level];
  if (slots == kNone) {
    slots = Reserve(uint64_t{walk.up} * walk.set_slots() * sizeof(float));
    TapTask task;
    task.taps = filter_.taps[piece.level];
    task.target = slots;
    task.walk = walk;
    AddTapTasks(task);
  }
  piece.samples = Samples::kComplexPlain;
  piece.is_long = walk.steps() > 1;
  piece.column.taps = slots;
  pieces_.push_back(piece);
}

GpuPlan::Anchors GpuPlan::AddAnchors(const PhaseTrack::Segment& segment, int64_t first,
                                     int64_t last) {
  const int64_t first_grid = first / kAnchorSpacing;
  const auto count = static_cast<uint64_t>(last / kAnchorSpacing - first_grid + 1);
  Anchors anchors;
  anchors.at = Reserve(count * sizeof(Anchor));
  anchors.first = first_grid;
  AnchorTask task;
  const int64_t num = segment.frequency.num();
  task.is_negative = num < 0;
  task.num = static_cast<uint64_t>(num < 0 ? -num : num);
  task.den = segment.frequency.den();
  task.origin = segment.origin;
  task.origin_word = segment.origin_word;
  for (uint64_t i = 0; i < count; i += kAnchorTaskSize) {
    task.target = anchors.at + i * sizeof(Anchor);
    task.first_index =
        std::max(segment.begin, (first_grid + static_cast<int64_t>(i)) * kAnchorSpacing);
    task.num_anchors = static_cast<uint32_t>(std::min<uint64_t>(kAnchorTaskSize, count - i));
    anchor_tasks_.push_back(task);
  }
  return anchors;
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
