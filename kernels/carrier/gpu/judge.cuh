// Stage S6: what is looked at of a frame as a whole, each by one warp.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_JUDGE_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_JUDGE_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/team.cuh"
#include "kernels/carrier/math/kurtosis_math.h"
#include "kernels/carrier/math/misfit_math.h"
#include "kernels/carrier/math/stray_math.h"

namespace baseband::carrier {

// Adds up the lanes' modes: lanes 2 i, 2 i + 1 and those 16 on have mode i, of which the eighth is
// none.
__device__ inline StrayMode ModeOfLane(const StrayModes& of_lane, double curvature) {
  static_assert(kModes < 8, "two rows of 8 sums");
  double sums[16] = {};  // c_k, then noise
#pragma unroll
  for (int i = 0; i < kModes; ++i) {
    sums[i] = of_lane.value[i];
    sums[8 + i] = of_lane.noise[i];
  }
  const unsigned lane = threadIdx.x % 32;
  const double mine = SumOfWarp<16>(sums, lane);
  const double other = __shfl_xor_sync(0xffffffffU, mine, 16);
  const bool has_noise = lane >= 16;
  return StrayModeOf(static_cast<int>(lane / 2 % 8), has_noise ? other : mine,
                     has_noise ? mine : other, curvature);
}
template <int kCount>
__device__ __forceinline__ void SumModes(double (&values)[kCount]) {
  SumDoubles<8, 2>(values);
}

// How far the phase strays. `stretches`: of the frame. All lanes get it.
__device__ inline Stray StrayOfWarp(const Stretch* stretches, int num_symbols) {
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const bool counts = lane < NumStretches(num_symbols);
  Stretch stretch;
  double t = 0.0;
  StretchLine line;
  if (counts) {
    stretch = stretches[lane];
    t = StretchCentre(lane, num_symbols);
    line.Add(stretch, t);
  }
  double of_line[5] = {line.score[0], line.score[1], line.information[0], line.information[1],
                       line.information[2]};
  SumDoubles(of_line);
  line.score[0] = of_line[0];
  line.score[1] = of_line[1];
  line.information[0] = of_line[2];
  line.information[1] = of_line[3];
  line.information[2] = of_line[4];
  double phase = 0.0;
  double slope = 0.0;
  if (!line.Find(&phase, &slope)) return LostStray();
  StrayModes of_lane;
  if (counts) of_lane.Add(stretch, t, phase, slope);
  const StrayMode mode = ModeOfLane(of_lane, line.information[0]);
  double walk = 0.0;
  for (int round = 0; round < kWalkRounds; ++round) {
    WalkSums sums;
    sums.Add(mode, walk);
    double of_modes[2] = {sums.sum, sums.weights};
    SumModes(of_modes);
    sums = {of_modes[0], of_modes[1]};
    const double last = walk;
    walk = sums.walk();
    if (walk == last) break;
  }
  StraySums sums;
  sums.Add(mode, walk);
  double of_modes[3] = {sums.likelier, sums.squares, sums.count};
  SumModes(of_modes);
  sums = {of_modes[0], of_modes[1], of_modes[2]};
  StrayMode first = mode;
  first.value = __shfl_sync(0xffffffffU, mode.value, 0);
  first.noise = __shfl_sync(0xffffffffU, mode.noise, 0);
  return StrayOf(sums, walk, first, line.information[0]);
}

// Misfit of misfit_math.h, some classes of amplitudes a lane. All lanes get it.
__device__ inline double MisfitOfWarp(const ModelView& model, const uint32_t* histogram,
                                      int num_symbols, double snr_db, double rms_ratio) {
  const double place = (snr_db - model.facts[0].snr_db) / kSnrStepDb;
  if (!(place >= 0.0 && place < model.num_snrs - 1)) return 0.0;
  const int k = static_cast<int>(place);
  const double t = place - k;
  const float* const low = model.amplitude + k * kAmplitudeBins;
  const float* const high = low + kAmplitudeBins;
  constexpr int kBins = kAmplitudeBins / kMisfitClasses;
  const double inverse_ratio = 1.0 / rms_ratio;
  const double width = kAmplitudeExtent / kAmplitudeBins * inverse_ratio;
  double chi_squared[1] = {};
  for (auto c = static_cast<int>(threadIdx.x % 32); c < kMisfitClasses; c += 32) {
    double seen = 0.0;
    double expected = 0.0;
    for (int bin = c * kBins; bin < (c + 1) * kBins; ++bin) {
      seen += histogram[bin];
      const double middle = bin + 0.5;
      const double relative = middle * inverse_ratio;
      expected += (1.0 - t) * ExpectedShare(low, middle, relative, width) +
                  t * ExpectedShare(high, middle, relative, width);
    }
    expected *= num_symbols;
    chi_squared[0] += (seen - expected) * (seen - expected) / (expected + 1.0);
  }
  SumDoubles(chi_squared);
  const double chance = kMisfitClasses + 4.0 * sqrt(2.0 * kMisfitClasses);
  return fmax(chi_squared[0] - chance, 0.0) / num_symbols;
}

// IsTooEven, some bins of the amplitudes a lane. All lanes get it.
__device__ inline bool EvennessOfWarp(const ModelView& model, const uint32_t* histogram,
                                      int num_symbols, double noise) {
  AmplitudeMoments moments;
#pragma unroll
  for (int k = 0; k < kAmplitudeBins / 32; ++k) {
    const int bin = static_cast<int>(threadIdx.x % 32) + 32 * k;
    moments.Add(bin, histogram[bin]);
  }
  double sums[2] = {moments.square, moments.fourth};
  SumDoubles(sums);
  moments.square = sums[0];
  moments.fourth = sums[1];
  return IsTooEven(model, moments, num_symbols, noise);
}

// IsUnbalanced of the symbols turned back. All lanes get it. kAtOnce: of a lane's symbols; powers
// are long, and where many warps share a multiprocessor one alone is faster than the instructions
// of several would be there.
template <int kAtOnce>
__device__ inline bool ImbalanceOfWarp(const FrameView& frame, const Estimate& estimate,
                                       int symmetry) {
  const int power = BalancePower(symmetry);
  if (power == 0) return false;
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const Rotor rotor(estimate.frequency, estimate.phase, frame.num_symbols);
  const auto inverse_gain = static_cast<float>(1.0 / estimate.gain);
  const int count = min(kBalanceSymbols, num_symbols);
  const auto lane = static_cast<int>(threadIdx.x % 32);
  // All loads are under way before the first is waited for.
  constexpr int kOfLane = kBalanceSymbols / 32;
  Iq symbols[kOfLane];
#pragma unroll
  for (int k = 0; k < kOfLane; ++k) {
    const int i = min(lane + 32 * k, count - 1);
    symbols[k] = frame.samples.Read(static_cast<uint32_t>(BalanceSymbol(i, num_symbols)));
  }
  Balance balance;
#pragma unroll kAtOnce
  for (int k = 0; k < kOfLane; ++k) {
    if (lane + 32 * k >= count) break;
    const auto n = static_cast<uint32_t>(BalanceSymbol(lane + 32 * k, num_symbols));
    const Iq received = symbols[k];
    const Iq known = frame.known.At(n);
    if (known.i != 0.0F || known.q != 0.0F) continue;
    balance.Add(Multiply({received.i * inverse_gain, received.q * inverse_gain}, rotor.At(n)),
                static_cast<int>(n), power);
  }
  double sums[6] = {balance.re[0], balance.re[1],  balance.im[0],
                    balance.im[1], balance.square, balance.count};
  SumDoubles(sums);
  for (int odd = 0; odd < 2; ++odd) {
    balance.re[odd] = sums[odd];
    balance.im[odd] = sums[2 + odd];
  }
  balance.square = sums[4];
  balance.count = sums[5];
  return IsUnbalanced(balance);
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_JUDGE_CUH_
