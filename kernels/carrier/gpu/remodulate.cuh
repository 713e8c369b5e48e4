// Stage S5: rounds of sums over the symbols with soft decisions in place of the sent points, each
// followed by a Newton step in frequency and phase and by a better gain and noise.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_REMODULATE_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_REMODULATE_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/branches.cuh"
#include "kernels/carrier/gpu/judge.cuh"
#include "kernels/carrier/gpu/nearest_device.cuh"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/soft_table.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {

// What a frame's sums are of. Indices of the totals that SumFit leaves.
struct SumIndex {
  static constexpr int kScore = 0;
  static constexpr int kCurvature = 2;
  static constexpr int kSquare = 5;
  static constexpr int kProjection = 8;
  static constexpr int kEnergy = 9;
  static constexpr int kPower = 10;
  static constexpr int kFit = 11;
  static constexpr int kDistance = 12;
  static constexpr int kLean = 13;
  static constexpr int kHardTurn = 14;
  static constexpr int kCount = 16;
};

// What AddSymbol adds, but for the factor of 2 / noise of slopes, squares of which have its square.
__device__ __forceinline__ void AddSlopes(float g, float h, float along, float t,
                                          float (&sums)[SumIndex::kCount]) {
  sums[SumIndex::kScore] += g;
  const float tg = t * g;
  sums[SumIndex::kScore + 1] += tg;
  sums[SumIndex::kSquare] = fmaf(g, g, sums[SumIndex::kSquare]);
  sums[SumIndex::kSquare + 1] = fmaf(tg, g, sums[SumIndex::kSquare + 1]);
  sums[SumIndex::kSquare + 2] = fmaf(tg, tg, sums[SumIndex::kSquare + 2]);
  sums[SumIndex::kCurvature] += h;
  const float th = t * h;
  sums[SumIndex::kCurvature + 1] += th;
  sums[SumIndex::kCurvature + 2] = fmaf(t, th, sums[SumIndex::kCurvature + 2]);
  sums[SumIndex::kProjection] += along;
}
// Of a hard decision; `mirrored`: the sign bit of its turn, where z is folded.
__device__ __forceinline__ void AddHard(Iq z, Iq point, uint32_t mirrored, float t,
                                        float (&sums)[SumIndex::kCount]) {
  const float di = z.i - point.i;
  const float dq = z.q - point.q;
  sums[SumIndex::kDistance] = fmaf(di, di, fmaf(dq, dq, sums[SumIndex::kDistance]));
  sums[SumIndex::kLean] = fmaf(di, z.i, fmaf(dq, z.q, sums[SumIndex::kLean]));
  const float folded = fmaf(z.q, point.i, -z.i * point.q);
  const float turn = __uint_as_float(__float_as_uint(folded) ^ mirrored);
  sums[SumIndex::kHardTurn] += turn;
  sums[SumIndex::kHardTurn + 1] = fmaf(t, turn, sums[SumIndex::kHardTurn + 1]);
}

// A soft table as ReadSoft reads it, and the sums over symbols that are not known. All of it
// happens in the folded plane, z' = (|i|, |q|): there soft decision and turning are the table's
// own, and but for the sign of g nothing changes.
template <bool kShared>
class SoftPlane {
 public:
  __device__ explicit SoftPlane(const ModelView& view)
      : nodes_(kShared ? InShared(view.soft) : view.soft),
        side_(static_cast<uint32_t>(view.side)),
        sign_(view.folded != 0 ? 0x80000000U : 0U),
        nodes_per_unit_(view.facts->nodes_per_unit),
        offset_(-view.facts->origin * view.facts->nodes_per_unit),
        // Below the last node, by so little that the cell before it does for it.
        last_(0.9999999F * static_cast<float>(view.side - 1)) {}

  template <SearchKind kKind, bool kHard>
  __device__ __forceinline__ void Add(const NearestView& nearest, Iq z, float t,
                                      float (&sums)[SumIndex::kCount]) const {
    const Iq a = {Unsigned(z.i), Unsigned(z.q)};
    const float node_i = fmaf(a.i, nodes_per_unit_, offset_);
    const float node_q = fmaf(a.q, nodes_per_unit_, offset_);
    const float held_i = fminf(fmaxf(node_i, 0.0F), last_);
    const float held_q = fminf(fmaxf(node_q, 0.0F), last_);
    const Floored place_i = FloorOf(held_i);
    const Floored place_q = FloorOf(held_q);
    const uint32_t cell = (place_q.whole & 0xffffU) * side_ + (place_i.whole & 0xffffU);
    const SoftNode n00 = NodeAt(cell);
    const SoftNode n01 = NodeAt(cell + 1);
    const SoftNode n10 = NodeAt(cell + side_);
    const SoftNode n11 = NodeAt(cell + side_ + 1);
    const float t_i = place_i.rest;
    const float t_q = place_q.rest;
    const auto value = [&](float v00, float v01, float v10, float v11) {
      const float below = fmaf(t_i, v01 - v00, v00);
      return fmaf(t_q, fmaf(t_i, v11 - v10, v10) - below, below);
    };
    // Also how it changes from node to node along either axis.
    const auto with_slopes = [&](float v00, float v01, float v10, float v11, float* along_i,
                                 float* along_q) {
      const float along_below = v01 - v00;
      const float below = fmaf(t_i, along_below, v00);
      const float along_above = v11 - v10;
      *along_q = fmaf(t_i, along_above, v10) - below;
      *along_i = fmaf(t_q, along_above - along_below, along_below);
      return fmaf(t_q, *along_q, below);
    };
    float i_along_i;
    float i_along_q;
    float q_along_i;
    float q_along_q;
    const float soft_i = with_slopes(n00.i, n01.i, n10.i, n11.i, &i_along_i, &i_along_q);
    const float soft_q = with_slopes(n00.q, n01.q, n10.q, n11.q, &q_along_i, &q_along_q);
    // A turn of z by a small angle moves it by (-q, i); nothing changes where it is held.
    const float turn_i = node_i == held_i ? a.q * nodes_per_unit_ : 0.0F;
    const float turn_q = node_q == held_q ? a.i * nodes_per_unit_ : 0.0F;
    const float turning_i = fmaf(turn_q, i_along_q, -turn_i * i_along_i);
    const float turning_q = fmaf(turn_q, q_along_q, -turn_i * q_along_i);
    const float along = fmaf(a.i, soft_i, a.q * soft_q);
    const float h = fmaf(a.q, turning_i, fmaf(-a.i, turning_q, along));
    const float across = fmaf(a.q, soft_i, -a.i * soft_q);
    const uint32_t mirrored = (__float_as_uint(z.i) ^ __float_as_uint(z.q)) & sign_;
    AddSlopes(__uint_as_float(__float_as_uint(across) ^ mirrored), h, along, t, sums);
    sums[SumIndex::kPower] = fmaf(z.i, z.i, fmaf(z.q, z.q, sums[SumIndex::kPower]));
    sums[SumIndex::kEnergy] += value(n00.energy, n01.energy, n10.energy, n11.energy);
    sums[SumIndex::kFit] += value(n00.fit, n01.fit, n10.fit, n11.fit);
    if constexpr (kHard) {
      const SearchPoint point = FindNearest<kKind>(nearest, a.i, a.q);
      AddHard(a, {point.i, point.q}, mirrored, t, sums);
    }
  }

 private:
  __device__ __forceinline__ SoftNode NodeAt(uint32_t k) const {
    if constexpr (kShared) {
      return nodes_[k];
    } else {
      const float4 node = __ldg(reinterpret_cast<const float4*>(nodes_) + k);
      return {node.x, node.y, node.z, node.w};
    }
  }
  __device__ __forceinline__ float Unsigned(float x) const {
    return __uint_as_float(__float_as_uint(x) & ~sign_);
  }

  const SoftNode* nodes_;
  uint32_t side_;
  uint32_t sign_;
  float nodes_per_unit_;
  float offset_;
  float last_;
};

// A known symbol's part. A call: they are few, and their logarithms long.
__device__ __noinline__ float KnownFit(float two_over_noise, Iq z, Iq known) {
  return ReadKnown(two_over_noise, z, known).fit;
}
template <bool kHard>
__device__ __forceinline__ void AddKnown(float two_over_noise, Iq z, Iq known, float t,
                                         float (&sums)[SumIndex::kCount]) {
  const float along = fmaf(z.i, known.i, z.q * known.q);
  AddSlopes(fmaf(z.q, known.i, -z.i * known.q), along, along, t, sums);
  sums[SumIndex::kPower] = fmaf(z.i, z.i, fmaf(z.q, z.q, sums[SumIndex::kPower]));
  sums[SumIndex::kEnergy] = fmaf(known.i, known.i, fmaf(known.q, known.q, sums[SumIndex::kEnergy]));
  sums[SumIndex::kFit] += KnownFit(two_over_noise, z, known);
  if constexpr (kHard) AddHard(z, known, 0, t, sums);
}

// The sums of a frame at an estimate, `table` being the estimate's; kHard: with hard decisions. In
// shared memory until the team's next sum.
template <bool kShared, SearchKind kKind, bool kHard>
__device__ __noinline__ const double* SumFit(Team* team, const FrameView& frame,
                                             const Estimate& estimate,
                                             const SoftTable<kShared>& table,
                                             const NearestView& search) {
  // All that the loop reads, where a store to memory cannot change it.
  const Team mates = *team;
  const Samples samples = frame.samples;
  const uint32_t num_symbols = frame.num_symbols;
  const Iq* const known_symbols = frame.known;
  const double centre = frame.centre();
  const NearestView nearest = NearestInShared<kKind>(search);
  const Rotor rotor(estimate.frequency, estimate.phase, num_symbols);
  const SoftPlane<kShared> plane(table.view());
  const float two_over_noise = table.two_over_noise();
  const auto inverse_gain = static_cast<float>(1.0 / estimate.gain);
  const double inverse_length = 1.0 / num_symbols;
  const auto per_32 = static_cast<float>(32.0 * inverse_length);
  const uint32_t onward = mates.Onward(num_symbols);
  return mates.SumShared<SumIndex::kCount>(
      num_symbols, [&](uint32_t first, float(&sums)[SumIndex::kCount]) {
        Iq back = rotor.At(first);
        back = {back.i * inverse_gain, back.q * inverse_gain};
        auto t = static_cast<float>((first - centre) * inverse_length);
        if (known_symbols == nullptr && first + (kTile - 32) < num_symbols) {
          Iq r[kTileLanes];
          samples.ReadTile(first, num_symbols, r);
          samples.FetchTile(first - threadIdx.x % 32 + onward, num_symbols);
#pragma unroll
          for (int k = 0; k < kTileLanes; ++k) {
            plane.template Add<kKind, kHard>(nearest, Multiply(r[k], back), t, sums);
            back = rotor.Next(back);
            t += per_32;
          }
          return;
        }
#pragma unroll 1
        for (uint32_t n = first; n < min(first + kTile, num_symbols); n += 32) {
          const Iq z = Multiply(samples.Read(n), back);
          Iq known;
          if (known_symbols != nullptr) known = known_symbols[n];
          if (known.i != 0.0F || known.q != 0.0F) {
            AddKnown<kHard>(two_over_noise, z, known, t, sums);
          } else {
            plane.template Add<kKind, kHard>(nearest, z, t, sums);
          }
          back = rotor.Next(back);
          t += per_32;
        }
      });
}

// SumFit's totals as FitSums.
__device__ inline FitSums<double> FitSumsOf(const double* totals, float two_over_noise) {
  const auto factor = static_cast<double>(two_over_noise);
  FitSums<double> sums;
  for (int i = 0; i < 2; ++i) sums.score[i] = factor * totals[SumIndex::kScore + i];
  for (int i = 0; i < 3; ++i) sums.curvature[i] = factor * totals[SumIndex::kCurvature + i];
  for (int i = 0; i < 3; ++i) sums.square[i] = factor * factor * totals[SumIndex::kSquare + i];
  sums.projection = totals[SumIndex::kProjection];
  sums.energy = totals[SumIndex::kEnergy];
  sums.power = totals[SumIndex::kPower];
  sums.fit = totals[SumIndex::kFit];
  return sums;
}

__device__ inline HardSums HardSumsOf(const double* totals) {
  HardSums sums;
  sums.distance = totals[SumIndex::kDistance];
  sums.lean = totals[SumIndex::kLean];
  sums.turn[0] = totals[SumIndex::kHardTurn];
  sums.turn[1] = totals[SumIndex::kHardTurn + 1];
  return sums;
}

// What one thread of each block works out for the others; in shared memory.
struct FineState {
  Estimate estimate;
  NewtonStep last_step;
  Estimate summed_at;       // of the last round, before it
  FitSums<double> sums;     // of the last round
  Information information;  // UsedInformation there
  HardSums hard;
  bool is_last = false;
  bool has_hard = false;
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
template <bool kShared, SearchKind kKind>
__device__ void StepBluntly(Team* team, const RecoverTask& task, const FrameView& frame,
                            const FramePlan& plan, const FrameState& state,
                            const NearestView& nearest, SoftTable<kShared>* table,
                            FineState* fine) {
  const int sharp = state.estimate.table;
  if (threadIdx.x == 0) fine->next_table = state.blunt_table;
  __syncthreads();
  for (int round = 0; round < kMaxBluntRounds && fine->next_table < sharp; ++round) {
    const int blunt = fine->next_table;
    table->Load(blunt);
    const double* const totals =
        SumFit<kShared, kKind, false>(team, frame, fine->estimate, *table, nearest);
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

// Whether the first round's step will be small enough for it to be the last: the line that it
// begins with leaves hardly more than the symbols do.
__device__ inline bool FirstMayBeLast(const RecoverTask& task, const FrameView& frame,
                                      const FramePlan& plan, const FrameState& state,
                                      const SnrFacts& facts) {
  if (task.parameters.fine != Fine::kRemodulate) return true;
  constexpr double kHardlyMore = 1.5;
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const double at_ends = LineVariance(state.best_lambda, num_symbols, plan.line_power);
  return state.known.count > 0 ||
         0.25 * at_ends * static_cast<double>(facts.information) * num_symbols < kHardlyMore;
}

// From fine->estimate on. Frequency and phase stay as they are unless the method is kRemodulate.
template <bool kShared, SearchKind kKind>
__device__ void Remodulate(Team* team, const RecoverTask& task, const FrameView& frame,
                           const FramePlan& plan, const FrameState& state,
                           const NearestView& nearest, SoftTable<kShared>* table, FineState* fine) {
  const bool steps = task.parameters.fine == Fine::kRemodulate;
  if (steps) StepBluntly<kShared, kKind>(team, task, frame, plan, state, nearest, table, fine);
  for (int round = 0; round < kMaxRounds; ++round) {
    const Estimate estimate = fine->estimate;
    table->Load(estimate.table);
    const bool hard = round > 0 || FirstMayBeLast(task, frame, plan, state, table->facts());
    const double* const totals =
        hard ? SumFit<kShared, kKind, true>(team, frame, estimate, *table, nearest)
             : SumFit<kShared, kKind, false>(team, frame, estimate, *table, nearest);
    if (threadIdx.x == 0) {
      const FitSums<double> sums = FitSumsOf(totals, table->two_over_noise());
      fine->sums = sums;
      fine->hard = HardSumsOf(totals);
      fine->has_hard = hard;
      fine->summed_at = estimate;
      const Information information = InformationOf(frame, state, table->facts(), sums);
      const double step = steps ? StepOf(frame, plan, information, sums, fine) : 0.0;
      fine->information = information;
      fine->sums.fit += GainOfStep(step);
      UpdateNoise(task.model, sums, state.known, static_cast<int>(frame.num_symbols),
                  &fine->estimate);
      fine->is_last = IsLastRound(step, estimate, fine->estimate);
    }
    __syncthreads();
    if (fine->is_last) break;
  }
  if (fine->has_hard) return;
  const double* const totals =
      SumFit<kShared, kKind, true>(team, frame, fine->summed_at, *table, nearest);
  if (threadIdx.x == 0) {
    fine->hard = HardSumsOf(totals);
  }
  __syncthreads();
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_REMODULATE_CUH_
