// Stages S4 and S5 and the last pass of S6 in one kernel, so that a frame and its soft table stay
// close by: which peak and branch, rounds with soft decisions, hard decisions. For the sweep and
// the loop, which come between, it is launched twice, for S4 and for the rest.
#include "kernels/carrier/gpu/branches.cuh"
#include "kernels/carrier/gpu/decide.cuh"
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/remodulate.cuh"
#include "kernels/carrier/gpu/soft_table.cuh"
#include "kernels/carrier/gpu/stretches.cuh"

namespace baseband::carrier {
namespace {

// The grid of the largest constellation of a client's own.
constexpr int64_t kMaxSharedNearestBytes = 96 << 10;
constexpr size_t kMaxBlockBytes = 227 << 10;  // of shared memory

struct RefineMemory {
  TeamMemory team;
  Hypotheses hypotheses;
  FineState fine;
};
// The nearest search's arrays, the turns' sums (TurnSumBytes) and the soft table follow.
constexpr size_t kRefineBytes = (sizeof(RefineMemory) + 15) / 16 * 16;

// S4. The estimate that the fine stage begins with, in fine->estimate and in the frame's state.
template <bool kShared>
__device__ void Hypothesize(Team* team, const RecoverTask& task, const FrameView& frame,
                            const FramePlan& plan, FrameState* state, SoftTable<kShared>* table,
                            TurnSum* turn_memory, RefineMemory* memory) {
  // The table's own noise is what hypotheses are compared with.
  const double variance =
      LineVariance(state->lines[0].lambda, static_cast<int>(frame.num_symbols), plan.line_power);
  const int blunt = BluntTable(task.model, state->estimate.table, variance);
  table->Load(blunt);
  auto* const by_turn =
      plan.branches > kSlotBranches ? turn_memory : reinterpret_cast<TurnSum*>(memory->team.slots);
  const Choice choice =
      ChooseHypothesis(team, frame, plan, *state, *table, by_turn, &memory->hypotheses);
  if (team->rank() == 0 && threadIdx.x == 0) {
    const RefinedLine& line = state->lines[choice.line];
    const auto num_symbols = static_cast<int>(frame.num_symbols);
    SetHypothesis(plan, line.nu, line.phase, choice.alias, choice.branch, num_symbols,
                  &state->estimate);
    const bool sweeps_around_zero =
        task.parameters.coarse == Coarse::kNone && task.parameters.fine == Fine::kSweep;
    state->coarse_frequency = sweeps_around_zero ? 0.0 : state->estimate.frequency;
    state->chosen_phase = WrappedTurns(line.phase + AliasTurns(choice.alias, num_symbols));
    state->chosen_bin = line.bin_nu + choice.alias;
    state->blunt_table = blunt;
    state->rival = choice.rival;
    state->elsewhere = choice.elsewhere > kElsewhere ? 1 : 0;
    state->close_branch = choice.close_branch ? 1 : 0;
  }
  // What block 0 wrote is read by all: through the second cache, for it is the same for all.
  __threadfence();
  team->Sync();
}

// S5, and what S6 is made of.
template <bool kShared, SearchKind kKind>
__device__ void Settle(Team* team, const RecoverTask& task, const FrameView& frame,
                       const FramePlan& plan, FrameState* state, const NearestView& nearest,
                       SoftTable<kShared>* table, RefineMemory* memory) {
  FineState* const fine = &memory->fine;
  if (threadIdx.x == 0) {
    fine->estimate = state->estimate;
    fine->last_step = NewtonStep();
  }
  __syncthreads();
  Remodulate(team, task, frame, plan, *state, table, fine);
  LookAtFrame<kShared, kKind>(*team, frame, fine->summed_at, *table, fine->estimate, nearest,
                              &memory->team, &state->settled);
  if (team->rank() == 0 && threadIdx.x == 0) {
    state->settled.estimate = fine->estimate;
    state->settled.sums = fine->sums;
    state->settled.sums_table = fine->summed_at.table;
    state->settled.information = fine->information;
  }
  __syncthreads();  // `memory` may change again
}

template <bool kShared, SearchKind kKind>
__global__ void __launch_bounds__(kTeamThreads, 2)
    RefineKernel(const __grid_constant__ RecoverTask task, RefineStages stages,
                 unsigned nearest_bytes, unsigned turn_bytes) {
  LetNextKernelCome();
  extern __shared__ uint4 shared[];
  auto* const memory = reinterpret_cast<RefineMemory*>(shared);
  uint4* const nearest_memory = shared + kRefineBytes / sizeof(uint4);
  Team team(&memory->team);
  uint4* const turn_memory = nearest_memory + nearest_bytes / sizeof(uint4);
  SoftTable<kShared> table(task.model, turn_memory + turn_bytes / sizeof(uint4));
  NearestView nearest = task.model.nearest;
  if (stages.settle) {
    nearest = CopyNearest<kKind>(nearest, nearest_memory, kTeamThreads);
  }
  AwaitS1(task);  // no kernel writes what was copied
  __syncthreads();
  const unsigned num_teams = gridDim.x / team.size();
  for (uint32_t f = blockIdx.x / team.size(); f < task.num_frames; f += num_teams) {
    const FrameView frame(task, f);
    FrameState* const state = task.states + f;
    const FramePlan plan = PlanOf(task, frame, *state);
    if (task.after_fft) {
      table.Load(state->estimate.table);  // what BluntTable mostly is
      const TilesOfSlot tiles(team.rank() * kTeamWarps + threadIdx.x / 32,
                              (frame.num_symbols + kTile - 1) / kTile);
      frame.samples.FetchTile(tiles.first * kTile, frame.num_symbols);
    }
    AwaitKernelBefore();
    if (state->bad != 0 || state->silent != 0) continue;
    if (stages.hypothesize) {
      Hypothesize(&team, task, frame, plan, state, &table, reinterpret_cast<TurnSum*>(turn_memory),
                  memory);
    }
    if (stages.settle) {
      const FrameView left = task.turned == nullptr ? frame : frame.TurnedByLoop(task, f);
      Settle<kShared, kKind>(&team, task, left, plan, state, nearest, &table, memory);
    }
  }
  team.Sync();
}

struct RefineShape {
  bool shares_table = false;
  SearchKind kind = SearchKind::kGrid;
  unsigned nearest_bytes = 0;
  unsigned turn_bytes = 0;
  size_t shared_bytes = 0;
};

// A table that no room is left for, beside the largest grid and sums, is read where it is.
RefineShape ShapeOf(const ModelView& model) {
  RefineShape shape;
  shape.kind = model.nearest.slices > 0 ? SearchKind::kSliced : SearchKind::kGrid;
  shape.nearest_bytes =
      static_cast<unsigned>((NearestSharedBytes(model.nearest, shape.kind) + 15) / 16 * 16);
  shape.turn_bytes = static_cast<unsigned>(TurnSumBytes(model.power));
  shape.shared_bytes = kRefineBytes + shape.nearest_bytes + shape.turn_bytes;
  const auto table = static_cast<size_t>(SoftTableBytes(model));
  shape.shares_table =
      table <= kMaxSharedTableBytes && shape.shared_bytes + table <= kMaxBlockBytes;
  if (shape.shares_table) shape.shared_bytes += table;
  return shape;
}

// Calls `use` with the kernel for a shape.
template <typename Use>
absl::Status WithKernel(bool shares_table, SearchKind kind, const Use& use) {
  if (kind == SearchKind::kSliced) {
    return shares_table ? use(RefineKernel<true, SearchKind::kSliced>)
                        : use(RefineKernel<false, SearchKind::kSliced>);
  }
  return shares_table ? use(RefineKernel<true, SearchKind::kGrid>)
                      : use(RefineKernel<false, SearchKind::kGrid>);
}

}  // namespace

absl::Status PrepareRefine(TeamLimits* limits) {
  static_assert(kRefineBytes + kMaxSharedNearestBytes + TurnSumBytes(kMaxPower) <= kMaxBlockBytes,
                "every model is served");
  for (const SearchKind kind : {SearchKind::kSliced, SearchKind::kGrid}) {
    for (const bool shares_table : {false, true}) {
      BASEBAND_RETURN_IF_ERROR(WithKernel(shares_table, kind, [&](auto* kernel) {
        return PrepareTeams(kernel, kMaxBlockBytes, limits);
      }));
    }
  }
  return absl::OkStatus();
}

absl::Status LaunchRefine(const RecoverTask& task, RefineStages stages, int cluster, int max_blocks,
                          cudaStream_t stream) {
  const RefineShape shape = ShapeOf(task.model);
  return WithKernel(shape.shares_table, shape.kind, [&](auto* kernel) {
    return LaunchTeams(kernel, "RefineKernel", task, task.num_frames, cluster, max_blocks,
                       shape.shared_bytes, stream, stages, shape.nearest_bytes, shape.turn_bytes);
  });
}

}  // namespace baseband::carrier
