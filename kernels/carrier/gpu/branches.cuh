// Stage S4: which peak, and which of the phases that it leaves open.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_BRANCHES_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_BRANCHES_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/soft_table.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {

inline constexpr int kMaxHypotheses = kPeaks * kMaxPower;
static_assert(kKnownPeaks <= kMaxHypotheses && kMaxHypotheses <= 256);

// The hypotheses of a frame, in shared memory: branch m of peak i.
struct Hypotheses {
  uint64_t start[kKnownPeaks];  // turns of symbol 0 of branch 0
  uint64_t step[kKnownPeaks];   // a symbol
  uint64_t branch = 0;          // between two branches
  double score[kMaxHypotheses];
  uint8_t peak[kMaxHypotheses];
  uint8_t number[kMaxHypotheses];  // m
  int count = 0;                   // that are left; those dropped are no longer listed
};

// Frequency and phase of a hypothesis.
__device__ inline void SetHypothesis(const FramePlan& plan, const RefinedLine& line, int number,
                                     Estimate* estimate) {
  estimate->frequency = line.nu / plan.line_power;
  estimate->phase = (line.phase + number) / plan.line_power;
}

__device__ inline uint32_t NumFitGroups(const FrameView& frame) {
  return (frame.num_symbols + kFitGroup - 1) / kFitGroup;
}

// Adds the fits of up to kCount hypotheses from `from` on, over the symbols of one pass: groups of
// kFitGroup symbols, every kFitPasses-th. They are dealt to the threads as if they lay side by
// side:
//   place  0 .. 63 | 64 .. 127 | 128 .. 191 | ..      in pass 3:
//   group     3    |    19     |     35     | ..      symbol 192 + place, 1216 + place - 64, ..
template <int kCount, bool kShared>
__device__ void AddPass(Team* team, const FrameView& frame, const SoftTable<kShared>& table,
                        double gain, int pass, int from, Hypotheses* hypotheses) {
  const uint32_t num_groups = NumFitGroups(frame);
  const auto first_group = static_cast<uint32_t>(pass);
  const uint32_t places =
      ((num_groups - first_group + kFitPasses - 1) / kFitPasses) * static_cast<uint32_t>(kFitGroup);
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
          const uint32_t n =
              (place / kFitGroup * kFitPasses + first_group) * kFitGroup + place % kFitGroup;
          if (place >= places || n >= frame.num_symbols) break;
          const Iq received = frame.samples.Read(n);
          const Iq r = {received.i * inverse_gain, received.q * inverse_gain};
          Iq known;
          if (frame.known != nullptr) known = frame.known[n];
          const bool is_known = known.i != 0.0F || known.q != 0.0F;
#pragma unroll
          for (int h = 0; h < kCount; ++h) {
            if (h < count) {
              const unsigned peak = hypotheses->peak[from + h];
              const Iq z =
                  Multiply(r, TurnedBack(hypotheses->start[peak] + hypotheses->step[peak] * n +
                                         hypotheses->branch * hypotheses->number[from + h]));
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
  int number = 0;
  bool close_peak = false;
  bool close_branch = false;
};

// By all threads of the team; each block keeps its own list, and all are alike.
template <bool kShared>
__device__ Choice ChooseHypothesis(Team* team, const FrameView& frame, const FramePlan& plan,
                                   const FrameState& state, const SoftTable<kShared>& table,
                                   Hypotheses* hypotheses) {
  if (threadIdx.x == 0) {
    hypotheses->branch = Turns64(1.0 / plan.line_power);
    int count = 0;
    for (int i = 0; i < state.num_lines; ++i) {
      if (state.lines[0].lambda - state.lines[i].lambda > kDoubt) continue;
      Estimate estimate;
      SetHypothesis(plan, state.lines[i], 0, &estimate);
      hypotheses->start[i] = Turns64(estimate.TurnsAt(-frame.centre()));
      hypotheses->step[i] = Turns64(estimate.frequency);
      for (int m = 0; m < plan.branches && count < kMaxHypotheses; ++m) {
        hypotheses->score[count] = 0.0;
        hypotheses->peak[count] = static_cast<uint8_t>(i);
        hypotheses->number[count] = static_cast<uint8_t>(m);
        ++count;
      }
    }
    hypotheses->count = count;
  }
  __syncthreads();
  const int num_passes = static_cast<int>(min(NumFitGroups(frame), kFitPasses + 0U));
  for (int pass = 0; pass < num_passes && hypotheses->count > 1; ++pass) {
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
    if (threadIdx.x == 0) {
      double best = hypotheses->score[0];
      for (int h = 1; h < count; ++h) best = fmax(best, hypotheses->score[h]);
      int left = 0;
      for (int h = 0; h < count; ++h) {
        if (best - hypotheses->score[h] >= kDropped) continue;
        hypotheses->score[left] = hypotheses->score[h];
        hypotheses->peak[left] = hypotheses->peak[h];
        hypotheses->number[left] = hypotheses->number[h];
        ++left;
      }
      hypotheses->count = left;
    }
    __syncthreads();
  }
  int best = 0;
  for (int h = 1; h < hypotheses->count; ++h) {
    if (hypotheses->score[h] > hypotheses->score[best]) best = h;
  }
  Choice choice;
  choice.line = hypotheses->peak[best];
  choice.number = hypotheses->number[best];
  for (int h = 0; h < hypotheses->count; ++h) {
    if (h == best || hypotheses->score[best] - hypotheses->score[h] > kClose) continue;
    if (hypotheses->peak[h] == choice.line) {
      choice.close_branch = true;
    } else {
      choice.close_peak = true;
    }
  }
  __syncthreads();  // the list may change again
  return choice;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_BRANCHES_CUH_
