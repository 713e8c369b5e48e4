// Fine::kPll on the CPU device. A symbol's correction depends on the decision before: no SIMD.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/base/work_steps.h"
#include "kernels/carrier/constellation/nearest.h"
#include "kernels/carrier/math/pll_math.h"
#include "kernels/carrier/recover_cpu.h"

namespace baseband::carrier {

void FrameRecovery::FollowLoop() {
  const FrameCpu& frame = arrays_.frame;
  const int num_symbols = plan_.num_symbols;
  const PllGains gains = PllGainsOf(static_cast<double>(parameters_.pll_bandwidth),
                                    static_cast<double>(parameters_.pll_damping));
  const double start = estimate_.frequency;
  const auto inverse_gain = static_cast<float>(1.0 / estimate_.gain);
  PllState state;
  state.frequency = start;
  // Blind, the paper's baseline begins at phase 0 and pulls in; with known symbols it would do so
  // to any of the constellation's symmetries.
  if (symbols_known()) state.turns = estimate_.TurnsAt(-frame.centre());
  PllAverage average;
  for (int n = 0; n < num_symbols; ++n) {
    if (static_cast<size_t>(n) % kBlock == 0) (void)CountStep();
    if (n >= num_symbols / 2) average.Add(state, n, num_symbols, start);
    const Turned turned = Turn(state.turns);
    const Iq r = {frame.symbols.re[n], frame.symbols.im[n]};
    const Iq back = Multiply(r, {turned.c, -turned.s});
    arrays_.line.re[n] = back.i;
    arrays_.line.im[n] = back.q;
    const Iq z = {back.i * inverse_gain, back.q * inverse_gain};
    const bool known =
        frame.known.re != nullptr && (frame.known.re[n] != 0.0F || frame.known.im[n] != 0.0F);
    if (known) {
      const Iq sent = {frame.known.re[n], frame.known.im[n]};
      state.Step(gains, z, sent, 1.0F / fmaf(sent.i, sent.i, sent.q * sent.q));
    } else {
      float inverse_energy = 0.0F;
      const Iq nearest = NearestPoint(view_.nearest, z, &inverse_energy);
      state.Step(gains, z, nearest, inverse_energy);
    }
  }
  loop_ = average.Found(start, num_symbols);
  // From here on the frame is the loop's output, which needs no more turning.
  estimate_.frequency = 0.0;
  estimate_.phase = 0.0;
  const size_t padded = PaddedToBlock(static_cast<size_t>(num_symbols));
  std::fill(arrays_.line.re + num_symbols, arrays_.line.re + padded, 0.0F);
  std::fill(arrays_.line.im + num_symbols, arrays_.line.im + padded, 0.0F);
  arrays_.frame.symbols = arrays_.line;
}

}  // namespace baseband::carrier
