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
  layout_.bytes = RoundUp(tap_bytes_, kAlignment);
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
  FilterTaps& filter = draft_->filter;
  if (filter.id != channel.filter->id()) {
    filter.id = channel.filter->id();
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
  piece.samples = IsReal(block.format) ? Samples::kRealTurned : Samples::kComplexTurned;
  piece.is_long = WalkOf(*piece.stage).steps() > 1;
  piece.taps = draft_->filter.taps[piece.level];
  piece.inputs.first = block.first_index;
  piece.inputs.count = block.num_samples;
  piece.column.anchors = anchors.at;
  piece.column.first_anchor = anchors.first_anchor();
  piece.column.step = segment.frequency.word();
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
