// The line's symbols on the device: LineSample of line_math.h with the table's weights in shared
// memory, and roots and quotients by the device's own approximations, good to 1e-6.
#ifndef BASEBAND_KERNELS_CARRIER_LINE_SYMBOL_CUH_
#define BASEBAND_KERNELS_CARRIER_LINE_SYMBOL_CUH_

#include <cstdint>

#include "kernels/carrier/line_math.h"
#include "kernels/carrier/recover_task.cuh"

namespace baseband::carrier {

class LineMaker {
 public:
  // Copies the weights to `shared`, by all threads of a block of `threads`; waits for them.
  __device__ LineMaker(const RecoverTask& task, const FrameView& frame, const Estimate& estimate,
                       unsigned threads, float2* shared)
      : known_(LineIsKnown(task, frame) ? frame.known : nullptr),
        weights_(shared),
        nodes_per_unit_(task.model.weight_nodes_per_unit),
        inverse_gain_(static_cast<float>(1.0 / estimate.gain)),
        power_(static_cast<unsigned>(task.model.power)) {
    unsigned highest = 1;
    while (2 * highest <= power_) highest *= 2;
    second_bit_ = highest / 2;
    const Iq* const row = task.model.weight + estimate.table * kWeightNodes;
    for (unsigned node = threadIdx.x; node < kWeightNodes; node += threads) {
      shared[node] = make_float2(row[node].i, row[node].q);
    }
    __syncthreads();
  }

  // From symbol n as received, `r`.
  __device__ __forceinline__ Iq At(uint32_t n, Iq r) const {
    const Iq z = {r.i * inverse_gain_, r.q * inverse_gain_};
    if (known_ != nullptr) {
      const Iq s = known_[n];
      return Multiply(z, {s.i, -s.q});
    }
    const float energy = fmaf(z.i, z.i, z.q * z.q);
    const float inverse = rsqrtf(fmaxf(energy, 1e-36F));  // 0 stays 0
    const float node = fminf(energy * inverse * nodes_per_unit_, kWeightNodes - 1.0F);
    const int first = min(static_cast<int>(node), kWeightNodes - 2);
    const float t = node - static_cast<float>(first);
    const float2 low = weights_[first];
    const float2 high = weights_[first + 1];
    const Iq weight = {fmaf(t, high.x - low.x, low.x), fmaf(t, high.y - low.y, low.y)};
    const Iq unit = {z.i * inverse, z.q * inverse};
    Iq x = unit;
    for (unsigned bit = second_bit_; bit != 0; bit >>= 1) {
      x = {fmaf(x.i, x.i, -x.q * x.q), 2.0F * x.i * x.q};
      if ((power_ & bit) != 0) x = Multiply(x, unit);
    }
    return Multiply(weight, x);
  }

 private:
  const Iq* known_;
  const float2* weights_;
  float nodes_per_unit_;
  float inverse_gain_;
  unsigned power_;
  unsigned second_bit_;  // of the power, from its highest
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_LINE_SYMBOL_CUH_
