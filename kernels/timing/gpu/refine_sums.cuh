// What symbols add to a round of timing.h's stage 4.
#ifndef BASEBAND_KERNELS_TIMING_GPU_REFINE_SUMS_CUH_
#define BASEBAND_KERNELS_TIMING_GPU_REFINE_SUMS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/carrier/gpu/samples.cuh"
#include "kernels/carrier/gpu/team.cuh"
#include "kernels/carrier/model.h"
#include "kernels/timing/math/refine_math.h"

namespace baseband::timing {

// Columns of a round's sums.
struct SumColumn {
  static constexpr int kScore = 0;  // RefineSums::score
  static constexpr int kProjection = 2;
  static constexpr int kVariance = 3;
  static constexpr int kCurve = 4;  // the scores' slope with the move: alone, times v, times v^2
  static constexpr int kCount = 7;  // symbols
  static constexpr int kColumns = 8;
};

// A symbol and its slope, both of gain 1 and turned back.
struct TurnedSymbol {
  carrier::Iq z;
  carrier::Iq slope;
};

// The soft table of one SNR. All happens in the folded plane, z' = (|i|, |q|): there the decision
// is the table's own, and the slope's signs are changed along with the symbol's.
class DecisionPlane {
 public:
  // `nodes`: the table, wherever it is.
  __device__ DecisionPlane(const carrier::ModelView& model, int table, const float4* nodes)
      : nodes_(nodes),
        side_(static_cast<uint32_t>(model.side)),
        sign_(model.folded != 0 ? 0x80000000U : 0U),
        nodes_per_unit_(model.facts[table].nodes_per_unit),
        offset_(-model.facts[table].origin * model.facts[table].nodes_per_unit),
        // Below the last node, by so little that the cell before it does for it.
        last_(0.9999999F * static_cast<float>(model.side - 1)) {}

  // `score` and `curve` of a symbol that nothing is known of; projection and variance are added.
  // kCurved: with what the decision changes as the symbol moves; without, `curve` stays.
  template <bool kCurved>
  __device__ __forceinline__ void Read(const TurnedSymbol& symbol, float bandwidth, float* score,
                                       float* curve, float (&sums)[SumColumn::kColumns]) const {
    const carrier::Iq a = {Folded(symbol.z.i, symbol.z.i), Folded(symbol.z.q, symbol.z.q)};
    const carrier::Iq slope = {Folded(symbol.slope.i, symbol.z.i),
                               Folded(symbol.slope.q, symbol.z.q)};
    const float node_i = fmaf(a.i, nodes_per_unit_, offset_);
    const float node_q = fmaf(a.q, nodes_per_unit_, offset_);
    const float held_i = fminf(fmaxf(node_i, 0.0F), last_);
    const float held_q = fminf(fmaxf(node_q, 0.0F), last_);
    const carrier::Floored place_i = carrier::FloorOf(held_i);
    const carrier::Floored place_q = carrier::FloorOf(held_q);
    const uint32_t cell = (place_q.whole & 0xffffU) * side_ + (place_i.whole & 0xffffU);
    const float4 n00 = nodes_[cell];
    const float4 n01 = nodes_[cell + 1];
    const float4 n10 = nodes_[cell + side_];
    const float4 n11 = nodes_[cell + side_ + 1];
    const float t_i = place_i.rest;
    const float t_q = place_q.rest;
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
    float unused_i;
    float unused_q;
    const carrier::Iq soft = {with_slopes(n00.x, n01.x, n10.x, n11.x, &i_along_i, &i_along_q),
                              with_slopes(n00.y, n01.y, n10.y, n11.y, &q_along_i, &q_along_q)};
    const float energy = with_slopes(n00.w, n01.w, n10.w, n11.w, &unused_i, &unused_q);
    const float projection = fmaf(soft.i, a.i, soft.q * a.q);
    sums[SumColumn::kProjection] += projection;
    sums[SumColumn::kVariance] += fmaf(-soft.i, soft.i, fmaf(-soft.q, soft.q, energy));
    *score = fmaf(soft.i, slope.i, soft.q * slope.q);
    if constexpr (kCurved) {
      // Nothing changes where it is held.
      const float step_i = node_i == held_i ? slope.i * nodes_per_unit_ : 0.0F;
      const float step_q = node_q == held_q ? slope.q * nodes_per_unit_ : 0.0F;
      const carrier::Iq change = {fmaf(step_i, i_along_i, step_q * i_along_q),
                                  fmaf(step_i, q_along_i, step_q * q_along_q)};
      *curve = fmaf(change.i, slope.i, fmaf(change.q, slope.q, -bandwidth * projection));
    }
  }

 private:
  // x, with its sign changed if `of` is negative; x itself if nothing is folded.
  __device__ __forceinline__ float Folded(float x, float of) const {
    return __uint_as_float(__float_as_uint(x) ^ (__float_as_uint(of) & sign_));
  }

  const float4* nodes_;
  uint32_t side_;
  uint32_t sign_;
  float nodes_per_unit_;
  float offset_;
  float last_;
};

// A known symbol: the decision is what was sent.
template <bool kCurved>
__device__ __forceinline__ void ReadKnown(const TurnedSymbol& symbol, carrier::Iq sent,
                                          float bandwidth, float* score, float* curve,
                                          float (&sums)[SumColumn::kColumns]) {
  const float projection = fmaf(sent.i, symbol.z.i, sent.q * symbol.z.q);
  sums[SumColumn::kProjection] += projection;
  *score = fmaf(sent.i, symbol.slope.i, sent.q * symbol.slope.q);
  if constexpr (kCurved) *curve = -bandwidth * projection;
}

// The lane's symbols of a tile, first + 32 k. kWhole: all of them are there, and nothing is known.
template <bool kCurved, bool kWhole>
__device__ __forceinline__ void AddTile(const DecisionPlane& plane, const RefineTask& of_frame,
                                        const carrier::Rotor& rotor, const TimingStep& step,
                                        const float2* symbols, const float2* slopes,
                                        const carrier::Iq* known, uint32_t first,
                                        float (&sums)[SumColumn::kColumns]) {
  const auto num_symbols = static_cast<uint32_t>(of_frame.num_symbols);
  const auto inverse_gain = static_cast<float>(1.0 / of_frame.carrier.gain);
  const float bandwidth = of_frame.bandwidth;
  const float inverse_length = 1.0F / static_cast<float>(num_symbols);
  const float inverse_taper = 1.0F / static_cast<float>(of_frame.taper);
  const auto middle = static_cast<float>(step.middle);
  const auto slope_step = static_cast<float>(step.slope);
  const float last = static_cast<float>(num_symbols - 1);
  float2 y[carrier::kTileLanes];
  float2 y_slope[carrier::kTileLanes];
#pragma unroll
  for (int k = 0; k < carrier::kTileLanes; ++k) {
    const uint32_t n = first + 32 * static_cast<unsigned>(k);
    if (!kWhole && n >= num_symbols) continue;
    y[k] = __ldg(symbols + n);
    y_slope[k] = __ldg(slopes + n);
  }
  carrier::Iq back = rotor.At(first);
  back = {back.i * inverse_gain, back.q * inverse_gain};
#pragma unroll(kWhole ? carrier::kTileLanes : 1)
  for (int k = 0; k < carrier::kTileLanes; ++k, back = rotor.Next(back)) {
    const uint32_t n = first + 32 * static_cast<unsigned>(k);
    if (!kWhole && n >= num_symbols) break;
    const auto place = static_cast<float>(n);
    const float v = (place - 0.5F * last) * inverse_length;
    const float move = fmaf(slope_step, v, middle);
    const float bend = -move * bandwidth;
    const TurnedSymbol symbol = {
        carrier::Multiply({fmaf(move, y_slope[k].x, y[k].x), fmaf(move, y_slope[k].y, y[k].y)},
                          back),
        carrier::Multiply({fmaf(bend, y[k].x, y_slope[k].x), fmaf(bend, y[k].y, y_slope[k].y)},
                          back)};
    float score = 0.0F;
    float curve = 0.0F;
    const carrier::Iq sent = !kWhole && known != nullptr ? known[n] : carrier::Iq{};
    if (!kWhole && (sent.i != 0.0F || sent.q != 0.0F)) {
      ReadKnown<kCurved>(symbol, sent, bandwidth, &score, &curve, sums);
    } else {
      plane.Read<kCurved>(symbol, bandwidth, &score, &curve, sums);
    }
    // RefineTask::WeightOf.
    const float weight =
        fminf(fmaf(fminf(place, last - place), inverse_taper, 0.5F * inverse_taper), 1.0F);
    score *= weight;
    sums[SumColumn::kScore] += score;
    sums[SumColumn::kScore + 1] = fmaf(v, score, sums[SumColumn::kScore + 1]);
    if constexpr (kCurved) {
      curve *= weight;
      const float along = v * curve;
      sums[SumColumn::kCurve] += curve;
      sums[SumColumn::kCurve + 1] += along;
      sums[SumColumn::kCurve + 2] = fmaf(v, along, sums[SumColumn::kCurve + 2]);
    }
    sums[SumColumn::kCount] += 1.0F;
  }
}

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_GPU_REFINE_SUMS_CUH_
