// Stage S6: the verdict, and the symbols corrected by it. Kernels of their own: what one thread or
// warp works out of a frame's sums would keep the thread block that summed them waiting for longer
// than its symbols take; here a warp has a frame, and all frames are judged at once.
#include <cmath>

#include "kernels/carrier/gpu/judge.cuh"
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {
namespace {

constexpr int kJudgeWarps = 4;  // of a thread block

// Who judges a frame. Many frames: a warp each. As many as the device holds at once: a warp for
// each thing that is looked at, and one that puts them together; how often a warp waits for its own
// results is then the time of all. The same at ease, if there are few enough for all the registers
// that the judges want: with the SNRs' facts in shared memory, and two symbols side by side.
enum class Judges { kOne, kFour, kFourAtEase };
// Thread blocks on a multiprocessor at once.
constexpr int BlocksAtOnce(Judges judges) {
  switch (judges) {
    case Judges::kFour:
      return 8;
    case Judges::kFourAtEase:
      return 2;
    default:
      return 1;
  }
}

struct Looks {
  Stray stray;
  double misfit = 0.0;
  bool too_even = false;
  bool unbalanced = false;
};

// The symbols that a frame is judged by: as the loop left them, if there was one.
__device__ FrameView JudgedView(const RecoverTask& task, uint32_t f) {
  const FrameView frame(task, f);
  return task.turned == nullptr ? frame : frame.TurnedByLoop(task, f);
}

// What the stages came to.
__device__ Findings FindingsOf(const RecoverTask& task, const FrameView& frame,
                               const FramePlan& plan, const FrameState& state) {
  const Fine method = task.parameters.fine;
  const Settled& settled = state.settled;
  Findings found;
  found.num_symbols = static_cast<int>(frame.num_symbols);
  found.points = 1 << task.log2_line;
  found.symbols_known = static_cast<bool>(frame.known);
  found.known = state.known;
  found.first_snr_db = state.first_snr_db;
  found.estimate = settled.estimate;
  found.sums = settled.sums;
  found.sums_table = settled.sums_table;
  found.information = settled.information;
  if (method != Fine::kRemodulate && method != Fine::kPll) found.line = state.line;
  if (method == Fine::kPll) found.loop = state.loop;
  found.coarse_frequency = state.coarse_frequency;
  found.line_energy = state.line_energy;
  found.peak = state.best_lambda;
  found.second_peak = state.second_lambda;
  if (plan.known_line && plan.max_peaks > 1 && state.num_peaks == plan.max_peaks) {
    found.weakest_peak = state.peaks[state.num_peaks - 1].power / state.line_energy;
  }
  found.bins_miss_peaks = plan.known_line && state.search.half.misses();
  found.rival = state.rival;
  found.blunt_table = state.blunt_table;
  found.elsewhere = state.elsewhere != 0;
  found.close_branch = state.close_branch != 0;
  found.distance = settled.distance / found.num_symbols;
  // A loop's are turned where it settles, which is where a header is: they are no witness.
  if (method != Fine::kPll) found.apart = settled.apart;
  return found;
}

// A frame that there is nothing to recover of: the result says why, its curve is zero.
__device__ void JudgeNothing(const RecoverTask& task, const FrameState& state,
                             const RecoverFrame& descriptor) {
  const auto lane = static_cast<int>(threadIdx.x % 32);
  if (task.parameters.want_curve) {
    auto* const curve = reinterpret_cast<float*>(task.output + descriptor.curve_offset);
    const int num_points = CurvePoints(task, static_cast<int>(descriptor.num_symbols));
    for (int i = lane; i < num_points; i += 32) curve[i] = 0.0F;
  }
  if (lane == 0) {
    Result result;
    result.bad_symbols = state.bad;
    task.results[descriptor.result_index] = result;
  }
}

// What is looked at of a frame, all of it or one of four warps' part.
template <Judges kJudges>
__device__ void Look(const RecoverTask& task, const ModelView& model, const FrameView& frame,
                     const FrameState& state, unsigned warp, Looks* looks) {
  constexpr bool kAll = kJudges == Judges::kOne;
  const bool tells = threadIdx.x % 32 == 0;
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const Estimate estimate = state.settled.estimate;
  if (kAll || warp == 1) {
    const Stray stray = StrayOfWarp(state.settled.stretches, num_symbols);
    if (kAll || tells) looks->stray = stray;
  }
  if (kAll || warp == 2) {
    double misfit = 0.0;
    bool too_even = false;
    if (state.known.count <= kMaxKnownForMisfit * num_symbols) {
      const double rms = estimate.gain * sqrt(1.0 + estimate.noise);
      misfit = MisfitOfWarp(model, state.histogram, num_symbols, -10.0 * log10(estimate.noise),
                            rms / state.received_rms);
      too_even = EvennessOfWarp(model, state.histogram, num_symbols, estimate.noise);
    }
    if (kAll || tells) {
      looks->misfit = misfit;
      looks->too_even = too_even;
    }
  }
  if (kAll || warp == 3) {
    constexpr int kAtOnce = kJudges == Judges::kFourAtEase ? 2 : 1;
    const bool unbalanced = ImbalanceOfWarp<kAtOnce>(frame, estimate, model.symmetry);
    if (kAll || tells) looks->unbalanced = unbalanced;
  }
}

template <Judges kJudges>
__global__ void __launch_bounds__(32 * kJudgeWarps, BlocksAtOnce(kJudges))
    JudgeKernel(const __grid_constant__ RecoverTask task) {
  LetNextKernelCome();
  __shared__ alignas(16) unsigned char looks_memory[sizeof(Looks)];
  constexpr bool kAll = kJudges == Judges::kOne;
  const unsigned warp = threadIdx.x / 32;
  const uint32_t f = kAll ? blockIdx.x * kJudgeWarps + warp : blockIdx.x;
  ModelView model = task.model;
  if constexpr (kJudges == Judges::kFourAtEase) {
    // One after the other is looked up.
    __shared__ SnrFacts facts[kMaxSnrs];
    constexpr int kWords = sizeof(SnrFacts) / sizeof(float);
    for (int k = static_cast<int>(threadIdx.x); k < model.num_snrs * kWords;
         k += 32 * kJudgeWarps) {
      reinterpret_cast<float*>(facts)[k] = reinterpret_cast<const float*>(model.facts)[k];
    }
    __syncthreads();
    model.facts = facts;
  }
  AwaitS1(task);
  if (kAll && f >= task.num_frames) return;
  const FrameView frame = JudgedView(task, f);
  FrameState* const state = task.states + f;
  FramePlan plan;
  if (kAll || warp == 0) plan = PlanOf(task, frame, *state);
  AwaitKernelBefore();
  if (state->bad != 0 || state->silent != 0) {
    if (kAll || warp == 0) JudgeNothing(task, *state, task.frames[f]);
    return;
  }
  Looks looks;
  auto* const of_all = reinterpret_cast<Looks*>(looks_memory);
  if (kAll || warp != 0) Look<kJudges>(task, model, frame, *state, warp, kAll ? &looks : of_all);
  Findings found;
  Expected expected;
  if (kAll || warp == 0) {
    found = FindingsOf(task, frame, plan, *state);
    expected = ExpectedOf(model, task.parameters, plan, found);
  }
  if constexpr (!kAll) {
    __syncthreads();
    if (warp != 0) return;
    looks = *of_all;
  }
  found.stray = looks.stray;
  found.misfit = looks.misfit;
  found.too_even = looks.too_even;
  found.unbalanced = looks.unbalanced;
  const Judgement judgement = JudgeFrame(model, task.parameters, plan, found, expected);
  if (threadIdx.x % 32 != 0) return;
  task.results[task.frames[f].result_index] = judgement.result;
  state->turn_back = judgement.turn_back;
}

// A thread block writes this much of a frame: four tiles a warp.
constexpr uint32_t kPiece = 4 * kTeamThreads * kTileLanes;

// The corrected symbols; zeros of a frame that there is nothing to recover of.
__global__ void __launch_bounds__(kTeamThreads)
    CorrectKernel(const __grid_constant__ RecoverTask task, unsigned pieces) {
  LetNextKernelCome();
  AwaitKernelBefore();
  const uint32_t f = blockIdx.x / pieces;
  const uint32_t begin = (blockIdx.x - f * pieces) * kPiece;
  const FrameView frame = JudgedView(task, f);
  if (begin >= frame.num_symbols) return;
  const FrameState& state = task.states[f];
  const SampleWriter corrected = {task.output + task.frames[f].corrected_offset,
                                  task.parameters.format, 1.0F / task.parameters.scale};
  const uint32_t end = min(begin + kPiece, frame.num_symbols);
  if (state.bad != 0 || state.silent != 0) {
    for (uint32_t n = begin + threadIdx.x; n < end; n += kTeamThreads) corrected.Write(n, Iq{});
    return;
  }
  const Rotor rotor(state.turn_back.frequency, state.turn_back.phase, frame.num_symbols);
  for (uint32_t tile = begin + threadIdx.x / 32 * kTile; tile < end; tile += kTeamWarps * kTile) {
    const uint32_t first = tile + threadIdx.x % 32;
    Iq r[kTileLanes];
    frame.samples.ReadTile(first, frame.num_symbols, r);
    Iq back = rotor.At(first);
#pragma unroll
    for (int k = 0; k < kTileLanes; ++k) {
      const uint32_t n = first + 32 * static_cast<uint32_t>(k);
      if (n >= frame.num_symbols) break;
      corrected.Write(n, Multiply(r[k], back));
      back = rotor.Next(back);
    }
  }
}

}  // namespace

absl::Status LaunchJudge(const RecoverTask& task, uint32_t longest, int multiprocessors,
                         cudaStream_t stream) {
  const auto fits = [&](Judges judges) {
    return task.num_frames <= static_cast<uint32_t>(BlocksAtOnce(judges) * multiprocessors);
  };
  // Of many frames, too: the blocks of the kernel before have all begun by then, and leave one
  // after the other.
  RecoverTask judged = task;
  judged.overlaps = true;
  const auto launch = [&](auto* kernel, unsigned blocks) {
    return LaunchNext(kernel, "JudgeKernel", judged, blocks, 32 * kJudgeWarps, 0, stream);
  };
  if (fits(Judges::kFourAtEase)) {
    BASEBAND_RETURN_IF_ERROR(launch(JudgeKernel<Judges::kFourAtEase>, task.num_frames));
  } else if (fits(Judges::kFour)) {
    BASEBAND_RETURN_IF_ERROR(launch(JudgeKernel<Judges::kFour>, task.num_frames));
  } else {
    BASEBAND_RETURN_IF_ERROR(
        launch(JudgeKernel<Judges::kOne>, (task.num_frames + kJudgeWarps - 1) / kJudgeWarps));
  }
  if (!task.parameters.want_corrected) return absl::OkStatus();
  const uint32_t pieces = (longest + kPiece - 1) / kPiece;
  return LaunchNext(CorrectKernel, "CorrectKernel", task, task.num_frames * pieces, kTeamThreads, 0,
                    stream, pieces);
}

}  // namespace baseband::carrier
