// Stage S4: which line, and which of the frequencies and phases that it leaves open.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_BRANCHES_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_BRANCHES_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/aliases.cuh"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/soft_table.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {

// Adds the fits of up to kCount hypotheses from `from` on, over the symbols of one pass.
template <int kCount, bool kShared>
__device__ void AddPass(Team* team, const FrameView& frame, const SoftTable<kShared>& table,
                        double gain, int pass, int from, Hypotheses* hypotheses) {
  const uint32_t places = PlacesOfPass(frame, pass);
  const auto inverse_gain = static_cast<float>(1.0 / gain);
  const ModelView view = table.view();
  const float two_over_noise = table.two_over_noise();
  const int count = min(kCount, hypotheses->count - from);
  double totals[kCount];
  team->Sum(
      places,
      [&](uint32_t first, float(&sums)[kCount]) {
#pragma unroll 2
        for (int k = 0; k < kTileLanes; ++k) {
          const uint32_t place = first + 32 * static_cast<uint32_t>(k);
          const uint32_t n = SymbolAt(place, pass);
          if (place >= places || n >= frame.num_symbols) break;
          const Iq received = frame.samples.Read(n);
          const Iq r = {received.i * inverse_gain, received.q * inverse_gain};
          const Iq known = frame.known.At(n);
          const bool is_known = known.i != 0.0F || known.q != 0.0F;
#pragma unroll
          for (int h = 0; h < kCount; ++h) {
            if (h < count) {
              const unsigned peak = hypotheses->peak[from + h];
              const int64_t turn =
                  int64_t{hypotheses->alias[from + h]} * n + hypotheses->branch[from + h];
              const Iq z =
                  Multiply(r, TurnedBack(hypotheses->start[peak] + hypotheses->step[peak] * n +
                                         hypotheses->turn * static_cast<uint64_t>(turn)));
              sums[h] +=
                  is_known ? CoarseFitKnown(two_over_noise, z, known) : CoarseFit(view, 0, z);
            }
          }
        }
      },
      totals);
  if (threadIdx.x == 0) {
    for (int h = 0; h < count; ++h) hypotheses->score[from + h] += totals[h];
  }
  __syncthreads();
}

// What S4 found.
struct Choice {
  int line = 0;
  int alias = 0;
  int branch = 0;
  bool close_branch = false;
  double rival = kNoRival;
  double elsewhere = -kNoRival;
};

__device__ inline int BestOf(const Hypotheses& hypotheses) {
  int best = 0;
  for (int h = 1; h < hypotheses.count; ++h) {
    if (hypotheses.score[h] > hypotheses.score[best]) best = h;
  }
  return best;
}
__device__ inline bool SameCarrier(const Hypotheses& hypotheses, int a, int b) {
  return hypotheses.peak[a] == hypotheses.peak[b] && hypotheses.alias[a] == hypotheses.alias[b];
}

// Drops what is too far behind after a pass. By one thread of each block.
__device__ inline void DropHypotheses(uint32_t num_symbols, int passes, Hypotheses* hypotheses) {
  const int best = BestOf(*hypotheses);
  const double score = hypotheses->score[best];
  double rival = hypotheses->rival;
  for (int h = 0; h < hypotheses->count; ++h) {
    const double gap = score - hypotheses->score[h];
    if (gap < kDropped || SameCarrier(*hypotheses, h, best)) continue;
    rival = fmin(rival, WholeGap(gap, passes, static_cast<int>(num_symbols)));
  }
  int left = 0;
  for (int h = 0; h < hypotheses->count; ++h) {
    if (score - hypotheses->score[h] >= kDropped) continue;
    hypotheses->score[left] = hypotheses->score[h];
    hypotheses->peak[left] = hypotheses->peak[h];
    hypotheses->alias[left] = hypotheses->alias[h];
    hypotheses->branch[left] = hypotheses->branch[h];
    ++left;
  }
  hypotheses->count = left;
  hypotheses->passes = passes;
  hypotheses->rival = rival;
}

__device__ inline Choice ChoiceOf(const Hypotheses& hypotheses) {
  const int best = BestOf(hypotheses);
  Choice choice;
  choice.line = hypotheses.peak[best];
  choice.alias = hypotheses.alias[best];
  choice.branch = hypotheses.branch[best];
  choice.rival = hypotheses.rival;
  choice.elsewhere = hypotheses.elsewhere;
  for (int h = 0; h < hypotheses.count; ++h) {
    const double gap = hypotheses.score[best] - hypotheses.score[h];
    if (!SameCarrier(hypotheses, h, best)) {
      choice.rival = fmin(choice.rival, gap);
    } else if (h != best && gap <= kClose) {
      choice.close_branch = true;
    }
  }
  return choice;
}

// By all threads of the team. `by_turn`: see TurnSum.
template <bool kShared>
__device__ Choice ChooseHypothesis(Team* team, const FrameView& frame, const FramePlan& plan,
                                   const FrameState& state, const SoftTable<kShared>& table,
                                   TurnSum* by_turn, Hypotheses* hypotheses) {
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const bool has_rival =
      state.num_lines > 1 && state.lines[0].lambda - state.lines[1].lambda <= kDoubt;
  if (plan.branches == 1 && !has_rival) return Choice();
  if (threadIdx.x == 0) {
    hypotheses->turn = Turns64(1.0 / plan.line_power);
    hypotheses->count = 0;
    hypotheses->passes = 0;
    hypotheses->rival = kNoRival;
    hypotheses->elsewhere = -kNoRival;
    for (int i = 0; i < state.num_lines; ++i) {
      Estimate estimate;
      SetHypothesis(plan, state.lines[i].nu, state.lines[i].phase, 0, 0, num_symbols, &estimate);
      hypotheses->start[i] = Turns64(estimate.TurnsAt(-frame.centre()));
      hypotheses->step[i] = Turns64(estimate.frequency);
    }
  }
  __syncthreads();
  int lines = 0;
  for (int i = 0; i < state.num_lines; ++i) {
    if (state.lines[0].lambda - state.lines[i].lambda > kDoubt) continue;
    ListHypotheses(*team, frame, plan, table, state.estimate.gain, state.lines[i].nu, i, by_turn,
                   hypotheses);
    ++lines;
  }
  if (lines > 1) {  // some may have been compared on more symbols than others
    if (threadIdx.x == 0) {
      hypotheses->passes = 0;
      for (int h = 0; h < hypotheses->count; ++h) hypotheses->score[h] = 0.0;
    }
    __syncthreads();
  }
  const int num_passes = static_cast<int>(min(NumFitGroups(frame), kFitPasses + 0U));
  for (int pass = hypotheses->passes; pass < num_passes && hypotheses->count > 1; ++pass) {
    const int count = hypotheses->count;
    for (int from = 0; from < count;) {
      if (count - from <= 4) {
        AddPass<4>(team, frame, table, state.estimate.gain, pass, from, hypotheses);
        from += 4;
      } else {
        AddPass<16>(team, frame, table, state.estimate.gain, pass, from, hypotheses);
        from += 16;
      }
    }
    if (threadIdx.x == 0) DropHypotheses(frame.num_symbols, pass + 1, hypotheses);
    __syncthreads();
  }
  const Choice choice = ChoiceOf(*hypotheses);
  __syncthreads();  // the list may change again
  return choice;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_BRANCHES_CUH_
