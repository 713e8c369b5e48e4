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
        Iq r[kTileLanes];
        frame.samples.ReadTile(first, frame.num_symbols, r);
        FitSums<float> sums;
        Iq back = rotor.At(first);
        back = {back.i * inverse_gain, back.q * inverse_gain};
        auto t = static_cast<float>((first - frame.centre()) * inverse_length);
#pragma unroll
        for (int k = 0; k < kTileLanes; ++k) {
          const uint32_t n = first + 32 * static_cast<uint32_t>(k);
          if (n >= frame.num_symbols) break;
          const Iq z = Multiply(r[k], back);
          back = rotor.Next(back);
          Iq known;
          if (frame.known != nullptr) known = frame.known[n];
          const bool is_known = known.i != 0.0F || known.q != 0.0F;
          const SoftRead read =
              is_known ? ReadKnown(two_over_noise, z, known) : ReadSoft(view, 0, z);
          AddSymbol(two_over_noise, z, t, read, &sums);
          t += per_32;
        }
        values[0] += sums.score[0];
        values[1] += sums.score[1];
        values[2] += sums.curvature[0];
        values[3] += sums.curvature[1];
        values[4] += sums.curvature[2];
        values[5] += sums.square[0];
        values[6] += sums.square[1];
        values[7] += sums.square[2];
        values[8] += sums.projection;
        values[9] += sums.energy;
        values[10] += sums.power;
        values[11] += sums.fit;
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
  FitSums<double> sums;  // of the last round
  bool is_last = false;
  int next_table = 0;
};

// One thread's part of a round: the step. `blunt`: a first one. Returns its length in standard
// deviations.
__device__ inline double StepOf(const FrameView& frame, const FramePlan& plan,
                                const FrameState& state, const SnrFacts& facts, bool blunt,
                                const FitSums<double>& sums, Information* information,
                                Estimate* estimate) {
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const double limit = StepLimit(plan.known_line ? kKnownStepBranches : plan.line_power);
  *information = UsedInformation(sums, ExpectedInformation(facts, state.known, num_symbols));
  if (blunt) *information = BluntInformation(sums, facts, *information);
  return NewtonStep(sums, *information, limit, num_symbols, estimate);
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
      Information information;
      const double step =
          StepOf(frame, plan, state, table->facts(), true, sums, &information, &fine->estimate);
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
      Information information;
      const double step = steps ? StepOf(frame, plan, state, table->facts(), false, sums,
                                         &information, &fine->estimate)
                                : 0.0;
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
