// Stage S5: rounds of sums over the symbols with soft decisions in place of the sent points, each
// followed by a Newton step in frequency and phase and by a better gain and noise.
#ifndef BASEBAND_KERNELS_CARRIER_REMODULATE_CUH_
#define BASEBAND_KERNELS_CARRIER_REMODULATE_CUH_

#include <cstdint>

#include "kernels/carrier/branches.cuh"
#include "kernels/carrier/recover_task.cuh"
#include "kernels/carrier/soft_table.cuh"
#include "kernels/carrier/team.cuh"

namespace baseband::carrier {

// ReadSoft of table 0, the differences between nodes taken once for value and slope.
__device__ __forceinline__ SoftRead ReadSoftFast(const ModelView& view, const SnrFacts& facts,
                                                 Iq z) {
  const bool folded = view.folded != 0;
  const float sign_i = folded ? copysignf(1.0F, z.i) : 1.0F;
  const float sign_q = folded ? copysignf(1.0F, z.q) : 1.0F;
  const auto last_node = static_cast<float>(view.side - 1);
  const float node_i = (sign_i * z.i - facts.origin) * facts.nodes_per_unit;
  const float node_q = (sign_q * z.q - facts.origin) * facts.nodes_per_unit;
  const float held_i = fminf(fmaxf(node_i, 0.0F), last_node);
  const float held_q = fminf(fmaxf(node_q, 0.0F), last_node);
  const int cell_i = min(static_cast<int>(held_i), view.side - 2);
  const int cell_q = min(static_cast<int>(held_q), view.side - 2);
  const float t_i = held_i - static_cast<float>(cell_i);
  const float t_q = held_q - static_cast<float>(cell_q);
  const SoftNode* const low = view.soft + cell_q * view.side + cell_i;
  const SoftNode a = low[0];
  const SoftNode b = low[1];
  const SoftNode c = low[view.side];
  const SoftNode d = low[view.side + 1];
  // How a turn of z moves it along either axis, in nodes.
  const float turn_i = node_i == held_i ? -z.q * sign_i * facts.nodes_per_unit : 0.0F;
  const float turn_q = node_q == held_q ? z.i * sign_q * facts.nodes_per_unit : 0.0F;
  const auto value = [&](float v00, float v01, float v10, float v11) {
    const float below = fmaf(t_i, v01 - v00, v00);
    return fmaf(t_q, fmaf(t_i, v11 - v10, v10) - below, below);
  };
  const auto turning = [&](float v00, float v01, float v10, float v11, float* slope) {
    const float along_below = v01 - v00;
    const float along_above = v11 - v10;
    const float below = fmaf(t_i, along_below, v00);
    const float across = fmaf(t_i, along_above, v10) - below;
    *slope = fmaf(turn_i, fmaf(t_q, along_above - along_below, along_below), turn_q * across);
    return fmaf(t_q, across, below);
  };
  SoftRead read;
  read.soft.i = sign_i * turning(a.i, b.i, c.i, d.i, &read.turning.i);
  read.soft.q = sign_q * turning(a.q, b.q, c.q, d.q, &read.turning.q);
  read.turning.i *= sign_i;
  read.turning.q *= sign_q;
  read.fit = value(a.fit, b.fit, c.fit, d.fit);
  read.energy = value(a.energy, b.energy, c.energy, d.energy);
  return read;
}

// A call: known symbols are few, and their logarithms long.
__device__ __noinline__ SoftRead ReadKnownCall(float two_over_noise, Iq z, Iq known) {
  return ReadKnown(two_over_noise, z, known);
}

// The sums of a frame at an estimate; `table` is the estimate's.
template <bool kShared>
__device__ __noinline__ FitSums<double> SumFit(Team* team, const FrameView& frame,
                                               const Estimate& estimate,
                                               const SoftTable<kShared>& table) {
  const Rotor rotor(estimate.frequency, estimate.phase, frame.num_symbols);
  const ModelView view = table.view();
  const float two_over_noise = table.two_over_noise();
  const auto inverse_gain = static_cast<float>(1.0 / estimate.gain);
  const double inverse_length = 1.0 / frame.num_symbols;
  const auto per_32 = static_cast<float>(32.0 * inverse_length);
  double totals[16];
  team->Sum(
      frame.num_symbols,
      [&](uint32_t first, float(&values)[16]) {
        FitSums<float> sums;
        sums.score[0] = values[0];
        sums.score[1] = values[1];
        sums.curvature[0] = values[2];
        sums.curvature[1] = values[3];
        sums.curvature[2] = values[4];
        sums.square[0] = values[5];
        sums.square[1] = values[6];
        sums.square[2] = values[7];
        sums.projection = values[8];
        sums.energy = values[9];
        sums.power = values[10];
        sums.fit = values[11];
        Iq back = rotor.At(first);
        back = {back.i * inverse_gain, back.q * inverse_gain};
        auto t = static_cast<float>((first - frame.centre()) * inverse_length);
        const auto read = [&](uint32_t n) {
          return n < frame.num_symbols ? frame.samples.Read(n) : Iq{};
        };
        // Not unrolled further: the whole loop stays in the instruction cache. The next two symbols
        // are under way meanwhile.
        Iq next[2] = {read(first), read(first + 32)};
        uint32_t n = first;
#pragma unroll 1
        for (int k = 0; k < kTileLanes && n < frame.num_symbols; k += 2) {
          const Iq r[2] = {next[0], next[1]};
          if (k + 2 < kTileLanes) {
            next[0] = read(n + 64);
            next[1] = read(n + 96);
          }
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            if (n < frame.num_symbols) {
              const Iq z = Multiply(r[j], back);
              Iq known;
              if (frame.known != nullptr) known = frame.known[n];
              const bool is_known = known.i != 0.0F || known.q != 0.0F;
              const SoftRead soft = is_known ? ReadKnownCall(two_over_noise, z, known)
                                             : ReadSoftFast(view, table.facts(), z);
              AddSymbol(two_over_noise, z, t, soft, &sums);
            }
            back = rotor.Next(back);
            t += per_32;
            n += 32;
          }
        }
        values[0] = sums.score[0];
        values[1] = sums.score[1];
        values[2] = sums.curvature[0];
        values[3] = sums.curvature[1];
        values[4] = sums.curvature[2];
        values[5] = sums.square[0];
        values[6] = sums.square[1];
        values[7] = sums.square[2];
        values[8] = sums.projection;
        values[9] = sums.energy;
        values[10] = sums.power;
        values[11] = sums.fit;
      },
      totals);
  FitSums<double> sums;
  for (int i = 0; i < 2; ++i) sums.score[i] = totals[i];
  for (int i = 0; i < 3; ++i) sums.curvature[i] = totals[2 + i];
  for (int i = 0; i < 3; ++i) sums.square[i] = totals[5 + i];
  sums.projection = totals[8];
  sums.energy = totals[9];
  sums.power = totals[10];
  sums.fit = totals[11];
  return sums;
}

// What one thread of each block works out for the others; in shared memory.
struct FineState {
  Estimate estimate;
  NewtonStep last_step;
  FitSums<double> sums;  // of the last round
  bool is_last = false;
  int next_table = 0;
};

// One thread's part of a round: the step. Returns its length in standard deviations.
__device__ inline double StepOf(const FrameView& frame, const FramePlan& plan,
                                const Information& information, const FitSums<double>& sums,
                                FineState* fine) {
  const double limit = StepLimit(plan.known_line ? kKnownStepBranches : plan.line_power);
  return TakeStep(sums, information, limit, static_cast<int>(frame.num_symbols), &fine->last_step,
                  &fine->estimate);
}
__device__ inline Information InformationOf(const FrameView& frame, const FrameState& state,
                                            const SnrFacts& facts, const FitSums<double>& sums) {
  return UsedInformation(
      sums, ExpectedInformation(facts, state.known, static_cast<int>(frame.num_symbols)));
}

// First steps, in tables for more noise than there is.
template <bool kShared>
__device__ void StepBluntly(Team* team, const RecoverTask& task, const FrameView& frame,
                            const FramePlan& plan, const FrameState& state,
                            SoftTable<kShared>* table, FineState* fine) {
  const int sharp = state.estimate.table;
  if (threadIdx.x == 0) fine->next_table = state.blunt_table;
  __syncthreads();
  for (int round = 0; round < kMaxBluntRounds && fine->next_table < sharp; ++round) {
    const int blunt = fine->next_table;
    table->Load(blunt);
    const FitSums<double> sums = SumFit(team, frame, fine->estimate, *table);
    if (threadIdx.x == 0) {
      const Information information =
          BluntInformation(sums, table->facts(), InformationOf(frame, state, table->facts(), sums));
      const double step = StepOf(frame, plan, information, sums, fine);
      const int next = BluntTable(task.model, sharp, StepVariance(information));
      if (step < 1.0) fine->next_table = max(blunt + 1, next);
    }
    __syncthreads();
  }
}

// From fine->estimate on. Frequency and phase stay as they are unless the method is kRemodulate.
template <bool kShared>
__device__ void Remodulate(Team* team, const RecoverTask& task, const FrameView& frame,
                           const FramePlan& plan, const FrameState& state,
                           SoftTable<kShared>* table, FineState* fine) {
  const bool steps = task.parameters.fine == Fine::kRemodulate;
  if (steps) StepBluntly(team, task, frame, plan, state, table, fine);
  for (int round = 0; round < kMaxRounds; ++round) {
    const Estimate estimate = fine->estimate;
    table->Load(estimate.table);
    const FitSums<double> sums = SumFit(team, frame, estimate, *table);
    if (threadIdx.x == 0) {
      fine->sums = sums;
      const Information information = InformationOf(frame, state, table->facts(), sums);
      const double step = steps ? StepOf(frame, plan, information, sums, fine) : 0.0;
      UpdateNoise(task.model, sums, state.known, static_cast<int>(frame.num_symbols),
                  &fine->estimate);
      fine->is_last = IsLastRound(step, estimate.table, fine->estimate.table);
    }
    __syncthreads();
    if (fine->is_last) break;
  }
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_REMODULATE_CUH_
