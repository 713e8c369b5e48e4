// Timing.h's stage 1 from the pieces' spectra on: where the spectrum lies, drift and phase of the
// line, and whether it is one.
#ifndef BASEBAND_KERNELS_TIMING_GPU_LINE_SEARCH_CUH_
#define BASEBAND_KERNELS_TIMING_GPU_LINE_SEARCH_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/timing/gpu/line_block.cuh"
#include "kernels/timing/gpu/timing_task.cuh"

namespace baseband::timing {

// Drifts that a warp compares at a time: each of a piece's lines is read once for all of them.
inline constexpr int kDriftsAtOnce = 4;

// Shared memory behind one another.
struct SearchArrays {
  double* group_sums;  // [warps][groups]
  float* power;        // [points]
  float* edge;         // [points]: RC at the distance of so many bins
  float* weights;      // [groups]
};

// Of one frame, by a thread block.
template <int kThreads>
class LineSearch {
 public:
  using Threads = LineThreads<kThreads>;

  __device__ LineSearch(const TimingTask& task, uint32_t f, Threads threads,
                        const SearchArrays& arrays)
      : plan_(task.states[f].plan),
        threads_(threads),
        arrays_(arrays),
        groups_(task.groups + uint64_t{f} * task.pieces_row * task.groups_row),
        groups_row_(task.groups_row),
        lines_(task.lines + uint64_t{f} * task.pieces_row),
        pieces_(task.pieces + uint64_t{f} * task.pieces_row),
        middle_(0.5 * (plan_.PieceTime(0) + plan_.PieceTime(plan_.num_pieces - 1))) {
    SumPower(task.power + uint64_t{f} * task.slots_row * static_cast<unsigned>(task.points));
    for (int s = Threads::thread(); s < plan_.num_pieces; s += kThreads) {
      pieces_[s] = {plan_.PieceTime(s) - middle_, carrier::Turn(plan_.PieceTurns(s))};
    }
    __syncthreads();
  }

  __device__ LineVerdict Search(double line_strength, int num_symbols) {
    double centre = StrongestBin();
    SumLines(centre);
    TimingLine line;
    const double first = -plan_.last_drift * plan_.drift_step;
    const Greatest allowed = StrongestOf(first, plan_.drift_step, 2 * plan_.last_drift + 1);
    line.drift = first + allowed.index * plan_.drift_step;
    line.middle = MiddleOf(line);
    SettleLine(&line);
    centre = RefineCentre(centre, line);
    SumLines(centre);
    const LineSums sums = SettleLine(&line);
    const double unlikely = VarianceWithoutLine(centre);
    const double beyond = AsksBeyond(sums, unlikely) ? PowerBeyond() : 0.0;
    const LineEvidence evidence = WeighLine(plan_, sums, EnergyOfBlock(centre), unlikely, beyond);
    JudgeLine(sums, plan_.num_pieces, evidence.lambda, plan_.max_drift, &line);
    const double frame_middle = (plan_.num_samples - 1.0) * plan_.symbols / (2.0 * plan_.samples);
    line.middle += line.drift * (frame_middle - middle_);
    return JudgeFrame(plan_, line, evidence, centre, line_strength, num_symbols);
  }

 private:
  // The mean power of all pieces, and the edges of a raised cosine around any bin.
  __device__ void SumPower(const float* slots) {
    const int num_slots = NumLineSlots(plan_.num_pieces);
    for (int k = Threads::thread(); k < plan_.points; k += kThreads) {
      float sum = 0.0F;
      for (int slot = 0; slot < num_slots; ++slot) sum += slots[slot * plan_.points + k];
      arrays_.power[k] = sum;
      arrays_.edge[k] = RaisedCosineSpectrum(plan_.rolloff, static_cast<float>(k * plan_.bin));
    }
  }

  // A lane's part of E(centre) over the number of pieces.
  __device__ double EnergyOfLane(double centre, int lane, int lanes) const {
    const double half = 0.5 * (1.0 + static_cast<double>(plan_.rolloff));
    const int last = static_cast<int>(floor((centre + half) / plan_.bin));
    double sum = 0.0;
    for (int k = static_cast<int>(ceil((centre - half) / plan_.bin)) + lane; k <= last;
         k += lanes) {
      const auto f = static_cast<float>(k * plan_.bin - centre);
      sum += static_cast<double>(arrays_.power[plan_.Wrapped(k)] *
                                 RaisedCosineSpectrum(plan_.rolloff, f));
    }
    return sum;
  }
  __device__ double EnergyOfBlock(double centre) const {
    double sum[1] = {EnergyOfLane(centre, Threads::thread(), kThreads)};
    threads_.SumAll(sum);
    return sum[0];
  }

  __device__ double StrongestBin() const {
    const double half = 0.5 * (1.0 + static_cast<double>(plan_.rolloff));
    const int reach = static_cast<int>(floor(half / plan_.bin));
    Greatest best;
    for (int i = Threads::warp() - plan_.last_centre; i <= plan_.last_centre;
         i += Threads::kWarps) {
      double energy[1] = {};
      for (int k = Threads::lane() - reach; k <= reach; k += 32) {
        energy[0] +=
            static_cast<double>(arrays_.power[plan_.Wrapped(i + k)] * arrays_.edge[abs(k)]);
      }
      carrier::SumDoubles(energy);
      best.Take(energy[0], i);
    }
    return threads_.GreatestOf(best).index * plan_.bin;
  }

  __device__ double VarianceWithoutLine(double centre) const {
    double sum[1] = {};
    const int bins = plan_.num_groups * plan_.group_bins;
    for (int i = Threads::thread(); i < bins; i += kThreads) {
      const double weight = plan_.GroupWeight(i / plan_.group_bins, centre);
      const int low = plan_.first_bin + i;
      sum[0] += weight * weight * static_cast<double>(arrays_.power[plan_.Wrapped(low)]) *
                static_cast<double>(arrays_.power[plan_.Wrapped(low + plan_.rate_bins)]);
    }
    threads_.SumAll(sum);
    return kPieceOverlap * kBinOverlap * sum[0] * plan_.num_pieces;
  }

  // conj(q_s), turned, to lines_.
  __device__ void SumLines(double centre) const {
    for (int g = Threads::thread(); g < plan_.num_groups; g += kThreads) {
      arrays_.weights[g] = plan_.GroupWeight(g, centre);
    }
    __syncthreads();
    for (int s = Threads::thread(); s < plan_.num_pieces; s += kThreads) {
      const float2* const groups = groups_ + uint64_t{groups_row_} * static_cast<unsigned>(s);
      float re = 0.0F;
      float im = 0.0F;
      for (int g = 0; g < plan_.num_groups; ++g) {
        const float2 group = groups[g];
        re = fmaf(arrays_.weights[g], group.x, re);
        im = fmaf(-arrays_.weights[g], group.y, im);
      }
      const carrier::Turned turn = pieces_[s].turn;
      lines_[s] = make_float2(re * turn.c - im * turn.s, re * turn.s + im * turn.c);
    }
    __syncthreads();
  }

  // Of the drifts first_drift + i drift_step, 0 <= i < num_drifts, the strongest line's power, of
  // the mean over the pieces: the sum of the greatest magnitudes' lines would be beyond float32.
  // The pieces' times are taken to be equally far apart, which they are to a sample.
  __device__ Greatest StrongestOf(double first_drift, double drift_step, int num_drifts) const {
    const int last_piece = plan_.num_pieces - 1;
    const double hop =
        last_piece > 0 ? (pieces_[last_piece].time - pieces_[0].time) / last_piece : 0.0;
    const float share = 1.0F / static_cast<float>(plan_.num_pieces);
    Greatest best;
    for (int i = Threads::warp() * kDriftsAtOnce; i < num_drifts;
         i += Threads::kWarps * kDriftsAtOnce) {
      carrier::Iq sums[kDriftsAtOnce] = {};
      carrier::Iq back[kDriftsAtOnce];
      carrier::Iq steps[kDriftsAtOnce];
#pragma unroll
      for (int d = 0; d < kDriftsAtOnce; ++d) {
        const double drift = first_drift + (i + d) * drift_step;
        const carrier::Turned first =
            carrier::Turn(drift * hop * (Threads::lane() - 0.5 * last_piece));
        const carrier::Turned step = carrier::Turn(drift * hop * 32.0);
        back[d] = {first.c, -first.s};
        steps[d] = {step.c, -step.s};
      }
      for (int s = Threads::lane(); s < plan_.num_pieces; s += 32) {
        const float2 z = make_float2(share * lines_[s].x, share * lines_[s].y);
#pragma unroll
        for (int d = 0; d < kDriftsAtOnce; ++d) {
          sums[d].i = fmaf(z.x, back[d].i, fmaf(-z.y, back[d].q, sums[d].i));
          sums[d].q = fmaf(z.x, back[d].q, fmaf(z.y, back[d].i, sums[d].q));
          back[d] = carrier::Multiply(back[d], steps[d]);
        }
      }
#pragma unroll
      for (int d = 0; d < kDriftsAtOnce; ++d) {
        double sum[2] = {static_cast<double>(sums[d].i), static_cast<double>(sums[d].q)};
        carrier::SumDoubles(sum);
        if (i + d < num_drifts) best.Take(sum[0] * sum[0] + sum[1] * sum[1], i + d);
      }
    }
    return threads_.GreatestOf(best);
  }

  // The greatest power of the line at a drift that is not allowed.
  __device__ double PowerBeyond() const {
    if (plan_.num_beyond == 0) return 0.0;
    const double first = plan_.max_drift + plan_.beyond_step;
    const double last = plan_.max_drift + plan_.num_beyond * plan_.beyond_step;
    const double later = StrongestOf(first, plan_.beyond_step, plan_.num_beyond).value;
    const double sooner = StrongestOf(-last, plan_.beyond_step, plan_.num_beyond).value;
    return fmax(later, sooner) * plan_.num_pieces * plan_.num_pieces;
  }

  // The phase of a line without one.
  __device__ double MiddleOf(const TimingLine& line) const {
    double sum[2] = {};
    for (int s = Threads::thread(); s < plan_.num_pieces; s += kThreads) {
      const carrier::Iq z = TurnedBack(line, s);
      sum[0] += static_cast<double>(z.i);
      sum[1] += static_cast<double>(z.q);
    }
    threads_.SumAll(sum);
    return atan2(sum[1], sum[0]) / (2.0 * kPi);
  }

  // exp(j 2 pi T) at piece s, within 2e-7.
  __device__ carrier::Turned TurnAt(const TimingLine& line, int s) const {
    const double turns = fma(line.drift, pieces_[s].time, line.middle);
    carrier::Turned turn;
    sincospif(2.0F * static_cast<float>(turns - rint(turns)), &turn.s, &turn.c);
    return turn;
  }

  // A piece's line times exp(-j 2 pi T).
  __device__ carrier::Iq TurnedBack(const TimingLine& line, int s) const {
    const carrier::Turned turn = TurnAt(line, s);
    const float2 z = lines_[s];
    return {fmaf(z.x, turn.c, z.y * turn.s), fmaf(z.y, turn.c, -z.x * turn.s)};
  }

  __device__ LineSums SumsAt(const TimingLine& line) const {
    LineSums sums;
    for (int s = Threads::thread(); s < plan_.num_pieces; s += kThreads) {
      const carrier::Iq z = TurnedBack(line, s);
      sums.Add(static_cast<double>(z.i), static_cast<double>(z.q), pieces_[s].time);
    }
    double all[7] = {sums.across[0],  sums.across[1], sums.moments[0],  sums.moments[1],
                     sums.moments[2], sums.square,    sums.along_square};
    threads_.SumAll(all);
    sums.along = sums.moments[0] = all[2];
    sums.across[0] = all[0];
    sums.across[1] = all[1];
    sums.moments[1] = all[3];
    sums.moments[2] = all[4];
    sums.square = all[5];
    sums.along_square = all[6];
    return sums;
  }

  __device__ LineSums SettleLine(TimingLine* line) const {
    LineSums sums = SumsAt(*line);
    for (int step = 0; step < kLineSteps; ++step) {
      StepLine(sums, plan_.max_drift, line);
      sums = SumsAt(*line);
    }
    return sums;
  }

  // What the groups have in phase with the line, all pieces together: to group_sums' first row.
  __device__ void SumGroups(const TimingLine& line) const {
    // What turns a piece's groups; its line was read for the last time.
    for (int s = Threads::thread(); s < plan_.num_pieces; s += kThreads) {
      const carrier::Turned turn = pieces_[s].turn;
      const carrier::Turned back = TurnAt(line, s);
      lines_[s] = make_float2(fmaf(turn.c, back.c, turn.s * back.s),
                              fmaf(turn.s, back.c, -turn.c * back.s));
    }
    __syncthreads();
    double* const of_warp = arrays_.group_sums + Threads::warp() * plan_.num_groups;
    for (int g = Threads::lane(); g < plan_.num_groups; g += 32) {
      double sum = 0.0;
      for (int s = Threads::warp(); s < plan_.num_pieces; s += Threads::kWarps) {
        const float2 group =
            groups_[uint64_t{groups_row_} * static_cast<unsigned>(s) + static_cast<unsigned>(g)];
        // Re of conj(C) turn.
        sum += static_cast<double>(fmaf(group.x, lines_[s].x, group.y * lines_[s].y));
      }
      of_warp[g] = sum;
    }
    __syncthreads();
    for (int g = Threads::thread(); g < plan_.num_groups; g += kThreads) {
      double sum = 0.0;
      for (int w = 0; w < Threads::kWarps; ++w) sum += arrays_.group_sums[w * plan_.num_groups + g];
      arrays_.group_sums[g] = sum;  // no other thread reads this column
    }
    __syncthreads();
  }

  __device__ double RefineCentre(double centre, const TimingLine& line) const {
    if (plan_.last_centre == 0) return centre;
    SumGroups(line);
    const double step = kCentreStep * static_cast<double>(plan_.rolloff);
    double heights[2 * kCentreSteps + 1];
    int best = 0;
    for (int i = 0; i <= 2 * kCentreSteps; ++i) {
      const double here = centre + (i - kCentreSteps) * step;
      double height[1] = {plan_.num_pieces * EnergyOfLane(here, Threads::thread(), kThreads)};
      for (int g = Threads::thread(); g < plan_.num_groups; g += kThreads) {
        height[0] += static_cast<double>(plan_.GroupWeight(g, here)) * arrays_.group_sums[g];
      }
      threads_.SumAll(height);
      heights[i] = height[0];
      if (heights[i] > heights[best]) best = i;
    }
    return centre + (best - kCentreSteps + PeakRest(heights, best)) * step;
  }

  // Of the parabola through the greatest and its neighbours.
  __device__ static double PeakRest(const double (&heights)[2 * kCentreSteps + 1], int best) {
    if (best == 0 || best == 2 * kCentreSteps) return 0.0;
    const double bend = heights[best - 1] - 2.0 * heights[best] + heights[best + 1];
    return bend < 0.0 ? 0.5 * (heights[best - 1] - heights[best + 1]) / bend : 0.0;
  }

  const LinePlan plan_;
  const Threads threads_;
  const SearchArrays arrays_;
  const float2* groups_;
  uint32_t groups_row_;
  float2* lines_;
  PieceFacts* pieces_;
  double middle_;  // of the pieces' times
};

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_GPU_LINE_SEARCH_CUH_
