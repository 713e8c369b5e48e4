// Stages S4 and S5 of recover_math.h: one symbol against the soft table. For both devices.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_SOFT_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_SOFT_MATH_H_

#include <cmath>
#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

// Where a coordinate (|i| if folded) falls between the nodes along its axis.
struct NodePlace {
  int cell = 0;
  float t = 0.0F;       // from node `cell` to the next
  float inside = 1.0F;  // 0 where the coordinate was clamped: soft does not change with it
};
BASEBAND_HOST_DEVICE inline NodePlace PlaceOf(const ModelView& view, int table, float coordinate) {
  const SnrFacts& facts = view.facts[table];
  const float node = (coordinate - facts.origin) * facts.nodes_per_unit;
  const float clamped = fminf(fmaxf(node, 0.0F), static_cast<float>(view.side - 1));
  const float first = fminf(floorf(clamped), static_cast<float>(view.side - 2));
  return {static_cast<int>(first), clamped - first, node == clamped ? 1.0F : 0.0F};
}

// What a symbol says of the sent point, and how that changes as z turns.
struct SoftRead {
  Iq soft;
  Iq turning;  // derivative of soft to the angle of z
  float fit = 0.0F;
  float energy = 0.0F;
};
BASEBAND_HOST_DEVICE inline SoftRead ReadSoft(const ModelView& view, int table, Iq z) {
  const bool folded = view.folded != 0;
  const float sign_i = folded && z.i < 0.0F ? -1.0F : 1.0F;
  const float sign_q = folded && z.q < 0.0F ? -1.0F : 1.0F;
  const NodePlace i = PlaceOf(view, table, sign_i * z.i);
  const NodePlace q = PlaceOf(view, table, sign_q * z.q);
  const SoftNode* const low =
      view.soft + (static_cast<int64_t>(table) * view.side + q.cell) * view.side + i.cell;
  const SoftNode* const high = low + view.side;
  // Along i on both rows, then along q.
  const auto lerp = [](float t, float a, float b) { return fmaf(t, b - a, a); };
  const auto across = [&](float a, float b, float c, float d) {
    return lerp(q.t, lerp(i.t, a, b), lerp(i.t, c, d));
  };
  const float di =
      -sign_i * z.q * i.inside * view.facts[table].nodes_per_unit;  // d|i| to the angle, in nodes
  const float dq = sign_q * z.i * q.inside * view.facts[table].nodes_per_unit;
  const auto slope = [&](float a, float b, float c, float d) {
    const float along_i = lerp(q.t, b - a, d - c);
    const float along_q = lerp(i.t, c - a, d - b);
    return fmaf(di, along_i, dq * along_q);
  };
  SoftRead read;
  read.soft.i = sign_i * across(low[0].i, low[1].i, high[0].i, high[1].i);
  read.soft.q = sign_q * across(low[0].q, low[1].q, high[0].q, high[1].q);
  read.turning.i = sign_i * slope(low[0].i, low[1].i, high[0].i, high[1].i);
  read.turning.q = sign_q * slope(low[0].q, low[1].q, high[0].q, high[1].q);
  read.fit = across(low[0].fit, low[1].fit, high[0].fit, high[1].fit);
  read.energy = across(low[0].energy, low[1].energy, high[0].energy, high[1].energy);
  return read;
}

// `fit` alone, for hypotheses. (That of the nearest node would be off by several nats a frame.)
BASEBAND_HOST_DEVICE inline float CoarseFit(const ModelView& view, int table, Iq z) {
  const bool folded = view.folded != 0;
  const NodePlace i = PlaceOf(view, table, folded ? fabsf(z.i) : z.i);
  const NodePlace q = PlaceOf(view, table, folded ? fabsf(z.q) : z.q);
  const SoftNode* const low =
      view.soft + (static_cast<int64_t>(table) * view.side + q.cell) * view.side + i.cell;
  const SoftNode* const high = low + view.side;
  const float below = fmaf(i.t, low[1].fit - low[0].fit, low[0].fit);
  const float above = fmaf(i.t, high[1].fit - high[0].fit, high[0].fit);
  return fmaf(q.t, above - below, below);
}

// The same for a symbol that is known, but for a term that does not depend on phase or frequency.
BASEBAND_HOST_DEVICE inline float CoarseFitKnown(float two_over_noise, Iq z, Iq known) {
  return two_over_noise * fmaf(z.i, known.i, z.q * known.q);
}

// ln I0(x), x >= 0, within 2e-7 of I0 (Abramowitz and Stegun 9.8.1, 9.8.2).
BASEBAND_HOST_DEVICE inline float LnBesselI0(float x) {
  if (x < 3.75F) {
    const float y = x * x * (1.0F / 14.0625F);
    float s = fmaf(y, 0.0045813F, 0.0360768F);
    s = fmaf(y, s, 0.2659732F);
    s = fmaf(y, s, 1.2067492F);
    s = fmaf(y, s, 3.0899424F);
    s = fmaf(y, s, 3.5156229F);
    return log1pf(y * s);
  }
  const float y = 3.75F / x;
  float s = fmaf(y, 0.00392377F, -0.01647633F);
  s = fmaf(y, s, 0.02635537F);
  s = fmaf(y, s, -0.02057706F);
  s = fmaf(y, s, 0.00916281F);
  s = fmaf(y, s, -0.00157565F);
  s = fmaf(y, s, 0.00225319F);
  s = fmaf(y, s, 0.01328592F);
  s = fmaf(y, s, 0.39894228F);
  return x + logf(s / sqrtf(x));
}

// A known symbol in the place of what the table says: soft = sent, whatever z is.
BASEBAND_HOST_DEVICE inline SoftRead ReadKnown(float two_over_noise, Iq z, Iq known) {
  SoftRead read;
  read.soft = known;
  read.energy = fmaf(known.i, known.i, known.q * known.q);
  const float product = sqrtf(fmaf(z.i, z.i, z.q * z.q) * read.energy);
  read.fit = CoarseFitKnown(two_over_noise, z, known) - LnBesselI0(two_over_noise * product);
  return read;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_SOFT_MATH_H_
