// Equation 8's term of a symbol of a constellation of even rings, from its angle: nothing of the
// symbol is turned, and nothing is searched.
//
// A symbol of radius rho that is an angle of delta aside of a point of the ring of radius R is at a
// squared distance of
//   (rho - R)^2 + 4 rho R sin^2(delta / 2)
// from it, a sum without a cancellation. Angles are whole numbers, a ring's in units of 2^-32 of
// the distance of its neighbours: what exceeds that distance falls off by itself.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_RING_TERM_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_RING_TERM_CUH_

#include <cstdint>

#include "kernels/carrier/constellation/even_rings.h"
#include "kernels/carrier/gpu/samples.cuh"

namespace baseband::carrier {

// A ring as the terms want it, 32 bytes, in shared memory.
struct alignas(16) RingShape {
  float radius = 0.0F;
  float inverse_radius = 0.0F;
  float bend[3] =
      {};  // per rho: over R^2, 4 rho R sin^2(delta / 2) in powers of the place's square
  uint32_t points = 1;  // of a quarter of a turn
  uint32_t begin = 0;   // half way from a point to the next one
  float padding = 0.0F;

  __device__ void Set(const EvenRing& ring) {
    radius = ring.radius;
    inverse_radius = 1.0F / ring.radius;
    points = ring.points;
    begin = ring.first - 0x80000000U;
    // (2 sin(x / 2) / x)^2 for |x| <= pi / 4, to 4e-7.
    constexpr float kChord[3] = {0.99999964F, -0.083322821F, 0.0027322334F};
    const float spacing = 1.57079633F / static_cast<float>(ring.points);  // radians
    float power = inverse_radius;
    for (int k = 0; k < 3; ++k) {
      power *= spacing * spacing;
      bend[k] = kChord[k] * power;
    }
  }
};

// A symbol, its gain taken off: radius, and angle in units of 2^-32 of a turn.
struct PolarSymbol {
  float radius = 0.0F;
  uint32_t turns = 0;

  __device__ __forceinline__ PolarSymbol(Iq r, float inverse_gain) {
    const float i = fabsf(r.i * inverse_gain);
    const float q = fabsf(r.q * inverse_gain);
    radius = FastRoot(fmaf(i, i, q * q));
    const float greater = fmaxf(fmaxf(i, q), 1e-30F);
    const float slope = __fdividef(fminf(i, q), greater);
    // atan(slope) / slope in turns, to 1.2e-7.
    constexpr float kAngle[8] = {0.159154924F,  -0.0530492275F,  0.0317784067F,  -0.0222869286F,
                                 0.0157067872F, -0.00936304601F, 0.00378478708F, -0.00072571343F};
    const float square = slope * slope;
    float angle = kAngle[7];
#pragma unroll
    for (int k = 6; k >= 0; --k) angle = fmaf(angle, square, kAngle[k]);
    turns = __float2uint_rn(angle * slope * 0x1p32F);
    if (q > i) turns = 0x40000000U - turns;
    if (r.i < 0.0F) turns = 0x80000000U - turns;
    if (r.q < 0.0F) turns = 0U - turns;
  }
};

// An angle of 2^-64 turns, in the ring's units.
__device__ __forceinline__ uint32_t AlongRing(uint64_t turns, uint32_t points) {
  return static_cast<uint32_t>((turns * points + (1U << 29)) >> 30);
}

// A symbol's distance to a ring's nearest point, squared and over R^2, as a function of its place.
struct alignas(16) RingDistance {
  float bend[3] = {};
  float along = 0.0F;  // the radius

  // Nothing, wherever it is.
  RingDistance() = default;
  __device__ __forceinline__ RingDistance(const RingShape& shape, float radius) {
    const float off = (radius - shape.radius) * shape.inverse_radius;
    along = off * off;
#pragma unroll
    for (int k = 0; k < 3; ++k) bend[k] = radius * shape.bend[k];
  }
  // `square`: of the place, from a point half the way to the next being 1/2.
  __device__ __forceinline__ float At(float square) const {
    return fmaf(square, fmaf(square, fmaf(square, bend[2], bend[1]), bend[0]), along);
  }
};

// The square of a place; `angle` counts from half way between two points.
__device__ __forceinline__ float PlaceSquared(uint32_t angle) {
  // The upper 23 bits behind those of 1.0: one instruction, where a conversion would take the unit
  // that the roots need.
  const float place = __uint_as_float(__funnelshift_r(angle, 0x7fU, 9)) - 1.5F;
  return place * place;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_RING_TERM_CUH_
