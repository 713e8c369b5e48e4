// The second half of planning: pieces that can share a task become its columns.
#include <algorithm>
#include <tuple>

#include "kernels/downconvert/fixed_shape.h"
#include "kernels/downconvert/gpu_plan.h"
#include "kernels/downconvert/gpu_plan_sizes.h"

namespace baseband::downconvert::gpu {
namespace {

// How many of a block's warps take columns of their own, the others taking more outputs: as many as
// leave none, or few enough, without work.
uint32_t WarpsAcross(uint32_t groups) {
  if (groups % 4 == 0 || groups > 8) return 4;
  if (groups % 2 == 0 || groups > 4) return 2;
  return 1;
}

uint32_t WarpColumns(const ProductKind& kind) {
  if (kind.samples == Samples::kComplexFixed) return kFixedColumns;
  return kind.is_quad ? kQuad : 1;
}

uint32_t WarpOutputs(const ProductKind& kind, const TapWalk& walk) {
  if (kind.samples != Samples::kComplexFixed) return kWarpOutputs;
  return FixedShapeOf(walk.num_taps, walk.down).warp_outputs;
}

// Lays out shared memory; product.cuh explains the window, product_fixed.cu the exact one.
void SetShape(const ProductKind& kind, ProductTask* task) {
  const TapWalk& walk = task->walk;
  const uint32_t group = WarpColumns(kind);
  const uint32_t sample_bytes = kind.samples == Samples::kRealTurned ? 4 : 8;
  const uint32_t tap_bytes = kind.samples == Samples::kComplexPlain ? 4 : 8;
  task->warps_across = WarpsAcross(CeilDiv(task->num_columns, group));
  if (kind.samples == Samples::kComplexFixed) {
    task->window_bytes = FixedBytes(walk, task->format, kBlockWarps / task->warps_across);
    task->shared_bytes = task->window_bytes;
    return;
  }
  task->branch_lanes = walk.branches > 4 ? 8 : walk.branches > 2 ? 4 : walk.branches;
  task->history = RoundUp(walk.depth - 1, kThreadOutputs);
  const uint32_t columns = 32 * kBlockWarps / task->warps_across + task->history / kThreadOutputs;
  const uint32_t banks = 128 / sample_bytes;
  const uint32_t remainder = std::clamp(task->branch_lanes, banks / 8, banks / 2);
  task->row = columns + (remainder + banks - columns % banks) % banks;
  task->pitch = kThreadOutputs * task->row + 1;
  task->window_bytes = RoundUp(walk.branches * task->pitch * sample_bytes, kAlignment);
  task->shared_bytes =
      task->window_bytes + task->warps_across * group * walk.step_slots * tap_bytes;
}

uint64_t NumBlocks(const ProductKind& kind, const ProductTask& task) {
  const auto sets = static_cast<int64_t>(task.walk.up);
  const int64_t tile = WarpOutputs(kind, task.walk) * kBlockWarps / task.warps_across;
  const int64_t outputs_of_set = (task.num_outputs + sets - 1) / sets;
  const int64_t tiles = (outputs_of_set + tile - 1) / tile;
  const uint32_t columns = WarpColumns(kind) * task.warps_across;
  return static_cast<uint64_t>(tiles * sets) * CeilDiv(task.num_columns, columns);
}

}  // namespace

bool GpuPlan::Piece::SharesTaskWith(const Piece& other) const {
  return !is_in_workspace && !other.is_in_workspace && level == other.level &&
         stage->taps.size() == other.stage->taps.size() && stage->up == other.stage->up &&
         stage->down == other.stage->down && outputs.first == other.outputs.first &&
         outputs.count == other.outputs.count;
}

bool GpuPlan::Piece::operator<(const Piece& other) const {
  const auto key = [](const Piece& p) {
    return std::make_tuple(p.level, p.samples, p.is_long, p.stage->taps.size(), p.stage->up,
                           p.stage->down, p.outputs.first, p.outputs.count, p.column.channel);
  };
  return key(*this) < key(other);
}

void GpuPlan::GroupPieces(InputFormat format) {
  for (size_t first = 0; first < draft_->pieces.size();) {
    const Piece& piece = draft_->pieces[first];
    size_t end = first;  // of the pieces of this level and kind
    while (end < draft_->pieces.size() && draft_->pieces[end].level == piece.level &&
           draft_->pieces[end].samples == piece.samples &&
           draft_->pieces[end].is_long == piece.is_long) {
      ++end;
    }
    ProductKind kind;
    kind.samples = piece.samples;
    kind.is_long = piece.is_long;
    for (const bool is_quad : {true, false}) {
      kind.is_quad = is_quad;
      AddLaunch(kind, first, end, format);
    }
    first = end;
  }
}

// Of the pieces that share a task, as many as make whole quads, or what is left.
void GpuPlan::AddLaunch(const ProductKind& kind, size_t first, size_t end, InputFormat format) {
  ProductLaunch launch;
  launch.kind = kind;
  launch.first_task = static_cast<uint32_t>(products_.size());
  while (first < end) {
    size_t after = first + 1;
    while (after < end && draft_->pieces[first].SharesTaskWith(draft_->pieces[after])) ++after;
    const bool is_fixed = kind.samples == Samples::kComplexFixed;
    const size_t in_quads = is_fixed ? 0 : (after - first) / kQuad * kQuad;
    const size_t from = kind.is_quad ? first : first + in_quads;
    const size_t to = kind.is_quad ? first + in_quads : after;
    if (from < to) {
      const ProductTask task = AddTask(kind, from, to, format);
      products_.back().first_block = static_cast<uint32_t>(launch.num_blocks);
      launch.num_blocks += NumBlocks(kind, task);
      launch.shared_bytes = std::max(launch.shared_bytes, task.shared_bytes);
    }
    first = after;
  }
  launch.num_tasks = static_cast<uint32_t>(products_.size()) - launch.first_task;
  if (launch.num_tasks > 0) launches_.push_back(launch);
}

ProductTask GpuPlan::AddTask(const ProductKind& kind, size_t first, size_t end,
                             InputFormat format) {
  const Piece& piece = draft_->pieces[first];
  const Stage& stage = *piece.stage;
  ProductTask task;
  task.first_column = static_cast<uint32_t>(columns_.size());
  task.num_columns = static_cast<uint32_t>(end - first);
  const bool is_fixed = kind.samples == Samples::kComplexFixed;
  task.walk = is_fixed ? FixedWalkOf(stage) : WalkOf(stage);
  task.first_remainder = static_cast<uint32_t>(stage.TapPhase(piece.outputs.first));
  task.is_in_workspace = piece.is_in_workspace;
  task.format = piece.is_in_workspace ? InputFormat::kFloat32 : format;
  task.input = piece.input;
  task.input_samples = piece.inputs.count;
  const int64_t newest = stage.NewestInput(piece.outputs.first);
  task.newest_sample = newest - piece.inputs.first;
  if (kind.samples != Samples::kComplexPlain) task.newest_index = newest;
  task.num_outputs = piece.outputs.count;
  SetShape(kind, &task);
  products_.push_back(task);

  const uint32_t group = kind.is_quad ? kQuad : 1;
  const uint64_t slots = uint64_t{task.walk.up} * task.walk.set_slots();
  TapTask taps;
  taps.walk = task.walk;
  taps.group = group;
  taps.is_turned = kind.samples != Samples::kComplexPlain;
  taps.is_fixed = is_fixed;
  if (is_fixed) taps.walk.down = 1;  // one branch
  for (size_t i = first; i < end; ++i) {
    Column column = draft_->pieces[i].column;
    if (taps.is_turned) {
      taps.column = static_cast<uint32_t>(i - first) % group;
      if (taps.column == 0) taps.target = Reserve(slots * group * kComplexBytes);
      taps.taps = draft_->pieces[i].taps;
      taps.step = column.step;
      taps.exponent = static_cast<int16_t>(draft_->pieces[i].exponent);
      column.taps = taps.target;
      AddTapTasks(taps);
    }
    columns_.push_back(column);
  }
  return task;
}

}  // namespace baseband::downconvert::gpu
