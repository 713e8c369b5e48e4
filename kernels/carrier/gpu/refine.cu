// Stages S4 to S6 in one kernel, so that a frame and its soft table stay close by: which peak and
// branch, rounds with soft decisions, the verdict. For the sweep and the loop, which come between,
// it is launched twice, for S4 and for the rest.
#include <cmath>

#include "kernels/carrier/gpu/branches.cuh"
#include "kernels/carrier/gpu/judge.cuh"
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/remodulate.cuh"
#include "kernels/carrier/gpu/soft_table.cuh"

namespace baseband::carrier {
namespace {

// The grid of the largest constellation of a client's own.
constexpr int64_t kMaxSharedNearestBytes = 96 << 10;

struct RefineMemory {
  TeamMemory team;
  Hypotheses hypotheses;
  FineState fine;
  double of_class[kMisfitClasses];
  Result result;
  Iq further;
};
// The nearest search's arrays and the soft table follow.
constexpr size_t kRefineBytes = (sizeof(RefineMemory) + 15) / 16 * 16;

// S4. The estimate that the fine stage begins with, in fine->estimate and in the frame's state.
template <bool kShared>
__device__ void Hypothesize(Team* team, const RecoverTask& task, const FrameView& frame,
                            const FramePlan& plan, FrameState* state, SoftTable<kShared>* table,
                            RefineMemory* memory) {
  // The table's own noise is what hypotheses are compared with.
  const double variance =
      LineVariance(state->lines[0].lambda, static_cast<int>(frame.num_symbols), plan.line_power);
  const int blunt = BluntTable(task.model, state->estimate.table, variance);
  table->Load(blunt);
  const Choice choice = ChooseHypothesis(team, frame, plan, *state, *table, &memory->hypotheses);
  if (team->rank() == 0 && threadIdx.x == 0) {
    const RefinedLine& line = state->lines[choice.line];
    SetHypothesis(plan, line, choice.number, &state->estimate);
    const bool sweeps_around_zero =
        task.parameters.coarse == Coarse::kNone && task.parameters.fine == Fine::kSweep;
    state->coarse_frequency = sweeps_around_zero ? 0.0 : state->estimate.frequency;
    state->chosen_phase = line.phase;
    state->chosen_bin = line.bin_nu;
    state->blunt_table = blunt;
    state->close_peak = choice.close_peak ? 1 : 0;
    state->close_branch = choice.close_branch ? 1 : 0;
  }
  // What block 0 wrote is read by all: through the second cache, for it is the same for all.
  __threadfence();
  team->Sync();
}

__device__ Evidence EvidenceOf(const RecoverTask& task, const FrameView& frame,
                               const FramePlan& plan, const FrameState& state,
                               const FineState& fine, double misfit) {
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const double candidates =
      task.parameters.fine == Fine::kSweep ? SweepCandidates(task.parameters, num_symbols) : 1.0;
  Evidence evidence;
  evidence.fit = fine.sums.fit;
  evidence.ln_trials = LnTrials(plan.half_bins, candidates, plan.branches);
  evidence.peak = task.parameters.coarse != Coarse::kNone ? state.best_lambda : -1.0;
  evidence.ln_bins = log(plan.half_bins);
  evidence.misfit = misfit;
  const double snr_db = -10.0 * log10(fine.estimate.noise);
  evidence.expected_fit = ExpectedFrameFit(task.model, state.known, num_symbols, snr_db);
  evidence.close_peak = state.close_peak != 0;
  evidence.close_branch = state.close_branch != 0;
  if (plan.known_line && plan.max_peaks > 1 && state.num_peaks == plan.max_peaks) {
    const double weakest = state.peaks[state.num_peaks - 1].power / state.line_energy;
    const double data_fit = (num_symbols - state.known.count) * ExpectedFit(task.model, snr_db);
    evidence.close_peak =
        evidence.close_peak || MayHaveMissedPeaks(weakest, state.best_lambda, data_fit);
  }
  return evidence;
}

__device__ double LoopInformation(const FitSums<double>& sums, int num_symbols) {
  return sums.curvature[0] * sums.curvature[0] / (sums.square[0] * num_symbols);
}

__device__ Covariance CovarianceOf(const RecoverTask& task, const FramePlan& plan,
                                   const FrameState& state, const FitSums<double>& sums,
                                   int num_symbols) {
  const Information measured = {sums.curvature[0], sums.curvature[1], sums.curvature[2]};
  Covariance covariance = state.covariance;
  const double per_turn = kTurn * num_symbols;
  switch (task.parameters.fine) {
    case Fine::kNone: {
      const double bin = per_turn / (1 << task.log2_line) / plan.line_power;
      covariance.slope = bin * bin / 12.0;
      covariance.cross = 0.0;
      break;
    }
    case Fine::kInterpolate:
      break;
    case Fine::kSweep: {
      const double step =
          task.parameters.sweep_interpolate ? 0.0 : per_turn * task.parameters.sweep_step;
      covariance.slope = Sandwich(measured, sums.square).slope + step * step / 12.0;
      covariance.cross = 0.0;
      break;
    }
    case Fine::kRemodulate:
      return Sandwich(measured, sums.square);
    case Fine::kPll: {
      return PllCovariance(static_cast<double>(task.parameters.pll_bandwidth),
                           LoopInformation(sums, num_symbols), num_symbols);
    }
  }
  return covariance;
}

// All of a frame's result but `evm`. By one thread of each block.
__device__ Result ResultOf(const RecoverTask& task, const FrameView& frame, const FramePlan& plan,
                           const FrameState& state, const FineState& fine, double misfit) {
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const bool symbols_known = frame.known != nullptr;
  Evidence evidence = EvidenceOf(task, frame, plan, state, fine, misfit);
  if (task.parameters.fine == Fine::kPll) {
    evidence.slips = PllSlips(static_cast<double>(task.parameters.pll_bandwidth),
                              LoopInformation(fine.sums, num_symbols), task.model.symmetry);
  }
  Estimate found = fine.estimate;
  if (task.parameters.fine == Fine::kPll) {
    found.frequency = state.loop_frequency;
    found.phase = state.loop_phase;
  }
  Result result;
  SetEstimate(found, CovarianceOf(task, plan, state, fine.sums, num_symbols),
              task.parameters.reference, num_symbols, symbols_known ? 1 : task.model.symmetry,
              &result);
  result.ambiguity =
      static_cast<uint8_t>(AmbiguityOf(task.model, symbols_known, evidence.close_branch));
  result.coarse_frequency = state.coarse_frequency;
  if (task.parameters.coarse != Coarse::kNone) {
    result.peak_ratio = static_cast<float>(state.best_lambda / state.second_lambda);
  }
  result.fit = static_cast<float>(evidence.fit);
  result.resolved = symbols_known ? Resolved::kKnownSymbols : Resolved::kNot;
  result.lock = DecideLock(evidence, symbols_known);
  return result;
}

// S5 and S6.
template <bool kShared, SearchKind kKind>
__device__ void Settle(Team* team, const RecoverTask& task, const FrameView& frame,
                       const FramePlan& plan, const FrameState& state, const NearestView& nearest,
                       const RecoverFrame& descriptor, SoftTable<kShared>* table,
                       RefineMemory* memory) {
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  FineState* const fine = &memory->fine;
  if (threadIdx.x == 0) {
    fine->estimate = state.estimate;
    fine->last_step = NewtonStep();
  }
  __syncthreads();
  Remodulate<kShared, kKind>(team, task, frame, plan, state, nearest, table, fine);
  const Estimate estimate = fine->estimate;
  const double rms_ratio = estimate.gain * sqrt(1.0 + estimate.noise) / state.received_rms;
  const bool mostly_known = state.known.count > kMaxKnownForMisfit * num_symbols;
  const double misfit =
      mostly_known ? 0.0
                   : MisfitOfBlock(task.model, state.histogram, num_symbols,
                                   -10.0 * log10(estimate.noise), rms_ratio, memory->of_class);
  if (threadIdx.x == 0) {
    memory->result = ResultOf(task, frame, plan, state, *fine, misfit);
    // The corrected symbols are turned back by the phase that is reported, which may be another
    // branch's than that found.
    Estimate found = estimate;
    if (task.parameters.fine == Fine::kPll) {
      found.frequency = state.loop_frequency;
      found.phase = state.loop_phase;
    }
    const double from_centre = ReferenceFromCentre(task.parameters.reference, num_symbols);
    memory->further =
        TurnedBack(Turns64(memory->result.phase / kTurn - found.TurnsAt(from_centre)));
  }
  __syncthreads();
  if (task.parameters.want_corrected) {
    const SampleWriter corrected = {task.output + descriptor.corrected_offset,
                                    task.parameters.format, 1.0F / task.parameters.scale};
    WriteCorrected(*team, frame, estimate, memory->further, corrected);
  }
  if (team->rank() == 0 && threadIdx.x == 0) {
    const double distance =
        DistanceAt(fine->hard, fine->sums.power, fine->summed_at, estimate, num_symbols);
    memory->result.evm = static_cast<float>(sqrt(distance / num_symbols));
    task.results[descriptor.result_index] = memory->result;
  }
  __syncthreads();  // `memory` may change again
}

// A frame that there is nothing to recover of: the result says why, the outputs are zero.
__device__ void WriteNothing(const Team& team, const RecoverTask& task, const FrameState& state,
                             const RecoverFrame& descriptor) {
  if (task.parameters.want_corrected) {
    const uint32_t words =
        descriptor.num_symbols * (task.parameters.format == SampleFormat::kFloat32 ? 2U : 1U);
    auto* const corrected = reinterpret_cast<uint32_t*>(task.output + descriptor.corrected_offset);
    for (uint32_t i = team.thread(); i < words; i += team.threads()) corrected[i] = 0;
  }
  if (task.parameters.want_curve) {
    auto* const curve = reinterpret_cast<float*>(task.output + descriptor.curve_offset);
    const int num_points = CurvePoints(task, static_cast<int>(descriptor.num_symbols));
    for (int i = static_cast<int>(team.thread()); i < num_points;
         i += static_cast<int>(team.threads())) {
      curve[i] = 0.0F;
    }
  }
  if (team.thread() == 0) {
    Result result;
    result.bad_symbols = state.bad;
    task.results[descriptor.result_index] = result;
  }
}

template <bool kShared, SearchKind kKind>
__global__ void __launch_bounds__(kTeamThreads, 2)
    RefineKernel(const __grid_constant__ RecoverTask task, RefineStages stages,
                 unsigned nearest_bytes) {
  extern __shared__ uint4 shared[];
  auto* const memory = reinterpret_cast<RefineMemory*>(shared);
  uint4* const nearest_memory = shared + kRefineBytes / sizeof(uint4);
  Team team(&memory->team);
  SoftTable<kShared> table(task.model, nearest_memory + nearest_bytes / sizeof(uint4));
  NearestView nearest = task.model.nearest;
  if (stages.settle) {
    nearest = CopyNearest<kKind>(nearest, nearest_memory, kTeamThreads);
  }
  __syncthreads();
  const unsigned num_teams = gridDim.x / team.size();
  for (uint32_t f = blockIdx.x / team.size(); f < task.num_frames; f += num_teams) {
    const FrameView frame(task, f);
    FrameState* const state = task.states + f;
    const RecoverFrame descriptor = task.frames[f];
    if (state->bad != 0 || state->silent != 0) {
      if (stages.settle) WriteNothing(team, task, *state, descriptor);
      continue;
    }
    const FramePlan plan = PlanOf(task, frame, *state);
    if (stages.hypothesize) Hypothesize(&team, task, frame, plan, state, &table, memory);
    if (stages.settle) {
      const FrameView left = task.turned == nullptr ? frame : frame.TurnedByLoop(task, f);
      Settle<kShared, kKind>(&team, task, left, plan, *state, nearest, descriptor, &table, memory);
    }
  }
  team.Sync();
}

struct RefineShape {
  bool shares_table = false;
  SearchKind kind = SearchKind::kGrid;
  unsigned nearest_bytes = 0;
  size_t shared_bytes = 0;
};

RefineShape ShapeOf(const ModelView& model) {
  RefineShape shape;
  shape.kind = model.nearest.slices > 0 ? SearchKind::kSliced : SearchKind::kGrid;
  shape.nearest_bytes =
      static_cast<unsigned>((NearestSharedBytes(model.nearest, shape.kind) + 15) / 16 * 16);
  shape.shares_table = SoftTableBytes(model) <= kMaxSharedTableBytes;
  shape.shared_bytes = kRefineBytes + shape.nearest_bytes +
                       (shape.shares_table ? static_cast<size_t>(SoftTableBytes(model)) : 0);
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

absl::Status PrepareRefine() {
  constexpr int64_t kMost = static_cast<int64_t>(kRefineBytes) + kMaxSharedNearestBytes;
  for (const SearchKind kind : {SearchKind::kSliced, SearchKind::kGrid}) {
    for (const bool shares_table : {false, true}) {
      BASEBAND_RETURN_IF_ERROR(WithKernel(shares_table, kind, [&](auto* kernel) {
        const int64_t bytes = kMost + (shares_table ? kMaxSharedTableBytes : 0);
        return cuda::ToStatus(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)),
            "cudaFuncSetAttribute");
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
                       shape.shared_bytes, stream, stages, shape.nearest_bytes);
  });
}

}  // namespace baseband::carrier
