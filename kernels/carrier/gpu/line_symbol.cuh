// The line's symbols on the device: LineSample of line_math.h with the table's weights in shared
// memory, and roots and quotients by the device's own approximations, good to 1e-6.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_LINE_SYMBOL_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_LINE_SYMBOL_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/math/line_math.h"

namespace baseband::carrier {

// A weight and what the next node's has more.
struct alignas(16) WeightNode {
  Iq weight;
  Iq onward;
};

class LineMaker {
 public:
  // Copies the weights to `shared`, [kWeightNodes], by all threads of a block of `threads`; waits
  // for them.
  __device__ LineMaker(const RecoverTask& task, const FrameView& frame, const Estimate& estimate,
                       unsigned threads, WeightNode* shared)
      : known_(LineIsKnown(task, frame) ? frame.known : KnownView()),
        weights_(shared),
        nodes_per_unit_(task.model.weight_nodes_per_unit),
        inverse_gain_(static_cast<float>(1.0 / estimate.gain)),
        power_(static_cast<unsigned>(task.model.power)) {
    unsigned highest = 1;
    while (2 * highest <= power_) highest *= 2;
    second_bit_ = highest / 2;
    const Iq* const row = task.model.weight + estimate.table * kWeightNodes;
    for (unsigned node = threadIdx.x; node < kWeightNodes; node += threads) {
      const Iq here = row[node];
      const Iq next = row[min(node + 1, kWeightNodes - 1U)];
      shared[node] = {here, {next.i - here.i, next.q - here.q}};
    }
    __syncthreads();
  }

  // From symbol n as received, `r`.
  __device__ __forceinline__ Iq At(uint32_t n, Iq r) const {
    const Iq z = {r.i * inverse_gain_, r.q * inverse_gain_};
    return known_ ? OfKnown(n, z) : OfPower(z, AnyPower());
  }

  // From the lane's symbols first + 32 k of a tile; 0 from 0.
  __device__ __forceinline__ void MakeTile(uint32_t first, uint32_t num_symbols,
                                           const Iq (&r)[kTileLanes], Iq (&x)[kTileLanes]) const {
    if (known_) {
      const KnownOfTile known = known_.Tile(first, num_symbols);
#pragma unroll
      for (int k = 0; k < kTileLanes; ++k) {
        const uint32_t n = first + 32 * static_cast<uint32_t>(k);
        const Iq z = {r[k].i * inverse_gain_, r[k].q * inverse_gain_};
        x[k] = (known.bits >> k & 1U) != 0 ? OfKnown(n, z) : Iq{};
      }
      return;
    }
    switch (power_) {
      case 4:
        return MakeEach(r, x, Squarings<2>());
      case 8:
        return MakeEach(r, x, Squarings<3>());
      case 16:
        return MakeEach(r, x, Squarings<4>());
      case 32:
        return MakeEach(r, x, Squarings<5>());
      default:
        return MakeEach(r, x, AnyPower());
    }
  }

 private:
  template <int kCount>
  struct Squarings {};
  struct AnyPower {};

  static __device__ __forceinline__ Iq Squared(Iq x) {
    const float product = x.i * x.q;
    return {fmaf(x.i, x.i, -x.q * x.q), product + product};
  }
  template <int kCount>
  __device__ __forceinline__ Iq PowerOf(Iq unit, Squarings<kCount>) const {
    Iq x = unit;
#pragma unroll
    for (int i = 0; i < kCount; ++i) x = Squared(x);
    return x;
  }
  __device__ __forceinline__ Iq PowerOf(Iq unit, AnyPower) const {
    Iq x = unit;
    for (unsigned bit = second_bit_; bit != 0; bit >>= 1) {
      x = Squared(x);
      if ((power_ & bit) != 0) x = Multiply(x, unit);
    }
    return x;
  }

  __device__ __forceinline__ Iq OfKnown(uint32_t n, Iq z) const {
    const Iq s = known_.symbols[n];
    return Multiply(z, {s.i, -s.q});
  }
  template <typename Power>
  __device__ __forceinline__ Iq OfPower(Iq z, Power power) const {
    const float energy = fmaf(z.i, z.i, z.q * z.q);
    const float inverse = FastInverseRoot(fmaxf(energy, 1e-36F));  // 0 stays 0
    const Floored node = FloorOf(fminf(energy * inverse * nodes_per_unit_, kWeightNodes - 1.0F));
    const WeightNode low = weights_[node.whole & (kWeightNodes - 1)];
    const Iq weight = {fmaf(node.rest, low.onward.i, low.weight.i),
                       fmaf(node.rest, low.onward.q, low.weight.q)};
    return Multiply(weight, PowerOf({z.i * inverse, z.q * inverse}, power));
  }
  template <typename Power>
  __device__ __forceinline__ void MakeEach(const Iq (&r)[kTileLanes], Iq (&x)[kTileLanes],
                                           Power power) const {
#pragma unroll
    for (int k = 0; k < kTileLanes; ++k) {
      x[k] = OfPower({r[k].i * inverse_gain_, r[k].q * inverse_gain_}, power);
    }
  }

  KnownView known_;
  const WeightNode* weights_;
  float nodes_per_unit_;
  float inverse_gain_;
  unsigned power_;
  unsigned second_bit_;  // of the power, from its highest
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_LINE_SYMBOL_CUH_
