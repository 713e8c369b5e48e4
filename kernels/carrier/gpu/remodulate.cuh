// Stage S5: rounds of sums over the symbols, each followed by a Newton step in frequency and phase
// and by a better gain and noise.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_REMODULATE_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_REMODULATE_CUH_

#include "kernels/carrier/gpu/fit_sums.cuh"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/soft_table.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {

// What one thread of each block works out for the others; in shared memory.
struct FineState {
  Estimate estimate;
  NewtonStep last_step;
  Estimate summed_at;       // of the last round, before it
  FitSums<double> sums;     // of the last round
  Information information;  // UsedInformation there
  Estimate renewed;         // gain, noise and table after it
  double step = 0.0;        // standard deviations
  int next_table = 0;
};

// One thread's part of a round: the step. Returns its length in standard deviations.
__device__ inline double StepOf(const FrameView& frame, const FramePlan& plan,
                                const Information& information, const FitSums<double>& sums,
                                FineState* fine) {
  return TakeStep(sums, information, plan.step_limit(), static_cast<int>(frame.num_symbols),
                  &fine->last_step, &fine->estimate);
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
    const double* const totals = SumFit(team, frame, fine->estimate, *table);
    if (threadIdx.x == 0) {
      const FitSums<double> sums = FitSumsOf(totals, table->two_over_noise());
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
    const double* const totals = SumFit(team, frame, estimate, *table);
    if (threadIdx.x == 0) {
      const FitSums<double> sums = FitSumsOf(totals, table->two_over_noise());
      fine->sums = sums;
      fine->summed_at = estimate;
      const Information information = InformationOf(frame, state, table->facts(), sums);
      const double step = steps ? StepOf(frame, plan, information, sums, fine) : 0.0;
      fine->information = information;
      fine->sums.fit += GainOfStep(step);
      fine->step = step;
    } else if (threadIdx.x == 32) {  // meanwhile, for they take as long
      fine->renewed = estimate;
      UpdateNoise(task.model, FitSumsOf(totals, table->two_over_noise()), state.known,
                  static_cast<int>(frame.num_symbols), &fine->renewed);
    }
    __syncthreads();
    if (threadIdx.x == 0) fine->estimate.TakeSnr(fine->renewed);
    const bool is_last = IsLastRound(fine->step, estimate, fine->renewed);
    __syncthreads();
    if (is_last) break;
  }
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_REMODULATE_CUH_
